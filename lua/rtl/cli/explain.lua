--- `rtl explain [CODE]`: what an error code means and what to try, from lua/rtl/codes and the
-- codes.lua of a layer that keeps its own.

local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local host = require "rtl.native.host"
local nearest = require "rtl.nearest"
local output = require "rtl.cli.output"

local M = {}

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- All codes that have a page: code → {title, cause, next}.
function M.all()
  local all = {}
  for _, path in ipairs(host.embedded_names("rtl/")) do
    if path:match("^rtl/codes/") or path:match("/codes%.lua$") then
      local codes = require((path:gsub("%.lua$", ""):gsub("/", ".")))
      for _, code in ipairs(sorted_keys(codes)) do all[code] = codes[code] end
    end
  end
  return all
end

local function list(all)
  local lines = {}
  for _, code in ipairs(sorted_keys(all)) do
    lines[#lines + 1] = ("%-14s %s"):format(code, all[code].title)
  end
  output.lines(lines)
  return exit.done
end

-- Wraps a paragraph to the width of a page.
local function wrap(text)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #line + #word > 88 then
      lines[#lines + 1], line = line, ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n         ")
end

--- The sub-command. Returns the exit code.
function M.run(words)
  local all, word = M.all(), words[1]
  if not word then return list(all) end
  local page = all[word:upper()] or all[word]
  if not page then
    error(err.new {
      code = "RTL-CLI-010",
      message = ("no page on '%s'%s"):format(word, nearest.hint(word, sorted_keys(all))),
      hint = "rtl explain lists all codes",
    }, 0)
  end
  output.lines {
    (all[word] and word or word:upper()) .. ": " .. page.title, "",
    "  cause  " .. wrap(page.cause), "  next   " .. wrap(page.next),
  }
  return exit.done
end

return M
