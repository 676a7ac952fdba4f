-- One life of a deployment in one weather: deploy, again if it failed or was killed, teardown, and
-- teardown once more when the weather is over. What must hold of each is said in `judge`.

local clock = require "rtl.clock"
local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local explain = require "rtl.cli.explain"
local failure = require "rtl.recipe.failure"
local fs = require "rtl.fs"
local journal = require "rtl.rehearse.journal"
local played = require "test.support.played"
local program = require "test.support.program"
local rehearse = require "rtl.rehearse"
local weather = require "rtl.rehearse.weather"

local M = {}

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"
local LONGEST = 4 * 3600 -- virtual seconds that one run may take
local CALLS = 6000       -- requests that one run may make
local TRIES = 3          -- deploys: the first, and again
local KILLED = 20        -- each so many-th seed is played by processes that are killed

local pages

local function is_explained(code)
  pages = pages or explain.all()
  return pages[code] ~= nil
end

-- A failure must have a name that somebody can look up, and no bug of rtl's.
local function judge_failure(what, e)
  if not err.is(e) then return ("%s: raised %s"):format(what, tostring(e)) end
  if not exit[failure.exit_name(e)] then return what .. ": no exit code: " .. tostring(e) end
  if e.code == "RTL-CLI-012" then
    return ("%s: %s\n%s"):format(what, e.message, e.trace or "")
  end
  if e.code:find "^RTL%-" and not is_explained(e.code) then
    return ("%s: %s has no page"):format(what, e.code)
  end
  if failure.interrupted(e) then return ("%s: interrupted: %s"):format(what, tostring(e)) end
  return nil
end

local function innermost_code(e)
  while err.is(e.cause) do e = e.cause end
  return e.code
end

-- ---- the world's own of before: the neighbours ----

-- Ids of all that stood before rtl came, and of what others made since.
local function neighbours(world)
  local ids = {}
  for _, name in ipairs(world.aws.region_names) do
    for kind, shelf in pairs(world.aws.regions[name]) do
      if type(shelf) == "table" and shelf.by_id then
        for id, item in pairs(shelf.by_id) do
          if type(item) == "table" and kind ~= "instances" and kind ~= "interfaces"
            and kind ~= "volumes" and (item.neighbour or item.native and kind == "vpcs") then
            ids[name .. " " .. kind .. " " .. id] = true
          end
        end
      end
    end
  end
  return ids
end

