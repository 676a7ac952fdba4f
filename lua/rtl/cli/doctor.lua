--- `rtl doctor`: what this machine has and lacks. It looks at this machine only, and calls nobody.

local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local fork = require "rtl.cli.fork"
local fs = require "rtl.fs"
local host = require "rtl.native.host"
local keys = require "rtl.keys"
local output = require "rtl.cli.output"
local process = require "rtl.process"
local profile = require "rtl.aws.profile"
local state = require "rtl.recipe.state"
local yaml = require "rtl.native.yaml"

local M = {}

local SIGN = { [true] = "✓", [false] = "✗" }

local function fine(text) return true, text end
local function bad(text) return false, text end
local function none(text) return nil, text end -- not there, and need not be

local function check_state()
  local root = state.root()
  local made, problem = fs.mkdirs(root)
  if not made then return bad(("%s can't be made: %s"):format(root, problem.message)) end
  local probe = fs.join(root, ".doctor")
  local written, refused = fs.write(probe, "")
  fs.remove(probe)
  if not written then return bad(("%s can't be written: %s"):format(root, refused.message)) end
  return fine(root)
end

local function check_crypto()
  local ok, problem = pcall(function () return require("rtl.native.crypto").sha256_hex("") end)
  return ok, ok and "libcrypto loads" or tostring(problem)
end

local function profiles_of(found)
  local names = keys.sorted(found.profile)
  if #names > 5 then return ("%d profiles"):format(#names) end
  return (#names == 1 and "profile " or "profiles ") .. table.concat(names, ", ")
end

-- Where credentials would come from; whether they work, `--plan` shows.
local function check_credentials()
  local found, problem = profile.load()
  if not found then return bad(problem.message) end
  local places, has_keys = {}, (process.getenv("AWS_ACCESS_KEY_ID") or "") ~= ""
  if has_keys then places[1] = "the environment" end
  if next(found.profile) then places[#places + 1] = profiles_of(found) end
  if process.getenv("AWS_WEB_IDENTITY_TOKEN_FILE") then places[#places + 1] = "a web identity" end
  local name, chosen = profile.chosen()
  if chosen and not found.profile[name] and not has_keys then
    return false, ("AWS_PROFILE is '%s', and there is no such profile"):format(name), found.notes
  end
  if #places == 0 then
    return nil, "none here (an instance role may still be there)", found.notes
  end
  return true, table.concat(places, ", "), found.notes
end

local function check_settings()
  if not fs.exists("rtl.yaml") then return none("no rtl.yaml here") end
  local _, problem = yaml.decode(assert(fs.read("rtl.yaml")))
  if err.is(problem) then return bad("rtl.yaml: " .. problem.message) end
  return fine("rtl.yaml is YAML")
end

local function check_fork()
  local stamp = fork.stamp(".")
  if not stamp then return none("./recipes is no fork (rtl init makes one)") end
  local crypto = require "rtl.native.crypto"
  local changed, missing = 0, 0
  for name, digest in pairs(stamp.files) do
    local text = fs.exists(name) and fs.read(name)
    if not text then
      missing = missing + 1
    elseif crypto.sha256_hex(text) ~= digest then
      changed = changed + 1
    end
  end
  return fine(("from rtl %s (this is %s): %d changed, %d missing"):format(stamp.version,
    host.version, changed, missing))
end

local CHECKS = {
  { "program", function () return fine(("rtl %s, %s"):format(host.version, _VERSION)) end },
  { "crypto", check_crypto },
  { "state", check_state },
  { "credentials", check_credentials },
  { "settings", check_settings },
  { "fork", check_fork },
  { "terminal", function ()
    if not process.is_terminal(1) then return none("standard output is none: plain lines") end
    return fine(("%d columns"):format(process.columns()))
  end },
}

--- The sub-command. Returns the exit code: failed when something is missing.
function M.run()
  local lines, code = {}, exit.done
  for _, check in ipairs(CHECKS) do
    local ok, text, notes = check[2]()
    if ok == false then code = exit.failed end
    lines[#lines + 1] = ("  %s %-12s %s"):format(SIGN[ok] or "·", check[1], text)
    for _, note in ipairs(notes or {}) do
      lines[#lines + 1] = ("    %-12s %s"):format("", note)
    end
  end
  output.lines(lines)
  return code
end

return M
