--- Clock, entropy and processes of a world, in the form that rtl.clock, rtl.entropy and rtl.process
-- take them.

local chance = require "rtl.rehearse.chance"
local err = require "rtl.err"
local process = require "rtl.process"
local world_module = require "rtl.rehearse.world"

local M = {}

--- Virtual time. It moves only when the scheduler finds nobody who can run and calls advance().
function M.clock(world)
  local begin = world_module.BEGIN_US
  -- Whoever has an answer and looks at the clock before it is written down is alive no more.
  local function still_alive()
    if world.doomed then world:check_death() end
  end
  return {
    mono = function ()
      still_alive()
      return (world.now_us - begin) / 1000000
    end,
    utc = function ()
      still_alive()
      local skewed = world.sky["clock-skew"]
      return world.now_us / 1000000 + (skewed and skewed.seconds or 0)
    end,
    advance = function (to)
      local us = math.ceil(to * 1000000)
      if us / 1000000 < to then us = us + 1 end -- rounding must not leave a timer in the future
      world:advance(begin + us)
      world:mark()
    end,
  }
end

--- Bytes that depend on the seed, on which run of this world asks, and on how much it asked before.
function M.entropy(world)
  local asked = 0
  return {
    bytes = function (count)
      asked = asked + 1
      return chance.bytes(count, world.seed, "entropy", world.runs, asked)
    end,
  }
end

local ACCESS_KEY_ID = "ASIARTLREHEARSAL0001"

--- The credentials of the simulated account: { access_key_id, secret_access_key, session_token }.
function M.credentials(world)
  return {
    access_key_id = ACCESS_KEY_ID,
    secret_access_key = chance.hex(40, world.seed, "secret access key"),
    session_token = "RTL" .. chance.hex(120, world.seed, "session token"),
  }
end

-- What of the real environment a world lets in: rtl's own settings, where files and the terminal
-- are. Nothing of it names an account, a cluster or a person.
local PASSED = { HOME = true, XDG_STATE_HOME = true, XDG_CACHE_HOME = true, XDG_CONFIG_HOME = true,
                 TMPDIR = true, TERM = true, COLUMNS = true, LINES = true, NO_COLOR = true,
                 LANG = true, LC_ALL = true, EDITOR = true }

local function passes(name)
  return PASSED[name] or name:sub(1, 4) == "RTL_"
end

local function given_environment(world)
  local keys = M.credentials(world)
  return {
    AWS_ACCESS_KEY_ID = keys.access_key_id,
    AWS_SECRET_ACCESS_KEY = keys.secret_access_key,
    AWS_SESSION_TOKEN = keys.session_token,
    AWS_CONFIG_FILE = "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE = "/dev/null",
    AWS_EC2_METADATA_DISABLED = "true",
    PATH = "/usr/bin:/bin",
    USER = "operator",
  }
end

local function refuse(request)
  return err.fail {
    code = "RTL-WORLD-003", doing = "run " .. tostring(request.argv and request.argv[1]),
    message = "a world runs no processes of the machine",
    hint = "Run it without the simulated world to use an outside program",
  }
end

--- Environment and processes: what the world gives, and of the `real` ones what passes. The
-- terminal stays the real one.
function M.process(world, real)
  local given = given_environment(world)
  local function getenv(name)
    local value = given[name]
    if value == nil and passes(name) then value = real.getenv(name) end
    return value
  end
  local function environ()
    local all = {}
    for _, entry in ipairs(real.environ()) do
      local name = entry:match("^[^=]+")
      if passes(name) and not given[name] then all[#all + 1] = entry end
    end
    for name, value in pairs(given) do all[#all + 1] = name .. "=" .. value end
    table.sort(all)
    return all
  end
  return {
    run = refuse, getenv = getenv, environ = environ,
    hostname = function () return "operator-laptop" end,
    user = function () return "operator" end,
  }
end

--- Puts the four seams of `world` in place; `wire_implementation` is rtl.rehearse.wire's.
function M.use(world, wire_implementation)
  require "rtl.clock".use(M.clock(world))
  require "rtl.entropy".use(M.entropy(world))
  process.use(M.process(world, process.use {}))
  require "rtl.wire".use(wire_implementation)
end

return M