local function lost_neighbours(before, world)
  local now, lost = neighbours(world), {}
  for id in pairs(before) do
    if not now[id] then lost[#lost + 1] = id end
  end
  return lost
end

-- What stands of ours, two minutes later.
local function ours(world)
  world:advance(world.now_us + 120 * 1000000)
  local list = {}
  for _, text in ipairs(played.list(world)) do
    if not text:find('"neighbour":true', 1, true) then list[#list + 1] = text end
  end
  return list
end

-- ---- in this process ----

-- Stops a run that makes no end.
local function limited(world, life)
  return function (impl)
    return setmetatable({ request = function (req)
      life.calls = life.calls + 1
      if life.calls > CALLS then error(("LIMIT: more than %d calls"):format(CALLS), 0) end
      if world and world.now_us > life.until_us then error("LIMIT: virtual time", 0) end
      return impl.request(req)
    end }, { __index = impl })
  end
end

local function one_run(world, life, recipe)
  life.calls, life.until_us = 0, world.now_us + LONGEST * 1000000
  world:perform("run", {})
  clock.correct(0)
  local name, outcome = played.run(recipe, nil, nil, life.settings)
  life.most_calls = math.max(life.most_calls or 0, life.calls)
  life.longest = math.max(life.longest or 0, LONGEST - (life.until_us - world.now_us) / 1000000)
  return name, outcome
end

-- How a run ended: its exit code's name, and the error that it ended with (a verdict has none).
local function note(life, what, name, outcome)
  if name then
    life.ends[#life.ends + 1] = ("%s %s"):format(what, name)
    return nil
  end
  local bad = judge_failure(what, outcome)
  local code = err.is(outcome) and innermost_code(outcome) or "?"
  life.codes[#life.codes + 1] = code
  life.ends[#life.ends + 1] = ("%s %s %s"):format(what,
    err.is(outcome) and failure.exit_name(outcome) or "?", code)
  life.last_error = tostring(outcome)
  life.errors[#life.errors + 1] = life.last_error
  return bad
end

local function deploy(world, life)
  for _ = 1, TRIES do
    local name, outcome = one_run(world, life, DEPLOY)
    local bad = note(life, "deploy", name, outcome)
    if bad then return bad end
    if name == "done" then
      life.success = true
      return nil
    end
  end
end

-- The teardown once the weather is over: it leaves nothing.
local function calm_teardown(world, life)
  weather.clear(world)
  local name, outcome = one_run(world, life, TEARDOWN)
  local bad = note(life, "teardown", name, outcome)
  if bad then return bad end
  if name ~= "done" then
    return ("teardown in calm weather: %s %s"):format(tostring(name), tostring(outcome))
  end
  local left = ours(world)
  if #left > 0 then return "left after calm\n  " .. table.concat(left, "\n  ") end
end

-- While the weather lasts a teardown may leave something; once it is over, none may.
local function teardown(world, life)
  local name, outcome = one_run(world, life, TEARDOWN)
  local bad = note(life, "teardown", name, outcome)
  if bad then return bad end
  if name == "done" then
    local left = ours(world)
    if #left > 0 then return "teardown says done, and left\n  " .. table.concat(left, "\n  ") end
    return nil
  end
  return calm_teardown(world, life)
end

local function names_of(sky)
  local names = {}
  for name in pairs(sky) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function close_life(life, world, before)
  life.struck = world.struck_by
  life.sky = names_of(world.all_sky or world.sky)
  life.virtual = world:age()
  local lost = lost_neighbours(before, world)
  return lost[1] and "touched a neighbour: " .. table.concat(lost, ", ")
end

local function copy_of(sky)
  local all = {}
  for name, it in pairs(sky) do all[name] = it end
  return all
end

local function new_life(spec, settings)
  return { spec = spec, settings = settings, ends = {}, codes = {}, errors = {}, calls = 0,
    until_us = math.huge }
end

-- Plays in this process.
local function play_here(spec, settings)
  local life, state = new_life(spec, settings), fs.temp_dir("rtl-weather-")
  local world, leave
  local wrap = function (impl) return limited(world, life)(impl) end
  world, leave = played.enter(spec, state, wrap)
  local _ <close> = setmetatable({}, { __close = function ()
    leave()
    clock.correct(0)
    fs.remove_tree(state)
  end })
  world.all_sky = copy_of(world.sky)
  local before = neighbours(world)
  life.problem = deploy(world, life) or teardown(world, life)
  life.problem = close_life(life, world, before) or life.problem
  return life
end

-- ---- by processes that are killed ----

local MOMENTS = { "before", "after", "answered" }

local function run_process(life, state, spec, recipe)
  local ran = program.rtl({ "--rehearse" .. (spec and "=" .. spec or ""), recipe },
    { state = state, timeout = 60 })
  local text = (ran.stdout or "") .. (ran.stderr or "")
  life.ends[#life.ends + 1] = ("%s %s"):format(recipe:match "(%w+)%.lua",
    ran.signal and "signal " .. ran.signal or ran.status)
  if ran.signal and ran.signal ~= 9 then return nil, "signal " .. ran.signal .. "\n" .. text end
  if text:find "RTL%-CLI%-012" then return nil, text end
  life.last_error = ran.status ~= 0 and text:sub(-1500) or nil
  return ran.status or -ran.signal
end

-- The rest of a killed life, in this process and in calm weather.
local function finish_calm(life, state)
  local world = assert(rehearse.recall(journal.path(state)))
  local before = neighbours(world)
  world.was_killed = true -- by now, or never
  local _, leave = played.enter(world, state, limited(world, life))
  local _ <close> = setmetatable({}, { __close = leave })
  life.struck_late = copy_of(world.struck_by)
  return calm_teardown(world, life), world, before
end

local function play_killed(spec)
  local life, state = new_life(spec), fs.temp_dir("rtl-weather-")
  local _ <close> = setmetatable({}, { __close = function () fs.remove_tree(state) end })
  life.killed = true
  for i = 1, TRIES do
    local status, bad = run_process(life, state, i == 1 and spec or nil, DEPLOY)
    life.problem = life.problem or bad
    if bad then break end
    if status == 0 then
      life.success = true
      break
    end
  end
  local status, bad = run_process(life, state, nil, TEARDOWN)
  life.problem = life.problem or bad
  if status == -9 then
    status, bad = run_process(life, state, nil, TEARDOWN)
    life.problem = life.problem or bad
  end
  local left = status == 0 and ours(played.world(state)) or {}
  if left[1] then
    life.problem = life.problem or "teardown says done, and left\n  " .. table.concat(left, "\n  ")
  end
  local problem, world, before = finish_calm(life, state)
  life.problem = life.problem or problem or close_life(life, world, before)
  life.struck = life.struck_late
  life.sky = names_of(rehearse.world(spec).sky)
  return life
end

-- ---- seeds ----

-- Where the process of a seed dies: spread over what a deploy and its teardown change.
local function death_of(seed)
  return 1 + seed // KILLED % 130, MOMENTS[1 + seed // (KILLED * 130) % 3]
end

-- Some lives hold their GPUs before anything else, some in the first of two regions that has them.
local function settings_of(seed)
  if seed % 4 == 3 then return { probe = "true" } end
  if seed % 8 == 2 then return { region = "us-east-2,us-west-2" } end
end

--- Plays a seed. options: settings (name → text; by the seed), only (a scenario instead of the mix;
-- never killed).
-- Returns the life: { spec, problem (text, or nil when all held), success (a deploy got through),
-- ends, codes, errors, struck (kind → count), sky (kinds), virtual (s), most_calls, longest }.
function M.play(seed, options)
  options = options or {}
  local spec = ("%s,seed=%d"):format(options.only or "weather", seed)
  if seed % KILLED == 0 and not options.only then
    local call, moment = death_of(seed)
    return play_killed(("weather,call=%d,seed=%d,when=%s"):format(call, seed, moment))
  end
  return play_here(spec, options.settings or settings_of(seed))
end

return M
