--- The object that recipes and steps work with.

local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local failure = require "rtl.recipe.failure"
local load_file = require "rtl.recipe.load"
local plain = require("rtl.recipe.text").plain
local plan = require "rtl.plan"
local pricing = require "rtl.kinds.pricing"
local record = require "rtl.recipe.record"
local settings = require "rtl.recipe.settings"
local state = require "rtl.recipe.state"
local task = require "rtl.task"

local M = {}

local Run = {}

-- run.ctx, run.region and run.record connect when they are first asked for, so that a recipe that
-- needs no cloud reaches none.
local LAZY = { ctx = true, region = true, record = true, who = true, folder = true, link = true }

function Run.__index(run, key)
  if LAZY[key] then
    Run.connect(run)
    return rawget(run, key)
  end
  return Run[key]
end

local function new_id()
  return clock.amz(clock.utc()):lower() .. "-" .. entropy.hex(3)
end

--- Makes the run of a recipe: values (settings), bus, options (of the command line), words, and
-- maybe open (what connects it; default rtl.recipe.connect).
function M.new(fields)
  local run = setmetatable(fields, Run)
  run.facts, run.outcome = {}, {}
  run.settings, run.deployment = fields.values, fields.values.name
  run.id = new_id()
  run.bus.run = run.id
  run.graph = plan.graph.new()
  return run
end

