--- The instance table as a run sees it: with the types of the team's own file, and no others.

local instances = require "rtl.kinds.instances"
local keys = require "rtl.keys"
local load_file = require "rtl.recipe.load"

local M = {}

local function wrong(run, path, what)
  return run:fail { code = "RTL-CAP-009", exit = "usage",
    message = ("instance_types: %s: %s"):format(path, what) }
end

--- Adds or corrects the types of the file that the setting instance_types names, if it names one.
-- Raises RTL-CAP-009.
function M.learn(run)
  local path = run.settings.instance_types
  if path == "" then return end
  local file = load_file.find(path)
  if not file then wrong(run, path, "there is no such file") end
  local ok, rows = pcall(load_file.run, file)
  if not ok then wrong(run, path, tostring(rows)) end
  if type(rows) ~= "table" then wrong(run, path, "it returns no table") end
  for name, row in keys.pairs(rows) do
    local what = instances.wrong(row)
    if what then wrong(run, path, ("%s: %s"):format(name, what)) end
    instances.add(name, row)
  end
end

--- The table's row of the type that a setting names. Raises RTL-STEP-001 where there is none: its
-- GPUs, interfaces and price would be guesses.
function M.known(run, setting)
  local name = run.settings[setting]
  local row = instances.find(name)
  if row then return row end
  local message, hint = instances.unknown(name)
  return run:fail { code = "RTL-STEP-001", exit = "usage",
    message = ("%s: %s"):format(setting, message), hint = hint }
end

return M
