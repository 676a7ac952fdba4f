--- Why instances of a node group run and yet do not join: what their console says.

local crypto = require "rtl.native.crypto"
local err = require "rtl.err"

local M = {}

local LINES = 6

local function console(ctx, id)
  local answer = ctx:aws("ec2"):get_console_output { InstanceId = id }
  local text = answer and answer.Output and crypto.base64_decode(answer.Output)
  return text ~= "" and text or nil
end

-- Lines that name a cause; else the last ones.
local function telling(text)
  local marked, last = {}, {}
  for line in text:gmatch("[^\r\n]+") do
    last[#last + 1] = line
    local folded = line:lower()
    if folded:find("nodeadm", 1, true) or folded:find("error", 1, true)
      or folded:find("fail", 1, true) then
      marked[#marked + 1] = line
    end
  end
  local from = #marked > 0 and marked or last
  return table.concat(from, "\n", math.max(1, #from - LINES + 1))
end

local function hint_of(text)
  local folded = (text or ""):lower()
  if folded:find("nodeadm", 1, true) and folded:find("missing", 1, true) then
    return "The image expects a nodeadm config: own images need user data that gives it"
  elseif folded:find("timeout", 1, true) or folded:find("no route", 1, true) then
    return "The node can't reach the cluster: check NAT, routes and the cluster's private endpoint"
  end
  return "Check the node's route to the internet and its role"
end

--- The error of a group whose nodes do not join (health issue NodeCreationFailure).
function M.explain(ctx, res, live, issue)
  local id = issue.resourceIds and issue.resourceIds[1]
  local text = id and console(ctx, id)
  return err.new { code = "RTL-PLAN-018", doing = res.key, instance = id,
    message = ("%s: %s%s"):format(live.status, issue.message or issue.code,
      text and ("\nconsole of " .. id .. ":\n" .. telling(text)) or ""),
    hint = hint_of(text) }
end

return M
