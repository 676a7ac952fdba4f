--- Finds recipes and their parts: on disk first (a fork wins), else those in the binary.
--
-- A file is a table {path, folder, embedded, text}. What stands beside a file is looked for in its
-- folder and then among the embedded recipes, so that a fork may hold one changed file only.

local err = require "rtl.err"
local fs = require "rtl.fs"
local host = require "rtl.native.host"
local nearest = require "rtl.nearest"
local strict = require "rtl.recipe.strict"

local M = {}

local ROOT = "recipes"

local function on_disk(path)
  local stat = fs.stat(path)
  if not stat or stat.type == "directory" then return nil end
  local text = fs.read(path)
  if not text then return nil end
  return { path = path, folder = path:match("^(.*)/[^/]*$") or ".", embedded = false, text = text }
end

local function in_binary(path)
  local text = host.embedded(path)
  if not text then return nil end
  return { path = path, folder = path:match("^(.*)/[^/]*$") or ROOT, embedded = true, text = text }
end

--- The names of the recipes in ./recipes and in the binary, sorted: files that begin with a
-- docstring (settings.lua, which they share, does not).
function M.names()
  local seen, names = {}, {}
  local function see(name, text)
    if name and not seen[name] and text:match("^%-%-%- ") then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  for _, path in ipairs(host.embedded_names(ROOT .. "/")) do
    see(path:match("^recipes/([^/]+)%.lua$"), host.embedded(path))
  end
  for _, entry in ipairs(fs.list(ROOT) or {}) do
    local name = entry:match("^([^/]+)%.lua$")
    if name then see(name, fs.read(fs.join(ROOT, entry)) or "") end
  end
  table.sort(names)
  return names
end

--- The file that the first word of a command line means: a path, a name in ./recipes, an embedded
-- recipe, in that order. Returns the file or nil and an error with the nearest name.
function M.find(word)
  local name = word:gsub("%.lua$", "")
  local file = (word:find("/", 1, true) or word:find("%.lua$")) and on_disk(word)
    or on_disk(("%s/%s.lua"):format(ROOT, name))
    or in_binary(word) or in_binary(("%s/%s.lua"):format(ROOT, name)) or on_disk(word)
  if file then return file end
  return err.fail {
    code = "RTL-CLI-003",
    message = ("there is no command, file or recipe '%s'%s"):format(word,
      nearest.hint(name:match("[^/]*$"), M.names())),
    hint = "rtl help lists them",
  }
end

--- The file `name` (with or without .lua) beside `file`, or nil and an error.
function M.beside(file, name)
  local path = name:match("%.%w+$") and name or name .. ".lua"
  local found = not file.embedded and on_disk(("%s/%s"):format(file.folder, path))
    or in_binary(("%s/%s"):format(ROOT, path))
  if found then return found end
  return err.fail {
    code = "RTL-CLI-004", message = ("%s: there is no '%s' beside it"):format(file.path, path),
  }
end

--- Runs the file's text with strict globals and the arguments; returns what it returns. Raises on
-- a syntax error and whatever the file raises.
function M.run(file, ...)
  local text = file.text:gsub("^\xef\xbb\xbf", ""):gsub("^#[^\n]*", "")
  if text:sub(1, 1) == "\27" then
    local message = file.path .. ": compiled Lua, not its source"
    error(err.new { code = "RTL-CLI-005", message = message }, 0)
  end
  local chunk, message = load(text, "@" .. file.path, "t", strict.environment())
  if not chunk then error(err.new { code = "RTL-CLI-005", message = message }, 0) end
  return chunk(...)
end

return M
