--- Making, changing, replacing and deleting one resource, with the ledger before and after.
-- Whatever moment the program dies at, the ledger says what may exist, and the next run settles it
-- before anything new.

local clock = require "rtl.clock"
local cost = require "rtl.plan.cost"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local ledger = require "rtl.plan.ledger"
local meter = require "rtl.plan.meter"
local row_of = require "rtl.plan.row"
local task = require "rtl.task"

local M = {}

local LOOK_EVERY = 5
local LAZY = true        -- says nothing that a read would not find again
local TRIES = 3          -- creates without a token whose outcome stayed unknown

local function record(ctx, fields, lazy)
  if not ctx.ledger then return true end
  return ctx.ledger:append(fields, lazy)
end

local function outputs_of(kind, live)
  local outputs = {}
  for _, name in ipairs(kind.outputs) do
    local value = live[name]
    if type(value) ~= "userdata" then outputs[name] = value end
  end
  return outputs
end

local function entry_of(ctx, key)
  return ctx.ledger and ctx.ledger:state()[key]
end

-- Deterministic, with the run's id and how often this was begun in it: a token of the name alone
-- would bring back what was deleted meanwhile.
local function new_token(ctx, res)
  local entry = entry_of(ctx, res.key)
  local times = entry and entry.times or 0
  local text = table.concat({ ctx.run_id or "", ctx.deployment or "", res.key, times }, "\0")
  return "rtl-" .. crypto.sha256_hex(text):sub(1, 40)
end

-- Looks for what a create of unknown outcome, sent `age` seconds ago, may have made. Returns live |
-- nil | nil, err. Where the same token is safe to send again, one look is enough.
local function settle(ctx, res, fields, age)
  local enough = clock.mono() + ledger.VISIBLE - age
  while true do
    local live, failure = res.kind.read(ctx, res, fields)
    if live or failure then return live, failure end
    if res.kind.tokened or clock.mono() >= enough then return nil end
    ctx:waiting(res, "looks whether an interrupted create took effect")
    task.sleep(LOOK_EVERY)
  end
end

-- How long after a lease's end it is gone, if one ends it.
local function ends_after(res)
  local how = res.kind.lease and not res.given and res.kind.lease(res)
  return how and how.delay + (res.kind.ready.delete_usual or 0) or nil
end

-- With what it costs, so that the receipt outlives the thing and the price list.
-- adopted: it stood before this ledger knew of it.
local function begin(ctx, row, token, adopted)
  local res = row.resource
  return record(ctx, { event = "intent", key = res.key, kind = res.kind_name, name = res.name,
    token = token, deps = row.needs, cost = cost.of_resource(ctx, res),
    ends_after = ends_after(res), adopted = adopted })
end

local function outcome(ctx, res, live)
  return record(ctx, { event = "outcome", ok = true, key = res.key, kind = res.kind_name,
    name = res.name, id = live.id, outputs = outputs_of(res.kind, live) })
end

-- A refusal leaves nothing, unless the kind says what it had already made.
local function refused(ctx, res, failure, partial)
  local written, why
  if partial and partial.id then
    written, why = outcome(ctx, res, partial)
  else
    written, why = record(ctx, { event = "outcome", ok = false, key = res.key,
      kind = res.kind_name, name = res.name, code = failure.code })
  end
  if not written then return nil, why end
  return nil, failure
end

-- A create whose answer was lost may have stopped between two of its calls: what it lacks is made
-- up for here, as the next run would.
local function complete(ctx, res, fields, live)
  local kind = res.kind
  if live.ready == false or live.failed or not kind.update then return live end
  local changes, failure = row_of.differences(ctx, res, fields, live)
  if not changes then return nil, failure, live end
  if #changes == 0 then return live end
  local done, why = kind.update(ctx, res, fields, live, changes)
  if not done then return nil, why, live end
  local again, unread = kind.read(ctx, res, fields)
  return again or live, unread
end

-- One create; when its outcome is unknown, it is settled here and, if nothing came of it, sent
-- again.
local function attempt(ctx, res, fields, token)
  for try = 1, TRIES do
    local live, failure, partial = res.kind.create(ctx, res, fields, token)
    if live then return live end
    if not failure.sent then return nil, failure, partial end
    local found, why = settle(ctx, res, fields, 0)
    if found then return complete(ctx, res, fields, found) end
    if why then return nil, why end
    if try == TRIES then return nil, failure end
  end
end

local function wait_ready(ctx, row, fields, live)
  local res = row.resource
  local wait = res.kind.ready.wait
  if not wait then return live end
  local ready, failure = wait(ctx, res, fields, live)
  if not ready then return nil, failure end
  for key, value in pairs(live) do
    if ready[key] == nil then ready[key] = value end
  end
  ready.ready = nil
  local written, why = record(ctx, { event = "ready", key = res.key, kind = res.kind_name,
    name = res.name, id = ready.id, outputs = outputs_of(res.kind, ready) }, LAZY)
  if not written then return nil, why end
  return ready
