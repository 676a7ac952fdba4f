--- Taking a deployment down: the graph reversed, from the ledger and from what is found without it.
-- It deletes only what carries our tags or stands in our ledger, and ends by looking again: what is
-- still there is listed with its price.

local err = require "rtl.err"
local ledger = require "rtl.plan.ledger"
local make = require "rtl.plan.make"
local keys = require "rtl.keys"
local task = require "rtl.task"

local M = {}

local function by_name(kinds)
  local map = {}
  for _, kind in ipairs(kinds) do map[kind.name] = kind end
  return map
end

local function from_ledger(ctx, kinds, items)
  local map = by_name(kinds)
  local state = ctx.ledger and ctx.ledger:state() or {}
  for _, key in ipairs(keys.sorted(state)) do
    local entry = state[key]
    local kind = map[entry.kind]
    local lives = entry.state == "made" or entry.state == "open" or entry.state == "deleting"
    if kind and lives then
      items[#items + 1] = { key = key, kind = kind, kind_name = kind.name, name = entry.name,
        id = entry.id, outputs = entry.outputs or {}, deps = entry.deps, source = "ledger",
        open = entry.id == nil, at = entry.at }
    end
  end
end

local function item_of(kind, found)
  return { key = kind.name .. "/" .. (found.name or found.id), kind = kind, kind_name = kind.name,
    name = found.name, id = found.id, outputs = found.outputs or {}, source = "tag",
    hourly = found.hourly, state = found.state }
end

local function same_thing(a, b)
  return a.kind_name == b.kind_name and ((a.id and a.id == b.id) or (a.key == b.key and not a.id))
end

