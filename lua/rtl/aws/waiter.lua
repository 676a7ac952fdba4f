--- Waiters: polls a describe call until a state is reached, and knows the states that never will.

local clock = require "rtl.clock"
local err = require "rtl.err"

local M = {}

--- The names of a service's waiters, sorted.
function M.names(svc)
  local names = {}
  for name in pairs(svc.waiters or {}) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Appends to `found` what stands at a path such as "Reservations[].Instances[].State.Name".
local function collect(node, path, found)
  if node == nil then return found end
  local name, each, rest = path:match "^([%w_-]+)(%[?%]?)%.?(.*)$"
  if not name then
    found[#found + 1] = node
  elseif each == "[]" then
    for _, item in ipairs(type(node) == "table" and node[name] or {}) do
      collect(item, rest, found)
    end
  else
    collect(type(node) == "table" and node[name] or nil, rest, found)
  end
  return found
end

--- The values at `path` of an answer, as an array.
function M.values(answer, path)
  return collect(answer, path, {})
end

local function count_equal(values, wanted)
  local count = 0
  for _, v in ipairs(values) do
    if v == wanted then count = count + 1 end
  end
  return count
end

-- Whether a rule fits the answer or the error.
local function fits(rule, answer, e)
  if rule.error then return e ~= nil and e.code == rule.error end
  if rule.status then return (e and e.status or answer and 200) == rule.status end
  if not answer then return false end
  if rule.some then return #M.values(answer, rule.some) > 0 end
  local values = M.values(answer, rule.all or rule.any or rule.path)
  local equal = count_equal(values, rule.is)
  if rule.all then return #values > 0 and equal == #values end
  return equal > 0
end

local function verdict(rules, answer, e)
  for _, rule in ipairs(rules) do
    if fits(rule, answer, e) then return rule[1], rule end
  end
end

local function failed(rules, name, rule, answer, e)
  return err.fail {
    code = "RTL-AWS-004", doing = "wait for " .. name, answer = answer, cause = e,
    message = rule.is and ("%s: %s is %s"):format(rules.op, rule.all or rule.any or rule.path,
      tostring(rule.is)) or ("%s: %s"):format(rules.op, rule.error or rule.status),
  }
end

--- Polls `ask()` → answer | nil, err by a waiter's rules; `sleep(seconds)` waits between.
-- Returns the last answer (true when success is an error), or nil and an error.
function M.run(rules, name, options, sleep, ask)
  local delay = options.delay or rules.delay
  local until_time = clock.mono() + (options.timeout or rules.delay * rules.tries)
  while true do
    local answer, e = ask()
    local state, rule = verdict(rules, answer, e)
    if state == "success" then return answer or true end
    if state == "failure" then return failed(rules, name, rule, answer, e) end
    if e and state ~= "retry" then return nil, e end
    if clock.mono() + delay > until_time then
      return err.fail {
        code = "RTL-AWS-005", doing = "wait for " .. name, answer = answer, cause = e,
        message = "it took longer than " .. (options.timeout or rules.delay * rules.tries) .. " s",
      }
    end
    sleep(delay)
  end
end

return M
