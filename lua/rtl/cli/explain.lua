--- `rtl explain [CODE]`: what an error code means and what to try, from lua/rtl/codes and the
-- codes.lua of a layer that keeps its own.

local err = require "rtl.err"
local exit = require "rtl.cli.exit"
local host = require "rtl.native.host"
local keys = require "rtl.keys"
local nearest = require "rtl.nearest"
local output = require "rtl.cli.output"
local text = require "rtl.recipe.text"

local M = {}

--- All codes that have a page: code → {title, cause, next}.
function M.all()
  local all = {}
  for _, path in ipairs(host.embedded_names("rtl/")) do
    if path:match("^rtl/codes/") or path:match("/codes%.lua$") then
      local codes = require((path:gsub("%.lua$", ""):gsub("/", ".")))
      for code, page in pairs(codes) do all[code] = page end
    end
  end
  return all
end

local function list(all)
  local lines = {}
  for code, page in keys.pairs(all) do
    lines[#lines + 1] = ("%-14s %s"):format(code, page.title)
  end
  output.lines(lines)
  return exit.done
end

-- A paragraph beside its label.
local function paragraph(words)
  return table.concat(text.wrap(words, 89), "\n         ")
end

--- The sub-command. Returns the exit code.
function M.run(words)
  local all, word = M.all(), words[1]
  if not word then return list(all) end
  local page = all[word:upper()] or all[word]
  if not page then
    error(err.new {
      code = "RTL-CLI-010",
      message = ("no page on '%s'%s"):format(word, nearest.hint(word, keys.sorted(all))),
      hint = "rtl explain lists all codes",
    }, 0)
  end
  output.lines {
    (all[word] and word or word:upper()) .. ": " .. page.title, "",
    "  cause  " .. paragraph(page.cause), "  next   " .. paragraph(page.next),
  }
  return exit.done
end

return M
