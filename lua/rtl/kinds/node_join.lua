--- Why instances of a node group run and yet do not become nodes of it: what Kubernetes says of the
-- node, else what the instance's console says.

local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local kube = require "rtl.kinds.kube"
local support = require "rtl.kinds.support"

local M = {}

local LINES = 6

-- The newest output where the type can tell it (Nitro), else what was kept after the start.
local function console(ctx, id)
  local answer = ctx:aws("ec2"):get_console_output { InstanceId = id, Latest = true }
    or ctx:aws("ec2"):get_console_output { InstanceId = id }
  local text = answer and answer.Output and crypto.base64_decode(answer.Output)
  return text ~= "" and text or nil
end

local UNREACHABLE = "The node can't reach the cluster: check NAT, routes and the cluster's private "
  .. "endpoint"

-- What a line of a console says, folded, in order of weight; seconds after the launch from which no
-- more is hoped for; the next step. (Every kernel's own first line has "io_timeout" in it.)
local SIGNS = {
  { "nodeadm.*missing config", 0,
    "The image expects a nodeadm config: own images need user data that gives it" },
  { "nodeadm.*fatal", 0, "nodeadm gives up: see its line of the console" },
  { "kubelet.*unauthorized", 900,
    "The cluster does not know the node's role: check its access entry" },
  { "i/o timeout", 900, UNREACHABLE }, { "timed out", 900, UNREACHABLE },
  { "deadline exceeded", 900, UNREACHABLE }, { "no route to host", 900, UNREACHABLE },
}

local function lines_of(text)
  local lines = {}
  for line in (text or ""):gmatch("[^\r\n]+") do lines[#lines + 1] = line end
  return lines
end

local function sign_of(text)
  local lines = lines_of(text)
  for _, sign in ipairs(SIGNS) do
    for _, line in ipairs(lines) do
      if line:lower():find(sign[1]) then return sign end
    end
  end
end

local function is_telling(line)
  local folded = line:lower()
  return folded:find("nodeadm", 1, true) or folded:find("error", 1, true)
    or folded:find("fail", 1, true) or sign_of(line)
end

-- Lines that name a cause; else the last ones.
local function telling(text)
  local last, marked = lines_of(text), {}
  for _, line in ipairs(last) do
    if is_telling(line) then marked[#marked + 1] = line end
  end
  local from = #marked > 0 and marked or last
  return table.concat(from, "\n", math.max(1, #from - LINES + 1))
end

local function nodes_of(ctx, group)
  local list = {}
  for _, node in ipairs(kube.glance(ctx, "Node",
    { labels = "eks.amazonaws.com/nodegroup=" .. group })) do
    list[support.tail(node.spec and node.spec.providerID) or ""] = node
  end
  return list
end

-- The instance became a node: both facts, since EKS tells only the second.
local function joined(res, group, issue, id, node)
  local ready, why = kube.condition(node, "Ready")
  local said = ("EKS marks the group %s: %s"):format(group.status, issue.message or issue.code)
  local name = ("node %s (%s) joined"):format(node.metadata.name, id)
  if ready then
    return err.new { code = "RTL-PLAN-018", doing = res.key, instance = id,
      message = ("%s and is Ready, yet %s"):format(name, said),
      hint = "User data of a launch template that has no AMI id of its own joins the node a second "
        .. "way, with other settings than EKS expects: take it out" }
  end
  return err.new { code = "RTL-PLAN-018", doing = res.key, instance = id,
    message = ("%s and is not Ready: %s; %s"):format(name, why or "no reason given", said),
    hint = "See the pods of vpc-cni and kube-proxy on that node" }
end

local function unjoined(res, said, id, text)
  local sign = sign_of(text)
  return err.new { code = "RTL-PLAN-018", doing = res.key, instance = id,
    message = said .. (text and ("\nconsole of " .. id .. ":\n" .. telling(text)) or ""),
    hint = sign and sign[3] or "Check the node's route to the internet and its role" }
end

--- The error of a group whose nodes do not join (health issue NodeCreationFailure). `group`: what
-- EKS says of it.
function M.explain(ctx, res, group, issue)
  local id = issue.resourceIds and issue.resourceIds[1]
  local node = id and nodes_of(ctx, group.nodegroupName)[id]
  if node then return joined(res, group, issue, id, node) end
  return unjoined(res, ("%s: %s"):format(group.status, issue.message or issue.code), id,
    id and console(ctx, id))
end

local function running(ctx, cluster, group)
  return ctx:aws("ec2"):all("describe_instances", { Filters = {
    support.filter("tag:eks:cluster-name", cluster),
    support.filter("tag:eks:nodegroup-name", group),
    support.filter("instance-state-name", "running") } }) or {}
end

--- The error of a group that will never be ACTIVE, since an instance of it says on its console why
-- it can't join; nil while there is hope. EKS itself gives up after 25 minutes.
function M.hopeless(ctx, res, cluster, group)
  local nodes, now = nodes_of(ctx, group.nodegroupName), clock.utc()
  for _, reservation in ipairs(running(ctx, cluster, group.nodegroupName)) do
    for _, one in ipairs(reservation.Instances or {}) do
      local text = not nodes[one.InstanceId] and console(ctx, one.InstanceId)
      local sign = text and sign_of(text)
      if sign and now - (one.LaunchTime or now) >= sign[2] then
        return unjoined(res, ("instance %s runs and does not join"):format(one.InstanceId),
          one.InstanceId, text)
      end
    end
  end
end

return M