-- What is known and was not found again, and what was found: each thing once.
local function together(known, found)
  local all = table.move(found, 1, #found, 1, {})
  for _, item in ipairs(known) do
    local again = false
    for _, other in ipairs(found) do again = again or same_thing(other, item) end
    if not again then all[#all + 1] = item end
  end
  return all
end

-- Everything that kinds find by themselves, in the order of kinds. A second round lets those that
-- look inside others (a VPC's interfaces, a cluster's volumes) see what the first one found.
local function search(ctx, kinds, known)
  local function round(member, seen)
    return task.map(kinds, function (kind)
      if not kind[member] then return {} end
      local list, failure = kind[member](ctx, seen)
      if not list then error(err.wrap(failure, { doing = "look for " .. kind.name }), 0) end
      local items = {}
      for _, found in ipairs(list) do items[#items + 1] = item_of(kind, found) end
      return items
    end, 8)
  end
  local found = {}
  local function add(lists)
    for _, list in ipairs(lists) do table.move(list, 1, #list, #found + 1, found) end
  end
  add(round("find", {}))
  add(round("find_inside", together(known, found)))
  return found
end

-- The ledger's items first (they know their needs); found ones fill in ids or are added.
local function merge(ledger_items, found)
  local items = ledger_items
  for _, item in ipairs(found) do
    local known
    for _, old in ipairs(items) do
      if same_thing(old, item) then known = old break end
    end
    if known then
      known.id, known.hourly = known.id or item.id, item.hourly
      for key, value in pairs(item.outputs) do
        if known.outputs[key] == nil then known.outputs[key] = value end
      end
      known.seen = true
    else
      item.seen = true
      items[#items + 1] = item
    end
  end
  return items
end

-- What a run that died a moment ago may have made is not found for some seconds.
local function let_appear(ctx, items)
  local wait, last = 0, nil
  for _, item in ipairs(items) do
    local left = item.open and ledger.VISIBLE - ledger.age(item) or 0
    if left > wait then wait, last = left, item end
  end
  if wait == 0 then return end
  ctx:waiting(last, "looks whether an interrupted create took effect")
  task.sleep(wait)
end

-- An intent whose thing nobody finds came to nothing.
local function drop_phantoms(items)
  local kept = {}
  for _, item in ipairs(items) do
    if item.id or not item.open then kept[#kept + 1] = item end
  end
  return kept
end

-- Whether the ledger says that a needs b.
local function needs(a, b)
  for _, key in ipairs(a.deps or {}) do
    if key == b.key then return true end
  end
  return false
end

-- a must go before b: a needs b by the ledger, or a's kind stands in b's kind.
local function stands_in(a, b)
  if needs(a, b) then return true end
  for _, name in ipairs(a.kind.depends or {}) do
    if name == b.kind_name then return true end
  end
  return false
end

-- The item that takes this one with it, as the kind's `test` says; nil when there is none.
local function taker(items, item, test)
  for _, other in ipairs(test and items or {}) do
    if test(item, other) then return other end
  end
end

-- What goes with another item of the same teardown: an add-on with its cluster; or would, if its
-- own deletion failed: an object in a cluster.
local function find_takers(items)
  for _, item in ipairs(items) do
    item.carrier = taker(items, item, item.kind.carrier)
    item.holder = taker(items, item, item.kind.holder)
  end
end

-- Depth in the graph of needs: what nothing needs comes first. Nobody waits for what is carried.
local function order(items)
  local before = {}
  find_takers(items)
  for i, b in ipairs(items) do
    before[i] = {}
    for j, a in ipairs(items) do
      local waits = i ~= j and not a.carrier and stands_in(a, b)
      if waits and not (j < i and stands_in(b, a)) then before[i][#before[i] + 1] = a end
    end
  end
  local sorted, state, index = {}, {}, {}
  for i, item in ipairs(items) do index[item] = i end
  local function visit(item)
    if state[item] then return end
    state[item] = true
    for _, other in ipairs(before[index[item]]) do visit(other) end
    item.before = before[index[item]]
    sorted[#sorted + 1] = item
  end
  for _, item in ipairs(items) do visit(item) end
  return sorted
end

local function is_kept(item, purge)
  return item.kind.data and not purge
end

-- The first thing of ours on which others stand: what it needs would be pulled from under them.
local function in_use(ctx, items)
  for _, item in ipairs(items) do
    local users, failure = {}, nil
    if item.kind.users and item.id then users, failure = item.kind.users(ctx, item) end
    if not users then return failure end
    if users[1] then
      return err.new { code = "RTL-PLAN-016", doing = item.key, exit = "refused",
        message = "is used by " .. table.concat(users, ", ") .. ", which rtl did not make here",
        hint = "Take these away first: nothing was deleted" }
    end
  end
end

-- Seconds that deleting the items usually takes, each after all that stand in it.
local function usual_seconds(items)
  local ends, last = {}, 0
  for _, item in ipairs(items) do
    local start = 0
    for _, other in ipairs(item.before) do start = math.max(start, ends[other]) end
    ends[item] = start + (item.carrier and 0 or item.kind.ready.delete_usual or 0)
    last = math.max(last, ends[item])
  end
  return last
end

--- What a teardown would remove: { items = {…in order of deletion…}, keep = {…data…}, usual_s =
-- seconds that it usually takes, problem = err | nil }. Reads only. kinds: array of all kinds
-- (rtl.kinds). options.purge also removes data. problem: others stand on something of ours
-- (RTL-PLAN-016); a teardown would cut them off.
function M.plan(ctx, kinds, options)
  options = options or {}
  local recorded = {}
  from_ledger(ctx, kinds, recorded)
  let_appear(ctx, recorded)
  local found = search(ctx, kinds, recorded)
  local items, keep = {}, {}
  for _, item in ipairs(drop_phantoms(merge(recorded, found))) do
    table.insert(is_kept(item, options.purge) and keep or items, item)
  end
  items = order(items)
  for _, item in ipairs(items) do item.purge = options.purge end
  return { items = items, keep = keep, kinds = kinds, purge = options.purge,
    usual_s = usual_seconds(items), problem = in_use(ctx, items) }
end

local function resource_of(item)
  return { kind = item.kind, kind_name = item.kind_name, name = item.name or item.id,
    key = item.key }
end

local function tell(ctx, item, state, fields)
  fields = fields or {}
  fields.id, fields.action = item.id, "delete"
  fields.usual_s = item.kind.ready.delete_usual
  ctx:tell(resource_of(item), state, fields)
end

local function protected_delete(ctx, item)
  local ok, gone, failure = pcall(make.delete, ctx, item)
  if ok then return gone, failure end
  if err.is(gone) then return nil, gone end
  error(gone, 0)
end

-- What is held goes with its holder yet: nothing is said to be left before.
local function leave(ctx, item, result, failure, state)
  item.left, item.err = true, failure
  if item.holder and not item.holder.left then
    return tell(ctx, item, "waiting", { detail = ("goes with %s, since: %s"):format(
      item.holder.key, tostring(failure)) })
  end
  result.left[#result.left + 1] = item
  tell(ctx, item, state, { err = failure })
end

-- Whether what could not go keeps the other from being tried. What is held in a cluster keeps only
-- its like: no machine runs on for an object's sake, also where the cluster is given and stays.
local function is_kept_by(item, other)
  return other.left and not (other.kind.holder and not item.kind.holder)
end

-- What could not go keeps what it surely needs; where only the kinds say so, it is tried, but not
-- for long (`hurry`).
local function delete_one(ctx, item, result)
  for _, other in ipairs(item.before or {}) do
    if is_kept_by(item, other) and needs(other, item) then
      return leave(ctx, item, result, err.new { code = "RTL-PLAN-013", doing = item.key,
        message = other.key .. " still stands in it" }, "skipped")
    end
    item.hurry = item.hurry or is_kept_by(item, other)
  end
  tell(ctx, item, "deleting")
  local gone, failure = protected_delete(ctx, item)
  if gone then
    result.removed[#result.removed + 1] = item
    return tell(ctx, item, "deleted")
  end
  leave(ctx, item, result, failure, "failed")
end

-- Gone with its carrier or holder, or left with it.
local function follow(ctx, item, result)
  local other = item.carrier or item.holder
  other.settled:get()
  local noted, failure = not other.left, item.err
  if noted then noted, failure = make.gone(ctx, item) end
  if noted then
    result.removed[#result.removed + 1] = item
    return tell(ctx, item, "deleted", { detail = "with " .. other.key })
  end
  leave(ctx, item, result, failure or err.new { code = "RTL-PLAN-013", doing = item.key,
    message = other.key .. " is still there, and this in it" }, "skipped")
end

-- Deletes one after all that stand in it. Whoever waits for it goes on before it has followed.
local function delete_in_turn(ctx, item, result)
  if item.carrier then
    follow(ctx, item, result)
    return item.settled:set(true)
  end
  for _, other in ipairs(item.before) do other.settled:get() end
  delete_one(ctx, item, result)
  item.settled:set(true)
  if item.left and item.holder then follow(ctx, item, result) end
end

--- Deletes the items, in parallel, each after all that stand in it: { removed, left }.
function M.remove(ctx, items)
  local result = { removed = {}, left = {} }
  local sorted = order(items)
  for _, item in ipairs(sorted) do item.settled = task.future() end
  task.group(function (group)
    for _, item in ipairs(sorted) do
      group:spawn(delete_in_turn, ctx, item, result)
    end
  end)
  return result
end

local function listed(item, reason)
  return { key = item.key, kind = item.kind_name, id = item.id, hourly = item.hourly,
    reason = reason, err = item.err }
end

local function reason_of(items, item)
  for _, old in ipairs(items) do
    if same_thing(old, item) and old.err then return tostring(old.err) end
  end
  return "still there after its deletion"
end

local LATE_ROUNDS = 3

-- What of `found` came, or came back, while the rest went: nothing that could not be deleted.
local function late(found, t, result)
  local list = {}
  for _, item in ipairs(found) do
    local stuck = is_kept(item, t.purge)
    for _, other in ipairs(result.left) do stuck = stuck or same_thing(other, item) end
    if not stuck then list[#list + 1] = item end
  end
  return list
end

-- Looks again, and deletes what came meanwhile (a control plane writes its last logs when it is
-- gone). Returns what is found at last.
local function settle(ctx, t, result)
  local found = search(ctx, t.kinds, t.items)
  for _ = 1, LATE_ROUNDS do
    local items = late(found, t, result)
    if #items == 0 then break end
    for _, item in ipairs(items) do item.purge = t.purge end
    local again = M.remove(ctx, items)
    table.move(again.removed, 1, #again.removed, #result.removed + 1, result.removed)
    table.move(again.left, 1, #again.left, #result.left + 1, result.left)
    found = search(ctx, t.kinds, t.items)
  end
  return found
end

--- Carries a teardown plan out and looks again at the end.
-- Returns { removed = {items}, kept = {rows}, left = {rows} }; a row is {key, kind, id, hourly,
-- reason, err}. left is empty when nothing of ours that bills or is tagged remains.
function M.run(t, ctx)
  local result = M.remove(ctx, t.items)
  local outcome = { removed = result.removed, kept = {}, left = {} }
  for _, item in ipairs(settle(ctx, t, result)) do
    if is_kept(item, t.purge) then
      outcome.kept[#outcome.kept + 1] = listed(item, "data is kept: --purge removes it")
    else
      outcome.left[#outcome.left + 1] = listed(item, reason_of(result.left, item))
    end
  end
  local shown = {}
  for _, row in ipairs(outcome.left) do shown[row.key] = true end
  for _, item in ipairs(result.left) do
    if not shown[item.key] then
      outcome.left[#outcome.left + 1] = listed(item, tostring(item.err))
    end
  end
  return outcome
end

return M