end

-- Made, if not ready: what needs no more than that may go on.
local function note_made(row, live)
  row.begun = live
  if row.made and not row.made:ready() then row.made:set(true) end
end

local function create_new(ctx, row, fields, token)
  local res = row.resource
  local begun, why = begin(ctx, row, token)
  if not begun then return nil, why end
  local live, failure, partial = attempt(ctx, res, fields, token)
  if not live then return refused(ctx, res, failure, partial) end
  local written, unwritten = outcome(ctx, res, live)
  if not written then return nil, unwritten end
  return live
end

-- A dead run's open intent first: what it made is taken over; else its token is used again.
local function create_or_adopt(ctx, row, fields)
  local res = row.resource
  local entry = entry_of(ctx, res.key)
  if not (entry and entry.state == "open") then
    return create_new(ctx, row, fields, new_token(ctx, res))
  end
  local live, failure = settle(ctx, res, fields, ledger.age(entry))
  if failure then return nil, failure end
  if not live then return create_new(ctx, row, fields, entry.token or new_token(ctx, res)) end
  local written, why = outcome(ctx, res, live)
  if not written then return nil, why end
  return complete(ctx, res, fields, live)
end

--- Makes the resource of a row: intent, create, outcome, wait. Returns live | nil, err.
function M.create(ctx, row, fields)
  local res = row.resource
  if res.kind.ephemeral then
    local live, failure = res.kind.create(ctx, res, fields)
    if not live then return nil, failure end
    return live
  end
  local live, failure = create_or_adopt(ctx, row, fields)
  if not live then return nil, failure end
  note_made(row, live)
  return wait_ready(ctx, row, fields, live)
end

--- What a row's resource is for the one who deletes it.
function M.item(row)
  local res = row.resource
  return { key = res.key, kind = res.kind, kind_name = res.kind_name, name = res.name,
    id = row.live and row.live.id, outputs = row.live or {} }
end

--- Notes that an item went with what held it.
function M.gone(ctx, item)
  return record(ctx, { event = "deleted", key = item.key, kind = item.kind_name, name = item.name,
    id = item.id })
end

--- Deletes an item, with the ledger before and after: true | nil, err.
function M.delete(ctx, item)
  local written, why = record(ctx, { event = "deleting", key = item.key, kind = item.kind_name,
    name = item.name, id = item.id })
  if not written then return nil, why end
  meter.note_item(ctx, item)
  local gone, failure = item.kind.delete(ctx, item)
  if not gone then return nil, failure end
  meter.note_item(ctx, item)
  return M.gone(ctx, item)
end

--- Deletes what lives and makes it anew.
function M.replace(ctx, row, fields)
  ctx:tell(row.resource, "deleting", { action = "replace", id = row.live.id })
  local item = M.item(row)
  item.replaced = true
  local gone, failure = M.delete(ctx, item)
  if not gone then return nil, failure end
  row.live = nil
  return M.create(ctx, row, fields)
end

-- Notes in the ledger what a dead run or another machine made and this one found.
local function adopt(ctx, row)
  local res, live = row.resource, row.live
  local entry = entry_of(ctx, res.key)
  if not ctx.ledger or live.ours == false or res.kind.ephemeral then return true end
  if entry and entry.state == "made" and entry.id == live.id then return true end
  if not entry or entry.state ~= "open" then
    local begun, why = begin(ctx, row, nil, true)
    if not begun then return nil, why end
  end
  return outcome(ctx, res, live)
end

--- What lives as wanted: nothing to do but to wait if it is still being made.
function M.keep(ctx, row, fields)
  local res, live = row.resource, row.live
  if res.given or res.kind.ephemeral then return live end
  local written, why = adopt(ctx, row)
  if not written then return nil, why end
  note_made(row, live)
  if live.ready == false then return wait_ready(ctx, row, fields, live) end
  return live
end

--- Changes what lives to what is wanted, then waits. Returns live | nil, err.
function M.update(ctx, row, fields)
  local res = row.resource
  if not res.kind.update then
    return err.fail { code = "RTL-PLAN-009", doing = res.key, exit = "refused",
      message = "can't be changed: " .. table.concat(row.reasons, "; ") }
  end
  local written, why = adopt(ctx, row)
  if not written then return nil, why end
  local done, failure = res.kind.update(ctx, res, fields, row.live, row.changes)
  if not done then return nil, failure end
  local live, gone = res.kind.read(ctx, res, fields)
  if not live then
    return nil, gone or err.new { code = "RTL-PLAN-012", doing = res.key,
      message = "is gone after it was changed" }
  end
  return wait_ready(ctx, row, fields, live)
end

return M
