--- The phases of a recipe with steps.
--
-- All steps are always declared. Preflights first (they read), then the plan, one question, then
-- the graph is applied as a whole: resources of later steps start as soon as their needs are
-- there, while each step is verified, in order, as soon as its own resources are ready.

local agreed = require "rtl.recipe.agreed"
local err = require "rtl.err"
local failure = require "rtl.recipe.failure"
local given_cluster = require "rtl.recipe.given_cluster"
local last = require "rtl.recipe.last"
local meter = require "rtl.plan.meter"
local nearest = require "rtl.nearest"
local plan = require "rtl.plan"
local policy = require "rtl.recipe.policy"
local report = require "rtl.recipe.report"
local task = require "rtl.task"

local M = {}

local MAX_RECOVERIES = 64 -- zones of all regions

-- ---- which steps ----

local function step_named(run, name, option)
  local names = {}
  for _, step in ipairs(run.recipe.steps) do
    if step.name == name or tostring(step.number) == name then return step end
    names[#names + 1] = step.name
  end
  error(err.new {
    code = "RTL-CLI-008",
    message = ("--%s: there is no step '%s'%s"):format(option, name, nearest.hint(name, names)),
    hint = "The steps are " .. table.concat(names, ", "),
  }, 0)
end

-- The set of selected steps by name, from --only, --from and --to.
local function selection(run)
  local options, selected = run.options, {}
  if options.only then
    for name in options.only:gmatch("[^,%s]+") do
      selected[step_named(run, name, "only").name] = true
    end
    return selected
  end
  local first = options.from and step_named(run, options.from, "from").number or 1
  local final = options.to and step_named(run, options.to, "to").number or #run.recipe.steps
  if first > final and #run.recipe.steps > 0 then
    error(err.new { code = "RTL-CLI-008",
      message = ("--from %s --to %s: no step is between"):format(options.from, options.to) }, 0)
  end
  for _, step in ipairs(run.recipe.steps) do
    selected[step.name] = step.number >= first and step.number <= final
  end
  return selected
end

local function is_partial(run)
  return run.options.only or run.options.from or run.options.to
end

-- ---- one function of a step ----

-- Calls step[name](run) with the step as the current one; adds what was being done to its error.
local function call(run, step, name, ...)
  if not step[name] then return nil end
  local former = run.step
  run.step = step
  local ok, a, b = failure.call(step[name], run, ...)
  run.step = former
  if ok then return a, b end
  a.step = a.step or step.name
  error(a, 0)
end

local function tell(run, step, state, fields)
  local event = { type = "step", step = step.name, number = step.number, title = step.title,
    state = state }
  for key, value in pairs(fields or {}) do event[key] = value end
  run:emit(event)
end

-- ---- reading ----

-- The preflight of a step that was not chosen: what it can't see is said, and stops nobody.
local function glance(run, step)
  local ok, failed = pcall(call, run, step, "preflight")
  if ok then return end
  if not err.is(failed) then error(failed, 0) end
  run:note(("step %s, which is not chosen, can't be looked at: %s"):format(step.name,
    tostring(failed)))
end

local function preflights(run)
  for _, step in ipairs(run.recipe.steps) do
    run:progress("preflight: " .. step.title)
    if run.selected[step.name] then call(run, step, "preflight") else glance(run, step) end
  end
end

local function declare(run)
  run.graph = plan.graph.new()
  for _, step in ipairs(run.recipe.steps) do call(run, step, "resources") end
end

local STANDS = { none = true, given = true, check = true }

-- With --only, --from or --to the plan is of the chosen steps: what others would make is marked and
-- not counted, what can't be read of them is no problem, and nothing is deleted for being declared
-- no more.
local function narrow(run, p)
  p.left_out = 0
  for _, row in ipairs(p.changes) do
    if not run.selected[row.resource.step] and not STANDS[row.action] then
      row.left_out, p.left_out = true, p.left_out + 1
      p.counts[row.action] = p.counts[row.action] - 1
    end
  end
  p.counts.delete, p.surplus, p.problems = 0, {}, {}
  for _, row in ipairs(p.changes) do
    if row.problem and not row.left_out then p.problems[#p.problems + 1] = row.problem end
  end
  plan.reckon(p, run.ctx)
end

local function read_plan(run)
  declare(run)
  run:progress("reading what stands")
  local p = plan.read(run.graph, run.ctx, { kinds = run:all_kinds() })
  if is_partial(run) then narrow(run, p) end
  return p
end

local function sections_of(run)
  local sections = {}
  for _, step in ipairs(run.recipe.steps) do
    sections[#sections + 1] = call(run, step, "summary")
  end
  return sections
end

-- The steps' own pending work that is no resource (a job to submit): texts.
local function pending_actions(run)
  local texts = {}
  for _, step in ipairs(run.recipe.steps) do
    if run.selected[step.name] then texts[#texts + 1] = call(run, step, "pending") end
  end
  return texts
end

local function show_plan(run, p, pending)
  local lines = report.plan(run, p, sections_of(run))
  for _, text in ipairs(pending) do table.insert(lines, #lines, "  » " .. text) end
  run:emit(report.plan_event(run, p))
  run:emit { type = "text", lines = lines }
end

local function refuse_problems(run, p)
  if #p.problems == 0 then return end
  for i = 2, #p.problems do run:note(tostring(p.problems[i]), { sign = "✗" }) end
  error(p.problems[1], 0)
end

-- ---- making ----

-- A future for each selected step, set when all its resources are ready.
local function step_futures(run, p)
  local waiting, futures = {}, {}
  for _, step in ipairs(run.recipe.steps) do
    waiting[step.name], futures[step.name] = 0, task.future()
  end
  for _, row in ipairs(p.changes) do
    local name = row.resource.step
    if run.selected[name] then waiting[name] = waiting[name] + 1 end
  end
  for name, future in pairs(futures) do
    if waiting[name] == 0 then future:set(true) end
  end
  local function on_ready(res)
    local name = res.step
    if not waiting[name] then return end
    waiting[name] = waiting[name] - 1
    if waiting[name] == 0 then futures[name]:set(true) end
  end
  return futures, on_ready
end

local function as_list(proof)
  if proof == nil then return {} end
  return type(proof) == "table" and proof or { proof }
end

local function finish_step(run, step)
  if step.action then
    tell(run, step, "action")
    call(run, step, "action")
  end
  run:progress("verifying: " .. step.title)
  local proofs = as_list(call(run, step, "verify"))
  run.verified[step.name] = true
  local verdict = run.outcome.verdict
  local bad = step.action and verdict and verdict.exit ~= "done"
  tell(run, step, bad and "failed" or "proved", { proofs = proofs })
end

-- Waits for each step's resources in turn, then acts and verifies. Ends early, without an error,
-- when `applying` has failed: that error is the one to show.
local function finish_steps(run, futures)
  for _, step in ipairs(run.recipe.steps) do
    if run.selected[step.name] then
      local ready = futures[step.name]:get()
      if not ready then return end
      if not run.verified[step.name] then finish_step(run, step) end
    end
  end
end

local function release(run, futures)
  for _, step in ipairs(run.recipe.steps) do
    local future = futures[step.name]
    if not future:ready() then future:set(false) end
  end
end

-- Applies the plan and verifies the steps meanwhile. Returns true, or nil and the failure of a
-- resource.
local function apply(run, p)
  local futures, on_ready = step_futures(run, p)
  local done, problem
  task.group(function (group)
    group:spawn(function ()
      done, problem = plan.apply(p, run.ctx, {
        on_ready = on_ready,
        filter = is_partial(run) and function (res) return run.selected[res.step] end or nil,
      })
      if not done then release(run, futures) end
    end)
    group:spawn(finish_steps, run, futures)
  end)
  if done then return true end
  return nil, problem
end

-- Asks the steps whether another declaration can cure the failure. Returns what is done about it.
local function recover(run, problem)
  for _, step in ipairs(run.recipe.steps) do
    local text = call(run, step, "recover", problem)
    if text then return text end
  end
  return nil
end

-- Whether this run made something that it did not take away again: then what stops it is a failure,
-- and no refusal before all.
local function has_made(run)
  local ledger, made = run.ctx.ledger, {}
  for _, record in ipairs(ledger and ledger.records or {}) do
    local key = record.key
    if record.run == run.id and record.event == "outcome" and record.ok then made[key] = true end
    if record.event == "deleted" and key then made[key] = nil end
  end
  return next(made) ~= nil
end

-- What the caller may not do is a refusal if it came before anything was made.
local function refused_at_once(run, problem)
  if failure.denied(problem) and not problem.exit and not has_made(run) then
    problem.exit = "refused"
  end
  return problem
end

local function carry_out(run, p)
  for _ = 1, MAX_RECOVERIES do
    local done, problem = apply(run, p)
    if done then return p end
    local text = problem.replan and recover(run, problem)
    if not text then error(refused_at_once(run, problem), 0) end
    run:note(text, { sign = "→" })
    p = read_plan(run)
    run.plan = p
    refuse_problems(run, p)
  end
  return run:fail { code = "RTL-CLI-015", message = "gave up after " .. MAX_RECOVERIES
    .. " attempts to go another way" }
end

-- What the steps do when the run stops before its end, whatever stopped it.
local function leave(run)
  if run.carried_out then return end
  for _, step in ipairs(run.recipe.steps) do call(run, step, "leave") end
end

local function carry_out_honestly(run, p)
  local ok, value = failure.call(carry_out, run, p)
  if ok then return value end
  if failure.exit_name(value) == "refused" and has_made(run) then value.exit = "failed" end
  error(value, 0)
end

-- ---- the whole ----

local function plan_only(run, p, pending)
  local dir = run.options.out
  if dir then
    local count = require("rtl.recipe.sketch").write(run, p, dir)
    run:note(("%d files in %s: what would be sent"):format(count, dir))
  end
  local changes = report.has_changes(p) or #pending > 0
  return run.options.exit_code and changes and "changes" or "done"
end

local function question_of(p, pending)
  if report.has_changes(p) then
    local hourly = p.cost and p.cost.hourly or 0
    return hourly > 0 and ("Go ahead, for about $%.2f/h?"):format(hourly) or "Go ahead?"
  end
  return ("Nothing to make. %s. Go ahead?"):format(pending[1])
end

-- Asks, and takes the account's lock: from here on the run may change things. Returns the plan to
-- carry out, read again under the lock.
local function begin(run, p, pending)
  if not report.has_changes(p) and #pending == 0 then
    run:let_go_of_dead()
    return p
  end
  run:confirm(question_of(p, pending))
  run:hold()
  given_cluster.note(run)
  if not run:has_aws() then return p end
  local fresh = read_plan(run)
  agreed.check(run.ctx, p, fresh)
  refuse_problems(run, fresh)
  return fresh
end

-- Nothing is asked of what stands: a policy is for the whole life of a deployment.
local function policy_only(run)
  run.prints = true
  failure.reading(preflights, run)
  declare(run)
  policy.show(run)
  return "done"
end

--- Runs the phases. Returns the name of an exit code; raises what goes wrong.
function M.run(run)
  run.selected, run.verified = selection(run), {}
  run:connect()
  if run.options.policy then return policy_only(run) end
  local only_plan = run.options.plan
  if only_plan then
    run:peek()
  else
    run:lock()
    run:begin_record()
    last.remember(run)
  end
  run:emit { type = "run.start", recipe = run.recipe.name, deployment = run.deployment,
    region = run.region, who = run.who }
  failure.reading(preflights, run)
  local p = failure.reading(read_plan, run)
  local pending = pending_actions(run)
  show_plan(run, p, pending)
  failure.reading(refuse_problems, run, p)
  if report.has_changes(p) then policy.check(run) end
  if only_plan then return plan_only(run, p, pending) end
  p = failure.reading(begin, run, p, pending)
  run.plan = p
  local _ <close> = setmetatable({}, { __close = function () leave(run) end })
  run.plan = carry_out_honestly(run, p)
  run.carried_out = true
  meter.note(run.ctx, run:all_kinds())
  run:emit { type = "text", lines = report.ending(run) }
  return run.outcome.exit or run.outcome.verdict and run.outcome.verdict.exit or "done"
end

-- The name of the step that an error belongs to: the one that raised it, or that declared the
-- resource which failed.
local function step_of(run, e)
  if e.step then return e.step end
  local p = rawget(run, "plan")
  local row = p and e.resource and p:change(e.resource)
  return row and row.resource.step
end

--- Says which step an error belongs to, if it belongs to one.
function M.blame(run, e)
  local name = step_of(run, e)
  for _, step in ipairs(run.recipe.steps) do
    if step.name == name then tell(run, step, "failed") end
  end
end

--- What is said when a run stopped before its end: what it cost, how to go on, how to remove it.
function M.stopped(run)
  if not rawget(run, "plan") then return end
  local lines = report.ending(run)
  table.insert(lines, 2, ("Go on    %s (the same command again)"):format(
    report.command(run, run.recipe.file.path, true)))
  if run.outcome.running then
    table.insert(lines, 3, ("Running  job %s is left running; the next run follows it"):format(
      run.outcome.running))
  end
  run:emit { type = "text", lines = lines }
end

return M
