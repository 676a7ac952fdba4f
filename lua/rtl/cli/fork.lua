--- `rtl init DIR`: writes the recipes out, to change them. The fork knows the version it came from,
-- and rtl.yaml has every setting, commented out.

local arguments = require "rtl.cli.arguments"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local fs = require "rtl.fs"
local host = require "rtl.native.host"
local load_file = require "rtl.recipe.load"
local output = require "rtl.cli.output"

local M = {}

local STAMP = "recipes/.rtl-fork"

local function write(path, text)
  assert(fs.mkdirs(fs.dirname(path)))
  assert(fs.write(path, text))
end

-- A default as rtl.yaml holds it. A version is quoted: to YAML 1.30 is a number, which is 1.3.
local function yaml_default(declaration)
  local default = arguments.default_text(declaration)
  if default == "none" then return '""' end
  if declaration.type == "string" and tonumber(default) then return ('"%s"'):format(default) end
  return default
end

local function sample_settings()
  local recipe = require("rtl.recipe.recipe").open(load_file.find("recipes/deploy.lua"))
  local lines = { "# Settings of rtl: take the '#' away to set one. `rtl help settings` says more.",
    "" }
  local group
  for _, declaration in ipairs(recipe.set.list) do
    if declaration.group ~= group then
      group = declaration.group
      lines[#lines + 1] = ("\n# ---- %s ----"):format(group or "further")
    end
    local unit = declaration.unit and (" (%s)"):format(declaration.unit) or ""
    lines[#lines + 1] = "# " .. declaration.help .. unit
    lines[#lines + 1] = ("#%s: %s"):format(declaration.name, yaml_default(declaration))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The stamp of a fork: {version, files = {path → sha256 as it came}}, or nil where there is none.
function M.stamp(folder)
  local path = fs.join(folder, STAMP)
  if not fs.exists(path) then return nil end
  local stamp = { files = {} }
  for line in assert(fs.read(path)):gmatch("[^\n]+") do
    local digest, name = line:match("^(%x+)  (.+)$")
    if digest then stamp.files[name] = digest end
    stamp.version = stamp.version or line:match("^rtl (%S+)")
  end
  return stamp
end

--- The sub-command. Returns the exit code.
function M.run(words)
  local folder = words[1]
  if not folder then
    error(err.new { code = "RTL-CLI-002", message = "'init' needs a folder: rtl init DIR" }, 0)
  end
  if fs.exists(fs.join(folder, "recipes")) then
    error(err.new { code = "RTL-CLI-011", message = folder .. " has recipes already" }, 0)
  end
  local stamp = { ("rtl %s"):format(host.version) }
  local names = host.embedded_names("recipes/")
  table.sort(names)
  for _, name in ipairs(names) do
    local text = host.embedded(name)
    write(fs.join(folder, name), text)
    stamp[#stamp + 1] = ("%s  %s"):format(crypto.sha256_hex(text), name)
  end
  write(fs.join(folder, STAMP), table.concat(stamp, "\n") .. "\n")
  write(fs.join(folder, "rtl.yaml"), sample_settings())
  output.lines {
    ("%d files in %s, from rtl %s"):format(#names, fs.join(folder, "recipes"), host.version),
    "  recipes/settings.lua  every default: region, instance types, image, versions",
    "  recipes/deploy.lua    the steps in order; recipes/steps has a file for each",
    "  rtl.yaml              values to set here, beside the defaults",
    ("cd %s && rtl recipes/deploy.lua --plan"):format(folder),
  }
  return exit.done
end

return M
