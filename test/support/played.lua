-- The simulated world of a state folder, read from its journal: what stands in it, in a form that
-- is equal for equal clouds (no ids, times, addresses or generated names).

local ask = require "rtl.recipe.ask"
local events = require "rtl.recipe.events"
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local journal = require "rtl.rehearse.journal"
local json = require "rtl.native.json"
local load_file = require "rtl.recipe.load"
local phases = require "rtl.recipe.phases"
local process = require "rtl.process"
local recipe = require "rtl.recipe.recipe"
local region_module = require "rtl.rehearse.aws.region"
local rehearse = require "rtl.rehearse"
local run_object = require "rtl.recipe.run"
local seams = require "test.support.seams"
local task = require "rtl.task"

local M = {}

local SETTLE_US = 120 * 1000000 -- what is on its way out goes meanwhile

--- The world as the journal says it is. `settled`: two minutes later.
function M.world(state, settled)
  local world = assert(rehearse.recall(journal.path(state)), "no world in " .. state)
  if settled then world:advance(world.now_us + SETTLE_US) end
  return world
end

--- The records of the journal, without its head.
function M.records(state)
  local _, records = journal.read(journal.path(state))
  return records
end

-- ---- forms without what differs from world to world ----

local PATTERNS = {
  { "(%f[%a]%a+%-)0%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x", "%1ID" },
  { "%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x", "UUID" },
  { "ip%-%d+%-%d+%-%d+%-%d+", "ip-ADDRESS" },
  { "%f[%d]10%.42%.%d+%.%d+%f[^%d/]", "ADDRESS" },
  { "203%.0%.113%.%d+", "ADDRESS" },
  { "eks%-cluster%-sg%-([%w-]-)%-%d+", "eks-cluster-sg-%1-N" },
  { "%x+(%.gr7%.)", "HOST%1" },
}

local function plain(text)
  for _, pair in ipairs(PATTERNS) do text = text:gsub(pair[1], pair[2]) end
  return text
end

-- Fields that say when, by which token, how often, or that lead to another part of the world.
local LEFT_OUT = {
  used = true, AvailableIpAddressCount = true, CreateDate = true, RoleId = true, usable_at = true,
  createdAt = true, modifiedAt = true, kube = true, world = true, authority = true,
  InstanceProfileId = true, clientRequestToken = true, ClientToken = true, digest = true,
  certificateAuthority = true, identity = true, releaseVersion = true, Version = true,
  CreationDate = true, StateTransitionReason = true,
}

local function is_left_out(key, value)
  return LEFT_OUT[key] or type(value) == "function" or type(key) == "table"
    or type(key) == "string" and (key:find "Time" or key:find "_at$" or key:find "_us$")
end

