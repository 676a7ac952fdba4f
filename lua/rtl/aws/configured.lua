--- What the environment and the profile say to all clients: how often to try, and which kind of
-- endpoint to use. (Credentials, regions and endpoint URLs have their own places.)

local err = require "rtl.err"
local process = require "rtl.process"

local M = {}

local MODES = { legacy = "legacy", standard = "standard", adaptive = "adaptive" }
local BOOLEANS = { ["true"] = true, ["false"] = false }

local function attempts_of(text)
  local count = math.tointeger(tonumber(text))
  return count and count >= 1 and count or nil
end

-- Field → how it is written in either place, and what it may be.
local SETTINGS = {
  { field = "attempts", variable = "AWS_MAX_ATTEMPTS", key = "max_attempts",
    read = attempts_of, wanted = "a whole number of attempts, 1 or more" },
  { field = "mode", variable = "AWS_RETRY_MODE", key = "retry_mode",
    read = function (text) return MODES[text:lower()] end,
    wanted = "legacy, standard or adaptive" },
  { field = "fips", variable = "AWS_USE_FIPS_ENDPOINT", key = "use_fips_endpoint",
    read = function (text) return BOOLEANS[text:lower()] end, wanted = "true or false" },
  { field = "dual", variable = "AWS_USE_DUALSTACK_ENDPOINT", key = "use_dualstack_endpoint",
    read = function (text) return BOOLEANS[text:lower()] end, wanted = "true or false" },
}

-- The text of a setting and where it stands; an empty one is none.
local function written(setting, profile)
  local text = process.variable(setting.variable)
  if text then return text, setting.variable end
  text = profile and profile[setting.key]
  if type(text) == "string" and text ~= "" then return text, setting.key .. " of the profile" end
end

--- read(profile) → {attempts = integer|nil, mode = "legacy|standard|adaptive"|nil,
-- fips = bool|nil, dual = bool|nil}, or nil and RTL-AWS-007. `profile` is the profile's table or
-- nil; the environment wins. A word that means nothing is an error, where some SDKs take it for
-- false: a FIPS endpoint that was asked for must not quietly become another.
function M.read(profile)
  local found = {}
  for _, setting in ipairs(SETTINGS) do
    local text, place = written(setting, profile)
    local value
    if text then value = setting.read(text) end
    if text and value == nil then
      return err.fail {
        code = "RTL-AWS-007", message = ("%s is '%s', not %s"):format(place, text, setting.wanted),
      }
    end
    found[setting.field] = value
  end
  return found
end

return M
