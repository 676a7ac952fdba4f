--- `rtl help aws.SERVICE[.OPERATION]`: what a call takes and gives, from its operation table.

local exit = require "rtl.cli.exit"
local keys = require "rtl.keys"
local model = require "rtl.aws.model"
local output = require "rtl.cli.output"
local text = require "rtl.recipe.text"

local M = {}

local WORDS = {
  int = "integer", float = "number", bool = "true or false", blob = "string of bytes",
  time = "time (unix seconds or ISO 8601)", token = "string, made up when left out",
  json = "table or JSON text", urljson = "table or JSON text",
}

local function bounds(shape)
  if not shape.min then return "" end
  if shape.kind == "string" then return (", %d to %d characters"):format(shape.min, shape.max) end
  return (", %d to %d"):format(shape.min, shape.max)
end

-- A shape in words, and the structure under it that has members to show.
local function described(shape)
  if shape.kind == "structure" then return "table", shape end
  if shape.kind == "list" then
    local word, inner = described(shape.member)
    return "list of " .. (inner == shape.member and "tables" or word), inner
  elseif shape.kind == "map" then
    local word, inner = described(shape.member)
    return "map of names to " .. word, inner
  elseif shape.enum then
    return table.concat(shape.enum, " | ")
  end
  return (WORDS[shape.kind] or shape.kind) .. (shape.max and bounds(shape) or "")
end

-- A time that is given has its text beside it, where the service writes text.
local function given_time(member)
  if member.shape.format == "unix" then return "time (unix seconds)" end
  return ("time (unix seconds; %s_text as it was written)"):format(member.name)
end

-- Adds a line for each member. `above`: the structures that this one stands in; `gives`: they are
-- those of an answer.
local function add_members(shape, indent, above, lines, gives)
  for _, member in ipairs(shape.members) do
    local word, inner = described(member.shape)
    if gives and member.shape.kind == "time" then word = given_time(member) end
    if inner and above[inner] then word = word .. " as above" end
    local name = (" "):rep(indent) .. member.name .. (member.required and " !" or "")
    for i, part in ipairs(text.wrap(word, math.max(30, 96 - math.max(32, #name + 2)))) do
      lines[#lines + 1] = ("%-32s  %s"):format(i == 1 and name or "", part)
    end
    if inner and not above[inner] then
      above[inner] = true
      add_members(inner, indent + 2, above, lines, gives)
      above[inner] = nil
    end
  end
end

local function repeating(op)
  if op.once then return "Sent once only: after a lost answer, look before doing it again." end
  if op.token then return "May be sent again with its " .. op.token .. "." end
  return op.reads and "Only reads." or "May be sent again: a second time does no harm."
end

--- The lines of an operation's page.
function M.operation(op)
  local lines = {
    ("aws.%s.%s"):format(op.service.name, op.key), "  IAM action " .. op.permission, "",
    ("  client:%s{…} → table | nil, err"):format(op.key),
    "  " .. repeating(op),
  }
  if op.page then
    lines[#lines + 1] = ('  In pages: client:all("%s", {…})'):format(op.key)
  end
  for _, part in ipairs { { "Takes (! must be given):", op.input }, { "Gives:", op.output } } do
    lines[#lines + 1] = "\n" .. part[1]
    if #part[2].members == 0 then lines[#lines + 1] = "  nothing" end
    add_members(part[2], 2, {}, lines, part[2] == op.output)
  end
  return lines
end

-- The lines of a service's page.
local function service_page(svc)
  local lines = { ("aws.%s: %s"):format(svc.name, svc.id), "\nOperations:" }
  for _, line in ipairs(text.wrap(table.concat(model.operations(svc), " "), 96)) do
    lines[#lines + 1] = "  " .. line
  end
  if next(svc.waiters or {}) then
    lines[#lines + 1] = "\nWaiters (client:wait):"
    for _, line in ipairs(text.wrap(table.concat(keys.sorted(svc.waiters), " "), 96)) do
      lines[#lines + 1] = "  " .. line
    end
  end
  lines[#lines + 1] = ("\nMembers of one: rtl help aws.%s.OPERATION"):format(svc.name)
  return lines
end

--- The lines for a word like "aws.ec2" or "aws.ec2.describe_vpcs"; nil when it is none of these,
-- and then the words that are, nearest candidates for a misspelt one.
function M.lines(word)
  local service, key = word:match "^aws%.([%w_-]+)%.?([%w_]*)$"
  if not service then return nil end
  service = service:gsub("-", "_") -- as the AWS CLI and session:client() take it
  for _, name in ipairs(model.services()) do
    if name == service then
      local svc = model.service(name)
      if key == "" then return service_page(svc) end
      if svc.ops[key] then return M.operation(svc.ops[key]) end
      local known = {}
      for i, other in ipairs(model.operations(svc)) do known[i] = "aws." .. name .. "." .. other end
      return nil, known
    end
  end
  local known = {}
  for i, name in ipairs(model.services()) do known[i] = "aws." .. name end
  return nil, known
end

--- Writes the page of a word. Returns the exit code, or nil and the nearest candidates.
function M.page(word)
  local lines, known = M.lines(word)
  if not lines then return nil, known end
  output.lines(lines)
  return exit.done
end

return M
