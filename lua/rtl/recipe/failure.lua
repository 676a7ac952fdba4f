--- How an error is shown to people, and which exit code it means.

local err = require "rtl.err"
local task = require "rtl.task"
local text = require "rtl.recipe.text"

local WIDTH = 88 -- columns, beside the labels

local M = {}

-- Areas whose errors are the caller's to correct, and the exceptions in them.
local USAGE = { SET = true, CLI = true }
local NOT_USAGE = {
  ["RTL-CLI-007"] = "refused", ["RTL-CLI-012"] = "failed", ["RTL-CLI-014"] = "failed",
  ["RTL-CLI-015"] = "failed",
}
-- Of other areas, what a setting or an argument was wrong for.
local ALSO_USAGE = {
  ["RTL-AWS-001"] = true, ["RTL-AWS-002"] = true, ["RTL-AWS-007"] = true, ["RTL-AWS-008"] = true,
}

local function text_of(raised)
  if type(raised) == "string" then return raised end
  if type(raised) == "table" and raised.message then return tostring(raised.message) end
  local meta = getmetatable(raised)
  if type(meta) == "table" and meta.__tostring then return tostring(raised) end
  return ("a %s was raised instead of a text or an error of rtl.err"):format(type(raised))
end

--- Turns whatever was raised into an error object. A text (a program error) keeps its traceback in
-- `trace`. To be used as the handler of xpcall.
function M.from(raised)
  if err.is(raised) then return raised end
  local message = text_of(raised)
  local absent = message:match("^([^\n]*module '[^'\n]*' not found):\n")
  if absent then return err.new { code = "RTL-CLI-004", message = absent } end
  return err.new {
    code = "RTL-CLI-012", message = (message:gsub("\nstack traceback:.*", "")),
    trace = message:match("\n(stack traceback:.*)") or debug.traceback(nil, 3):gsub("^\n", ""),
  }
end

--- Calls f(...) protected: true and its results, or false and an error object, also when it was
-- interrupted.
function M.call(f, ...)
  return task.outermost(f, M.from, ...)
end

-- What the caller may not do: `denied` is set by rtl.aws on a refusal for lack of rights.
local function is_denied(e)
  return e.code:match("^RTL%-CRED%-") ~= nil or e.denied ~= nil or e.status == 401
    or e.status == 403
end

-- Not what the organization or a boundary stands against.
local function is_ours_to_allow(e)
  return e.denied ~= nil and not e.denied.explicit
    and (e.denied.by or "identity-based policy") == "identity-based policy"
end

--- Whether an error says that the caller's policies do not allow a call of AWS.
function M.denied(e)
  return err.find(e, function (x) return x.denied ~= nil end) ~= nil
end