-- Of several regions, the one in which this deployment stands by our ledgers, if there is one.
local function standing_region(where, regions)
  for _, region in ipairs(#regions > 1 and regions or {}) do
    local place = { partition = where.partition, account = where.account, region = region,
      deployment = where.deployment }
    if plan.ledger.stands(state.folder(place)) then return region end
  end
end

-- The tags that the settings put on everything beside our own.
local function tags_of(values)
  local tags = {}
  for _, pair in ipairs(settings.optional(values, "tags") or {}) do
    local key, value = pair:match("^(.-)=(.*)$")
    tags[key] = value
  end
  return tags
end

-- Says where else a deployment of this name stands: who looks into the wrong region finds nothing.
local function tell_elsewhere(run, where)
  local asked = table.concat(run.settings.region, " ")
  for _, region in ipairs(run.link.aws and state.elsewhere(where) or {}) do
    if not asked:find(region, 1, true) then
      run:note(("%s stands in %s, too, by the ledger here: --region %s"):format(run.deployment,
        region, region))
    end
  end
end

--- Connects to the account or cluster of the settings, once. Raises the world's refusal.
function Run:connect()
  if rawget(self, "ctx") then return end
  local open = rawget(self, "open") or require("rtl.recipe.connect").open
  local function reach(region)
    return failure.reading(function ()
      return assert(open(self.settings, {
        region = region, credentials = rawget(self, "credentials"),
        ask = rawget(self, "ask"), notice = function (text) self:note(text) end,
      }))
    end)
  end
  local link = reach(self.wanted_region)
  local stands = link.aws and not self.wanted_region
    and standing_region(link.where, self.settings.region)
  if stands and stands ~= link.where.region then
    self.credentials = link.session and link.session.credentials
    link = reach(stands)
  end
  local where = link.where
  self.region, self.who, self.link = where.region, link.who, link
  self.credentials = link.session and link.session.credentials
  self.folder = state.folder(where)
  self.record = record.open(self.folder, self.id)
  self.ctx = plan.context.new {
    settings = self.settings, tags = tags_of(self.settings), deployment = where.deployment,
    region = where.region,
    account = where.account, partition = where.partition, run_id = self.id,
    aws = link.aws, k8s = link.k8s, facts = self.facts, state_dir = self.folder,
    emit = function (event) self.bus:emit(event) end,
  }
  if not self.wanted_region then tell_elsewhere(self, where) end
end

--- Moves the run to another of the settings' regions: state, ledger and locks are that region's.
function Run:use_region(region)
  if region == self.region then return end
  local held, account = rawget(self, "held") ~= nil, rawget(self, "account_hold") ~= nil
  self:let_go()
  self:close()
  self.ctx, self.held, self.record, self.wanted_region = nil, nil, nil, region
  self:connect()
  if held then self:lock() end
  if account then self:hold() end
end

--- The client of an AWS service. Raises RTL-SET-006 in a run with a kubeconfig.
function Run:aws(service, options)
  if self:has_aws() then return self.ctx:aws(service, options) end
  return self:fail { code = "RTL-SET-006", doing = "reach " .. service,
    message = "this run has a kubeconfig and no AWS account" }
end

--- The Kubernetes client, or nil and an error (err.absent: there is no cluster yet).
function Run:k8s()
  return self.ctx:k8s()
end

--- Whether the run has an AWS account (no kubeconfig was given).
function Run:has_aws()
  return self.link.aws ~= nil
end

--- The kinds of resources that the run can look for: all, or without an AWS account those that
-- need no IAM action.
function Run:all_kinds()
  local kinds = rawget(self, "kinds") or require "rtl.kinds"
  if self:has_aws() then return kinds end
  local list = {}
  for _, kind in ipairs(kinds) do
    if #(kind.actions or {}) == 0 then list[#list + 1] = kind end
  end
  return list
end

--- Declares a resource in the run's graph; returns it.
function Run:declare(res)
  res.step = self.step and self.step.name
  return self.graph:declare(res)
end

--- A handle to a declared resource, by kind and name.
function Run:resource(kind, name)
  return self.graph:resource(kind, name)
end

--- The value of a resource's output as far as the run knows it by now, or nil.
function Run:output(kind, name, output)
  return self.plan and self.plan:output(self.graph:resource(kind, name), output)
end

--- Sends an event to the run's faces and record.
function Run:emit(event)
  self.bus:emit(event)
end

--- One line to the reader; on standard error in a run that `prints` something for a file.
function Run:note(text, fields)
  local event = { type = rawget(self, "prints") and "aside" or "note", text = plain(text),
    step = self.step and self.step.name }
  for key, value in pairs(fields or {}) do event[key] = value end
  self.bus:emit(event)
end

--- The state of what is being done now: a line that the next one replaces.
function Run:progress(text)
  self.bus:emit { type = "progress", text = plain(text), step = self.step and self.step.name }
end

--- A line of somebody's log.
function Run:log(text)
  self.bus:emit { type = "log", text = plain(text) }
end

--- Raises an error with the fields of rtl.err.new; `exit` names the exit code.
function Run.fail(_, fields)
  error(err.new(fields), 0)
end

--- Saves bytes, without secrets, as a file of the run's record; returns its path.
function Run:save(name, bytes)
  return assert(self.record:save(name, bytes))
end

--- The text of a file beside the recipe (train/job.py).
function Run:asset(name)
  return assert(load_file.beside(self.recipe.file, name)).text
end

--- Sets the verdict of the run: {verdict, exit (name of an exit code), cause, next, code, lines}.
function Run:verdict(fields)
  self.outcome.verdict = fields
  local event = { type = "verdict" }
  for key, value in pairs(fields) do event[key] = value end
  self.bus:emit(event)
end

--- Sets what the last screen says of the job: {id, status, exit_code, seconds, text}.
function Run:job(fields)
  self.outcome.job = fields
end

--- Takes the deployment's lock for the rest of the run and opens its ledger. Raises RTL-PLAN-010
-- when another run works on it.
function Run:lock()
  if self.held then return end
  self.held = assert(plan.lock.take(self.folder))
  self.ctx.ledger = assert(plan.ledger.open(self.folder, self.id))
end

-- The run of another machine that the settings say is dead; "" where they name none.
local function named_dead(run)
  return settings.optional(run.settings, "dead_run") or ""
end

-- The runs that are dead: those that wrote to this ledger before, since their lock on this machine
-- is ours now, and the named one.
local function dead_runs(run)
  local dead = { [named_dead(run)] = true }
  for _, entry in ipairs(run.ctx.ledger.records) do dead[entry.run or ""] = true end
  return dead
end

--- Takes the account's lock against a second machine, before the first change. Nothing is taken in
-- a run with a kubeconfig. Raises RTL-PLAN-020 when another run holds it.
function Run:hold()
  if not self:has_aws() or rawget(self, "account_hold") then return end
  local dead = dead_runs(self)
  assert(self.ctx.ledger:note("lock"))
  local take = require("rtl.kinds.account_lock").take
  self.account_hold = assert(take(self.ctx, { dead = dead,
    waits = settings.optional(self.settings, "job_timeout") }))
end

--- Gives back the account's lock of a run that died before it could: for a run that finds nothing
-- to change. Another machine would wait hours for it.
function Run:let_go_of_dead()
  local none = named_dead(self) == "" and #self.ctx.ledger:notes("lock") == 0
  if none or not self:has_aws() then return end
  local release = require("rtl.kinds.account_lock").release_dead
  assert(release(self.ctx, dead_runs(self)))
end

--- Gives the account's lock back, also while the run is being cancelled: true, or nil and why it
-- stays (the reader is told).
function Run:let_go()
  local hold = rawget(self, "account_hold")
  if not hold then return true end
  self.account_hold = nil
  local done, problem = task.shield(60, function () return hold:close() end)
  if done then return true end
  self:note("the account's lock stays, since it could not be given back: " .. tostring(problem))
  return nil, problem
end

--- Calls f(...), which only reads, and returns its results. What the caller may not do is raised
-- as a refusal before anything was done (exit code 5).
function Run.reading(_, f, ...)
  return failure.reading(f, ...)
end

--- Asks AWS for the prices of what a deployment is made of, in the region that the run is in now;
-- version: of Kubernetes, where the deployment's own cluster does not stand to say it.
function Run:load_prices(version)
  pricing.load(self.ctx, { others = true, version = version,
    types = { self.settings.gpu_type, self.settings.system_type } })
end

--- From now on the run's events go into its record too.
function Run:begin_record()
  if rawget(self, "recording") then return end
  self.recording = true
  self.bus:add(function (event) self.record:event(event) end)
end

--- Reads the ledger of the deployment without taking its lock, if there is one.
function Run:peek()
  if self.ctx.ledger then return end
  local ledger, problem = plan.ledger.peek(self.folder)
  if problem then error(problem, 0) end
  self.ctx.ledger = ledger
end

--- Lets go of lock, ledger and record. To be called once, at the end.
function Run:close()
  if rawget(self, "ctx") and self.ctx.ledger then self.ctx.ledger:close() end
  if rawget(self, "held") then self.held:close() end
  if rawget(self, "record") then self.record:flush() end
end

return M