local function copy(value, depth)
  if type(value) == "string" then return plain(value) end
  if type(value) ~= "table" then return value end
  if depth > 12 then return "deep" end
  local out, list = {}, {}
  for key, item in next, value do
    if not is_left_out(key, item) then
      if math.type(key) == "integer" then
        list[#list + 1] = copy(item, depth + 1)
      else
        out[plain(key)] = copy(item, depth + 1)
      end
    end
  end
  -- A set is meant: the order of associations or tags is the order of parallel calls.
  if #list > 0 then
    for i, item in ipairs(list) do list[i] = json.encode(item) end
    table.sort(list)
    out.list = list
  end
  return out
end

local function text_of(value)
  return json.encode(copy(value, 1))
end

local NOT_STANDING = { activities = true }

local function ended(item)
  local state = type(item.State) == "table" and item.State.Name or item.State
  return state == "terminated" or state == "deleted" or state == "cancelled" or state == "expired"
end

-- A rule stays on its shelf when its group goes.
local function is_loose(region, item)
  return item.SecurityGroupRuleId and not region.security_groups:get(item.GroupId)
end

local function add_region(list, region, untouched)
  for _, kind in ipairs(region_module.KINDS) do
    for _, item in ipairs(NOT_STANDING[kind[1]] and {} or region[kind[1]]:all()) do
      local from_the_start = untouched[kind[1]]:get(item[kind[2]])
      if not (ended(item) or from_the_start or is_loose(region, item)) then
        list[#list + 1] = ("%s %s %s"):format(region.name, kind[1], text_of(item))
      end
    end
  end
end

-- Service-linked roles stay: AWS makes them, and they belong to the account.
local function add_roles(list, iam)
  for _, kind in ipairs { "roles", "profiles", "policies" } do
    for _, item in ipairs(iam[kind]:all()) do
      if item.RoleName ~= "Admin" and not (item.Path or ""):find "^/aws%-service%-role/" then
        list[#list + 1] = ("iam %s %s"):format(kind, text_of(item))
      end
    end
  end
end

-- ---- Kubernetes ----

-- The name, or its owner's with a star: the rest of it was generated.
local function name_of(object)
  local owner = (object.metadata.ownerReferences or {})[1]
  if not owner then return plain(object.metadata.name) end
  return owner.kind .. "/" .. plain(owner.name):gsub("%-%w+$", "-*") .. "/*"
end

local STATUS = { Pod = "phase", RayCluster = "state", Namespace = "phase" }

local function add_cluster(list, kube)
  for key, shelf in pairs(kube.store.objects) do
    for _, object in pairs(shelf) do
      if not key:find "^events" then
        local status = object.status and object.status[STATUS[object.kind]]
        list[#list + 1] = ("%s %s/%s %s"):format(key, object.metadata.namespace or "",
          name_of(object), status or "")
      end
    end
  end
end

local function add_jobs(list, kube)
  local jobs = require "rtl.rehearse.ray.jobs"
  jobs.each(kube, function (job)
    list[#list + 1] = ("job %s %s"):format(job.id, jobs.state(kube, job))
  end)
end

--- What stands in a world beside what every account has: sorted array of texts. Empty after a
-- teardown that left nothing.
function M.list(world)
  local list, untouched = {}, rehearse.world(world.title)
  for _, name in ipairs(world.aws.region_names) do
    add_region(list, world.aws.regions[name], region_module.of(untouched, name))
  end
  add_roles(list, world.aws.iam)
  for _, kube in pairs(world.clusters) do
    add_cluster(list, kube)
    add_jobs(list, kube)
  end
  table.sort(list)
  return list
end

--- What stands in the world of a state folder, two minutes later.
function M.inventory(state)
  return M.list(M.world(state, true))
end

--- What one list has that the other has not, as text; nil when they are equal.
function M.difference(wanted, have)
  local counts, lines = {}, {}
  for _, text in ipairs(wanted) do counts[text] = (counts[text] or 0) - 1 end
  for _, text in ipairs(have) do counts[text] = (counts[text] or 0) + 1 end
  for text, count in pairs(counts) do
    if count ~= 0 then lines[#lines + 1] = ("%+d %s"):format(count, text:sub(1, 200)) end
  end
  table.sort(lines)
  return #lines > 0 and table.concat(lines, "\n  ") or nil
end

-- ---- a world in this process ----

--- Puts a world (or a new one of that spec) behind the four seams; `wrap` (function (wire) →
-- wire) may stand between. State is kept in the folder `state`. Returns the world and a function
-- that puts the former implementations back.
function M.enter(spec, state, wrap)
  local put_back = seams.kept()
  local world = type(spec) == "table" and spec or assert(rehearse.world(spec))
  local impl = require("rtl.rehearse.wire").new(world)
  require("rtl.rehearse.seams").use(world, wrap and wrap(impl) or impl)
  local inner = process.use {}
  process.use(setmetatable({ getenv = function (name)
    return name == "RTL_STATE" and state or inner.getenv(name)
  end }, { __index = inner }))
  return world, put_back
end

--- The same in a state folder of its own. Returns the world, and a `<close>` value that leaves it
-- and removes the folder.
function M.fresh(spec, wrap)
  local state = assert(fs.temp_dir "rtl-played-")
  local world, leave = M.enter(spec, state, wrap)
  return world, setmetatable({}, { __close = function ()
    leave()
    fs.remove_tree(state)
  end })
end

--- Runs a recipe in this process; `asks`: without --yes, as the command line asks; `options` and
-- `settings` (name → text) of the command line; `more`: { words, bus }. Returns the name of the
-- exit code, the run's outcome and its last event of each type, or nil and the error.
function M.run(name, asks, options, settings, more)
  local r, last, given = recipe.open(assert(load_file.find(name))), {}, more or {}
  local run = run_object.new { recipe = r, values = assert(r.set:resolve { options = settings }),
    options = options or { yes = true }, words = given.words or {},
    bus = given.bus or events.bus() }
  run.bus:add(function (event) last[event.type] = event end)
  run.confirm = function (_, question) return assert(ask.confirm(question, not asks)) end
  local ok, result = failure.call(task.run, function ()
    local _ <close> = setmetatable({}, { __close = function () run:let_go() end })
    if #r.steps > 0 then return phases.run(run) end
    r.action(run)
    return run.outcome.exit or "done"
  end)
  run:close()
  if ok then return result, run.outcome, last end
  return nil, result
end

--- Gives the world of a state folder another scenario, and forgets that it was killed.
function M.again(state, spec)
  local path, lines = journal.path(state), {}
  for line in assert(fs.read(path)):gmatch("[^\n]*\n") do
    local record = json.decode(line)
    if record.spec then
      record.spec = spec
      line = json.encode(record) .. "\n"
    end
    if record.k ~= "killed" then lines[#lines + 1] = line end
  end
  assert(fs.write(path, table.concat(lines)))
end

--- Copies a state folder, for a world that goes on in two ways; `spec` becomes its scenario.
function M.fork(from, to, spec)
  assert(fs.mkdirs(to))
  for _, name in ipairs(assert(fs.list(from))) do
    local source, target = fs.join(from, name), fs.join(to, name)
    if fs.stat(source).type == "directory" then
      M.fork(source, target)
    elseif not name:find "%.lock$" then
      assert(fs.write(target, assert(fs.read(source))))
    end
  end
  if spec then M.again(to, spec) end
end

return M
