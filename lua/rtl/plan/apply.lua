--- Carrying a plan out: in parallel along the graph, each resource as soon as its needs are ready.
-- A failure stops what needs the failed one; everything else goes on, so that a second run has
-- less to do.

local clock = require "rtl.clock"
local diff = require "rtl.plan.diff"
local err = require "rtl.err"
local make = require "rtl.plan.make"
local keys = require "rtl.keys"
local ref = require "rtl.ref"
local row_of = require "rtl.plan.row"
local task = require "rtl.task"
local teardown = require "rtl.plan.teardown"

local M = {}

local STEPS = {
  none = make.keep,
  given = make.keep,
  create = make.create,
  check = make.create,
  change = make.update,
  replace = make.replace,
}

local DONE_WORD = { none = "none", given = "none", create = "create", check = "none",
  change = "change", replace = "replace" }

local function lookup_in(plan)
  return function (key, output) return diff.output(plan.by_key[key], output) end
end

local function never_known(res, unknown)
  local field = keys.sorted(unknown)[1]
  return err.new { code = "RTL-PLAN-004", doing = res.key,
    message = ("field '%s' needs %s, which is not known though it was made")
      :format(field, table.concat(unknown[field], ", ")) }
end

-- What was not known when the plan was made is read and decided again.
local function decide_again(run, row, fields)
  local res = row.resource
  if row.read_error then
    local live, failure = res.kind.read(run.ctx, res, fields)
    if failure then return nil, failure end
    row.live, row.read_error = live, nil
  end
  row_of.decide(run.ctx, row, lookup_in(run.plan))
  if row.problem then return nil, row.problem end
  return true
end

local ANEW = { change = true, replace = true }

-- Whether what the row stands on was changed or replaced in this run.
local function is_shaken(run, row)
  for _, key in ipairs(row.needs) do
    local need = run.plan.by_key[key]
    if need.shaken or (need.done and ANEW[need.action]) then return true end
  end
  return false
end

-- What stood well before its ground was changed is looked at again: pods may be on their way to
-- other nodes. It is waited for, not made anew; a check is made again.
local function look_again(run, row, fields)
  local live, failure = row.resource.kind.read(run.ctx, row.resource, fields)
  if failure then return nil, failure end
  if live or row.resource.kind.ephemeral then
    row.live = live
    if not live then row_of.decide(run.ctx, row, lookup_in(run.plan)) end
  end
  return true
end

local function carry_out(run, row)
  local res = row.resource
  local fields, unknown = row_of.resolve(res, lookup_in(run.plan))
  if next(unknown) then return nil, never_known(res, unknown) end
  row.shaken = is_shaken(run, row)
  if row.shaken and row.action == "none" then
    local looked, failure = look_again(run, row, fields)
    if not looked then return nil, failure end
  end
  if row.action == "unknown" or (row.live and next(row.unknown or {})) then
    local decided, failure = decide_again(run, row, fields)
    if not decided then return nil, failure end
  end
  if row.action == "unknown" then row.action = "none" end
  return STEPS[row.action](run.ctx, row, fields)
end

-- Errors that a kind raises with assert() are failures like those that it returns; anything else
-- raised is a bug and ends the run.
local function protected(run, row)
  local ok, live, failure = pcall(carry_out, run, row)
  if ok then return live, failure end
  if err.is(live) then return nil, live end
  error(live, 0)
end

-- The needs of a row that only must have been made: referred to by nothing but its kind's early
-- fields.
local function early_needs(row)
  local res, early, late = row.resource, {}, {}
  local is_early = {}
  for _, field in ipairs(res.kind.early or {}) do is_early[field] = true end
  for field, value in pairs(res.fields) do
    for _, key in ipairs(ref.targets(value)) do (is_early[field] and early or late)[key] = true end
  end
  for _, other in ipairs(res.after or {}) do late[other.key] = true end
  for key in pairs(late) do early[key] = nil end
  return early
end

local function await_needs(run, row)
  local early = early_needs(row)
  for _, key in ipairs(row.needs) do
    local need = run.plan.by_key[key]
    if early[key] then need.made:get() else need.settled:get() end
  end
  return early
end

local function blocked_by(run, row, early)
  for _, key in ipairs(row.needs) do
    local made = early[key] and run.plan.by_key[key].begun
    if not made and run.state[key] ~= "ready" then return key end
  end
end

local function settle_row(run, row, state, fields)
  run.state[row.resource.key] = state
  if fields then run.ctx:tell(row.resource, fields.state, fields) end
  row.settled:set(true)
  if not row.made:ready() then row.made:set(true) end
end

