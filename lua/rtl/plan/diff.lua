--- Reading a plan: the live state of every resource, in parallel, and what would be done to it.
-- A plan holds, makes and changes nothing. Truth is the account, not a state file.

local cost = require "rtl.plan.cost"
local keys = require "rtl.keys"
local ref = require "rtl.ref"
local row_of = require "rtl.plan.row"
local task = require "rtl.task"

local M = {}
local Plan = {}
Plan.__index = Plan

local KEEPS_OUTPUTS = { none = true, given = true, change = true, unknown = true, check = true }

--- The row of a resource (or of its key).
function Plan:change(res)
  return self.by_key[type(res) == "string" and res or res.key]
end

--- The value of an output, as far as it is known; nil otherwise.
function Plan:output(res, name)
  local row = self:change(res)
  return row and M.output(row, name)
end

-- Whether a change that is to come gives this output another value.
local function is_renewed(row, name)
  if row.action ~= "change" then return false end
  for _, output in ipairs(row.resource.kind.renews or {}) do
    if output == name then return true end
  end
  return false
end

--- The output `name` of a row's resource: of what lives and stays, else what is known before it is
-- made.
function M.output(row, name)
  local stays = row.done or row.action == nil
    or KEEPS_OUTPUTS[row.action] and not is_renewed(row, name)
  local value
  if stays and row.live then value = row.live[name] end
  if value == nil and row.begun then value = row.begun[name] end
  if value == nil and row.known then value = row.known[name] end
  return value
end

local function lookup_in(plan)
  return function (key, output) return M.output(plan.by_key[key], output) end
end

-- The keys of the resources that the listed fields refer to.
local function targets(res, fields)
  local list = {}
  for _, field in ipairs(fields or {}) do
    for _, key in ipairs(ref.targets(res.fields[field])) do list[#list + 1] = key end
  end
  return list
end

-- The first resource that should hold this one and does not exist (yet).
local function absent_holder(plan, res)
  for _, key in ipairs(targets(res, res.kind.within)) do
    local holder = plan.by_key[key]
    holder.found:get()
    if not holder.live and not holder.read_error then return key end
  end
end

local function known_of(ctx, res)
  local kind = res.kind
  return kind.known and kind.known(ctx, res) or {}
end

local function read_live(plan, ctx, row)
  local res = row.resource
  local holder = absent_holder(plan, res)
  if holder then return nil end
  for _, key in ipairs(targets(res, res.kind.reads_with)) do plan.by_key[key].found:get() end
  local fields = row_of.resolve(res, lookup_in(plan))
  return plan.limit:with(function () return res.kind.read(ctx, res, fields) end)
end

-- First half: what is there. An error with `absent` means that where it would stand there is
-- nothing yet (no cluster, so no object in it).
local function find(plan, ctx, row)
  local live, failure = read_live(plan, ctx, row)
  row.live = live
  if failure and failure.absent then
    row.note = failure.message
  elseif failure then
    row.read_error = failure
  end
  row.found:set(true)
end

-- Second half: what would be done, once it is known for everything that this one needs.
local function decide(plan, ctx, row)
  for _, key in ipairs(row.needs) do plan.by_key[key].decided:get() end
  if row.read_error then
    row.action, row.reasons, row.unknown = "unknown", { tostring(row.read_error) }, {}
    row.changes, row.problem = {}, row.read_error
  else
    row_of.decide(ctx, row, lookup_in(plan))
  end
  row.decided:set(true)
end

local function new_row(g, ctx, res)
  return { resource = res, needs = g:edges(res), known = known_of(ctx, res), found = task.future(),
    decided = task.future(), usual = res.kind.ready.usual or 0 }
end

local MAKES = { create = true, replace = true, check = true }

-- When each resource would be ready if nothing but its needs held it up: the longest chain.
local function critical_path(plan)
  local finish, last = {}, {}
  local longest
  for _, row in ipairs(plan.changes) do
    local key, start = row.resource.key, 0
    for _, need in ipairs(row.needs) do
      if finish[need] > start then start, last[key] = finish[need], need end
    end
    finish[key] = start + (MAKES[row.action] and not row.left_out and row.usual or 0)
    if not longest or finish[key] > finish[longest] then longest = key end
  end
  local path, key = {}, longest
  while key do
    local row = plan.by_key[key]
    if MAKES[row.action] and not row.left_out then table.insert(path, 1, key) end
    key = last[key]
  end
  return longest and finish[longest] or 0, path
end

-- What the ledger has of ours that no step declares any more.
local function undeclared(plan, ctx, kinds)
  if not (ctx.ledger and kinds) then return end
  local by_name = {}
  for _, kind in ipairs(kinds) do by_name[kind.name] = kind end
  local state = ctx.ledger:state()
  for _, key in ipairs(keys.sorted(state)) do
    local entry = state[key]
    local lives = entry.state == "made" or entry.state == "open" or entry.state == "deleting"
    if lives and not plan.by_key[key] and by_name[entry.kind] then
      plan.surplus[#plan.surplus + 1] = { key = key, kind = by_name[entry.kind],
        kind_name = entry.kind, name = entry.name, id = entry.id, outputs = entry.outputs,
        deps = entry.deps, action = "delete", reasons = { "no step declares it any more" } }
    end
  end
end

--- Reckons cost and critical path of the plan's rows again, but for those with `left_out`.
function M.reckon(plan, ctx)
  plan.critical_path_s, plan.critical_path = critical_path(plan)
  plan.cost = cost.of(plan, ctx)
end

local function finish(plan, ctx, kinds)
  for _, row in ipairs(plan.changes) do
    plan.counts[row.action] = (plan.counts[row.action] or 0) + 1
    if row.problem then plan.problems[#plan.problems + 1] = row.problem end
  end
  undeclared(plan, ctx, kinds)
  plan.counts.delete = #plan.surplus
  M.reckon(plan, ctx)
  return plan
end

--- Reads the live state of all resources of graph `g` and returns the plan:
-- changes (array in order of {resource, action, reasons, changes, live, unknown, problem, usual}),
-- surplus (what we made and no step declares any more; needs options.kinds), counts by action,
-- problems (array of errors that forbid to apply), cost, critical_path_s, critical_path (keys).
-- options: limit (reads at a time, 16), kinds (array of all kinds).
-- Raises RTL-PLAN-002 and -003 for a graph that can't be ordered.
function M.read(g, ctx, options)
  options = options or {}
  local plan = setmetatable({ graph = g, changes = {}, by_key = {}, counts = {}, problems = {},
    surplus = {}, limit = task.limit(options.limit or 16) }, Plan)
  for _, res in ipairs(g:order()) do
    local row = new_row(g, ctx, res)
    plan.changes[#plan.changes + 1] = row
    plan.by_key[res.key] = row
  end
  task.group(function (group)
    for _, row in ipairs(plan.changes) do
      group:spawn(function ()
        find(plan, ctx, row)
        decide(plan, ctx, row)
      end)
    end
  end)
  return finish(plan, ctx, options.kinds)
end

return M