--- Calls f(...), which only reads, and returns its results. What stops it is raised; it is a
-- refusal (exit code 5) if it is about what the caller may do.
function M.reading(f, ...)
  local results = table.pack(M.call(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local e = results[2]
  if err.find(e, is_denied) and not e.exit then e.exit = "refused" end
  error(e, 0)
end

--- Whether the error is a Ctrl-C.
function M.interrupted(e)
  return err.find(e, function (x) return x.code == "RTL-TASK-002" end) ~= nil
    or (e.code == "RTL-CLI-012" and e.message:match("interrupted$") ~= nil)
end

--- The name of the exit code that an error means: "failed", "usage", "refused", "interrupted" or
-- what the error says itself in `exit` (rtl.cli.exit has the numbers).
function M.exit_name(e)
  if M.interrupted(e) then return "interrupted" end
  local said = err.find(e, function (x) return x.exit ~= nil end)
  if said then return said.exit end
  if NOT_USAGE[e.code] then return NOT_USAGE[e.code] end
  if e.code == "RTL-FS-002" then return "refused" end
  if err.find(e, function (x) return ALSO_USAGE[x.code] end) then return "usage" end
  return USAGE[e.code:match("^RTL%-(%u+)%-") or ""] and "usage" or "failed"
end

local function fact_line(e)
  local facts = { e.code }
  if e.status then facts[#facts + 1] = "HTTP " .. e.status end
  if e.request_id then facts[#facts + 1] = "request " .. e.request_id end
  return ("%s (%s)"):format(e.message, table.concat(facts, ", "))
end

-- The chain from what was tried to why it failed, one line each.
local function chain(e, lines)
  local label = "why"
  while e ~= nil do
    if not err.is(e) then
      lines[#lines + 1] = { "cause", tostring(e) }
      break
    end
    if e.doing then lines[#lines + 1] = { "doing", e.doing } end
    -- A wrapper that adds only what was being done has nothing to say of its own.
    if not (e.cause and e.message == "failed") then
      lines[#lines + 1] = { label, fact_line(e) }
      label = "cause"
    end
    e = e.cause
  end
end

local function innermost(e, field)
  local found
  while err.is(e) do
    found = e[field] or found
    e = e.cause
  end
  return found
end

-- The code worth explaining: the innermost of our own, else the outermost.
local function code_of(e)
  local found
  local inner = e
  while err.is(inner) do
    if inner.code:match("^RTL%-") then found = inner.code end
    inner = inner.cause
  end
  return found
end

-- Where rtl calls a recipe or script: the frames from there on are the same for every error.
local CALLERS = { "lua/rtl/recipe/phases%.lua:", "lua/rtl/recipe/runner%.lua:",
  "lua/rtl/cli/main%.lua:" }
local GLUE = { "in function 'rtl%.[%w.]*outermost'", "lua/rtl/cancel%.lua:",
  "%(%.%.%.tail calls%.%.%.%)" }

local function matches(line, patterns)
  for _, pattern in ipairs(patterns) do
    if line:find(pattern) then return true end
  end
  return false
end

-- The lines of a traceback that tell of the error: up to where rtl called the code.
local function own_frames(trace)
  local all, own = {}, {}
  for line in trace:gmatch("[^\n]+") do all[#all + 1] = line end
  while all[#own + 1] and not matches(all[#own + 1], CALLERS) do own[#own + 1] = all[#own + 1] end
  while #own > 0 and matches(own[#own], GLUE) do own[#own] = nil end
  return #own > 1 and own or all -- the first line is no frame
end

--- The lines that show an error, as {label, text} pairs: doing, why, cause, try, explain, and the
-- traceback of a program error.
function M.lines(e)
  local lines = {}
  if e.problems then
    lines[1] = { "why", fact_line(e) }
    for _, problem in ipairs(e.problems) do
      lines[#lines + 1] = { "", tostring(problem.message) }
    end
  else
    chain(e, lines)
  end
  local hint = innermost(e, "hint")
  if hint then lines[#lines + 1] = { "try", hint } end
  if err.find(e, is_ours_to_allow) then
    lines[#lines + 1] = { "", "rtl recipes/deploy.lua --policy prints all that a deployment needs" }
  end
  local code = code_of(e)
  if code and code ~= "RTL-CLI-012" then lines[#lines + 1] = { "", "rtl explain " .. code } end
  local trace = innermost(e, "trace")
  for _, line in ipairs(own_frames(trace or "")) do
    lines[#lines + 1] = { "", (line:gsub("\t", "  ")) }
  end
  return lines
end

-- The lines of a text, wrapped to the screen; a list's keep their first column.
local function fitted(whole)
  local parts = {}
  for line in whole:gmatch "[^\n]+" do
    local lead = line:match "^%s*%S+%s%s+" or line:match "^%s*"
    for i, part in ipairs(text.wrap(line:sub(#lead + 1), WIDTH - #lead)) do
      parts[#parts + 1] = (i == 1 and lead or (" "):rep(#lead)) .. part
    end
  end
  return parts
end

--- The lines that show an error, ready for the screen.
function M.block(e)
  local block = {}
  for _, line in ipairs(M.lines(e)) do
    for i, part in ipairs(fitted(line[2])) do
      block[#block + 1] = ("  %-7s %s"):format(i == 1 and line[1] or "", part)
    end
  end
  return block
end

--- An error as one block of text, without secrets.
function M.text(e)
  return require("rtl.redact").text(table.concat(M.block(e), "\n"))
end

return M