-- What waits for a thing that is neither there nor to be made now.
local function missing(run)
  if not run.missing then return nil end
  local key, by = run.missing.key, run.missing.by
  return err.new { code = "RTL-PLAN-024", doing = key, message = by .. " is not there",
    hint = "Make it first: leave --only, --from and --to out, or choose more steps" }
end

local function block(run, row, by)
  if not run.selected(run.plan.by_key[by].resource) and not run.missing then
    run.missing = { key = row.resource.key, by = by }
  end
  run.result.blocked[#run.result.blocked + 1] = row.resource.key
  -- What another declaration can cure is tried again at once: no word of all that waits for it.
  settle_row(run, row, "blocked", not run.replan and { state = "skipped", action = row.action,
    detail = "needs " .. by .. ", which is not there" } or nil)
end

-- Not selected: what lives can be used by others, nothing is touched.
local function pass(run, row)
  settle_row(run, row, row.live and "ready" or "blocked")
end

local function fail(run, row, failure, began)
  local res = row.resource
  failure.resource = failure.resource or res.key
  run.replan = run.replan or failure.replan
  table.insert(run.result.failed, { resource = res, err = failure })
  settle_row(run, row, "failed", { state = "failed", action = row.action, err = failure,
    elapsed_s = clock.mono() - began })
end

-- A failure that another declaration can cure (no capacity in this zone): what was half made goes
-- at once, since it would only try on and use up quota.
local function clear_away(run, row)
  local live = row.resource.kind.read(run.ctx, row.resource, row_of.resolve(row.resource,
    lookup_in(run.plan)))
  if not live then return end
  row.live = live
  run.ctx:tell(row.resource, "deleting", { action = "delete", id = live.id })
  return make.delete(run.ctx, make.item(row))
end

local function run_row(run, row)
  local early = await_needs(run, row)
  if not run.selected(row.resource) then return pass(run, row) end
  local by = blocked_by(run, row, early)
  if by then return block(run, row, by) end
  local began = clock.mono()
  if row.action ~= "none" and row.action ~= "given" then
    run.ctx:tell(row.resource, "start", { action = row.action })
  end
  local live, failure = protected(run, row)
  if not live then
    if failure.replan then clear_away(run, row) end
    return fail(run, row, failure, began)
  end
  row.live, row.done = live, true
  run.result.outputs[row.resource.key] = live
  run.result.done[#run.result.done + 1] = row.resource.key
  if run.on_ready then run.on_ready(row.resource, live) end
  settle_row(run, row, "ready", { state = "done", action = DONE_WORD[row.action], id = live.id,
    elapsed_s = clock.mono() - began })
end

-- The failure to report: one that another declaration can cure first, else the earliest.
local function first_failure(result)
  for _, failed in ipairs(result.failed) do
    if failed.err.replan then return failed.err end
  end
  return result.failed[1] and result.failed[1].err
end

-- Removes what no step declares any more: what the new needs the room of before anything is made
-- (goes_first), the rest when all is there.
local function remove_surplus(run, goes_first)
  local items = {}
  for _, item in ipairs(run.keep_surplus and {} or run.plan.surplus) do
    if (item.kind.goes_first or false) == goes_first then items[#items + 1] = item end
  end
  if #items == 0 then return end
  for _, left in ipairs(teardown.remove(run.ctx, items).left) do
    table.insert(run.result.failed, { resource = left, err = left.err })
  end
end

local function make_all(run)
  task.group(function (group)
    for _, row in ipairs(run.plan.changes) do
      group:spawn(run_row, run, row)
    end
  end)
end

--- Carries out a plan of rtl.plan.diff. options: filter(resource) → boolean (what is applied; the
-- rest is only used where it exists), on_ready(resource, live), keep_surplus (leave what no step
-- declares any more).
-- Returns result = {done = {keys}, blocked = {keys}, failed = {{resource, err}}, outputs = {key →
-- live}}, or nil, err, result. err.replan is true when another declaration can cure it.
function M.run(plan, ctx, options)
  options = options or {}
  if plan.problems[1] then
    return nil, plan.problems[1], { done = {}, blocked = {}, failed = {}, outputs = {} }
  end
  local run = { plan = plan, ctx = ctx, state = {}, on_ready = options.on_ready,
    keep_surplus = options.keep_surplus or options.filter ~= nil,
    selected = options.filter or function () return true end,
    result = { done = {}, blocked = {}, failed = {}, outputs = {} } }
  for _, row in ipairs(plan.changes) do row.settled, row.made = task.future(), task.future() end
  remove_surplus(run, true)
  if #run.result.failed == 0 then make_all(run) end
  if #run.result.failed == 0 then remove_surplus(run, false) end
  local failure = first_failure(run.result) or missing(run)
  if failure then return nil, failure, run.result end
  return run.result
end

return M
