--- Whether what stands is still what a plan was made of. A plan is read, shown and agreed to before
-- the account's lock is taken, so that reading changes nothing and a person who thinks holds nobody
-- up; another machine may have worked meanwhile. So it is read again under the lock.

local err = require "rtl.err"

local M = {}

local WORK = { create = true, change = true, replace = true }
local ABSENT = { create = true, unknown = true }

-- Whether our own ledger has it: then it may be found late, and is no work of others.
local function is_known(ctx, key)
  local entry = ctx.ledger and ctx.ledger:state()[key]
  return entry and entry.state ~= "refused" and entry.state ~= "deleted"
end

-- What of the row is not as agreed, as text; nil where it is.
local function moved(ctx, row, before)
  if row.left_out or not before then return nil end
  local made = before.action == "create" and row.live
  if made and not is_known(ctx, row.resource.key) then return "was made" end
  local agreed = ABSENT[before.action] or row.action == before.action
  if agreed or not WORK[row.action] then return nil end
  return row.action == "create" and "is gone" or "is another now"
end

local function refuse(key, what)
  error(err.new { code = "RTL-PLAN-026", exit = "refused", doing = key,
    message = ("%s since the plan was read"):format(what),
    hint = "Another run worked on this deployment, or AWS did: run the same command again" }, 0)
end

--- Raises RTL-PLAN-026 where `fresh`, the plan as it is read under the lock, finds work of others
-- that `agreed` did not know, or would do what was not agreed to.
function M.check(ctx, agreed, fresh)
  for _, row in ipairs(fresh.changes) do
    local what = moved(ctx, row, agreed:change(row.resource.key))
    if what then refuse(row.resource.key, what) end
  end
end

-- Whether the items have this one; one that is known by its name only has no id yet.
local function has(items, item)
  for _, other in ipairs(items) do
    if other.key == item.key and (other.id == item.id or not other.id) then return true end
  end
  return false
end

--- The same of a teardown's plans: nothing goes that was made after its list was agreed to. What a
-- cluster leaves behind comes by itself, at any time.
function M.check_removal(ctx, agreed, fresh)
  for _, item in ipairs(fresh.items) do
    local by_itself = item.kind.strays or is_known(ctx, item.key)
    if not (by_itself or has(agreed.items, item)) then refuse(item.key, "was made") end
  end
end

return M
