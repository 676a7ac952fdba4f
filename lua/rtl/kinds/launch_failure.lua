--- What EC2 and EKS mean when instances do not start: the text of a scaling activity or of a node
-- group's health issue, sorted into a cause with a code and a next step. These causes reach us as
-- text only; everything else branches on codes.

local denial = require "rtl.aws.denial"
local err = require "rtl.err"

local M = {}

-- In order: the first that is found in the text decides.
local CLASSES = {
  { "VcpuLimitExceeded", "quota" }, { "vCPU limit", "quota" }, { "vCPU capacity than", "quota" },
  { "InstanceLimitExceeded", "quota" }, { "MaxSpotInstanceCountExceeded", "quota" },
  { "InsufficientInstanceCapacity", "capacity" }, { "do not have sufficient", "capacity" },
  { "UnfulfillableCapacity", "capacity" }, { "ReservationCapacityExceeded", "reservation" },
  { "insufficient capacity", "capacity" }, { "InsufficientCapacity", "capacity" },
  { "not supported in your requested Availability Zone", "capacity" },
  { "is not supported in", "capacity" },
  { "InsufficientFreeAddressesInSubnet", "addresses" },
  { "UnauthorizedOperation", "permission" }, { "not authorized", "permission" },
  { "AccessDenied", "permission" }, { "explicit deny", "permission" },
  { "AttachmentLimitExceeded", "template" }, { "InvalidParameter", "template" },
  { "network card", "template" }, { "InvalidSecurityGroup", "template" },
  { "Client.InternalError", "key" }, { "Client.InvalidKMSKey", "key" },
}

--- The class of a text: "capacity", "quota", "reservation", "addresses", "permission", "template",
-- "key" or "other".
function M.class(text)
  local folded = text:lower()
  for _, row in ipairs(CLASSES) do
    if folded:find(row[1]:lower(), 1, true) then return row[2] end
  end
  return "other"
end

-- How EC2 and EKS (two wordings) name the zone that was wanted, and the others.
local WANTED = { "Availability Zone you requested %(([%w-]+)%)",
  "requested Availability Zone %(([%w-]+)%)", "control plane instances in ([%w-]+)",
  "because ([%w-]+), the targeted availability zone" }
local OTHERS = { "choosing ([%w%-, ]+)", "availability zones: ([%w%-, ]+)" }

local function first_match(text, patterns)
  for _, pattern in ipairs(patterns) do
    local found = text:match(pattern)
    if found then return found end
  end
end

--- What a text about a zone that can't be had says of zones: the wanted one (or nil) and an array
-- of others that can.
function M.zones(text)
  local others = {}
  for zone in (first_match(text, OTHERS) or ""):gmatch("[a-z]+%-[a-z%-]+%-%d+[a-z]") do
    others[#others + 1] = zone
  end
  return first_match(text, WANTED), others
end

--- The vCPU limit that a quota text names, or nil.
function M.limit(text)
  return math.tointeger(tonumber(text:match("vCPU limit of (%d+)")))
end

local MAKE = {}

function MAKE.capacity(text)
  local zone, zones = M.zones(text)
  return { code = "RTL-CAP-003", message = "no capacity: " .. text, replan = true,
    zone_name = zone, zones = zones,
    hint = zones[1] and ("EC2 says that there is some in " .. table.concat(zones, ", ")) or nil }
end

function MAKE.quota(text)
  local limit = M.limit(text)
  return { code = "RTL-CAP-007", limit = limit, exit = "refused",
    message = (limit and "the vCPU quota is %d: %s" or "a quota is used up: %s")
      :format(table.unpack(limit and { limit, text } or { text })) }
end

function MAKE.reservation(text)
  return { code = "RTL-CAP-005", message = "the reservation has too few free: " .. text,
    hint = "See what else runs in it, or ask for fewer nodes" }
end

function MAKE.addresses(text)
  return { code = "RTL-PLAN-017", message = "the subnet has too few free addresses: " .. text,
    hint = "Give a network with larger subnets, or free addresses in this one" }
end

-- Launches are made by a role of AWS, which has the rights for them: what stands against it is not
-- the caller's.
local WHOSE = "instances are started by AWS' own role for Auto Scaling: look for a service control "
  .. "policy, or a KMS key for volumes that does not let it in"

function MAKE.permission(text, decode)
  local failure = err.new { code = "UnauthorizedOperation", exit = "refused", message = text }
  denial.explain(failure, "ec2:RunInstances", decode)
  local found = failure.denied
  if found.action and (found.by or "identity-based policy") == "identity-based policy" then
    found.by, failure.hint = "role of AWS", WHOSE
  end
  failure.action = found.action
  return failure
end

function MAKE.template(text)
  return { code = "RTL-PLAN-017", message = "the launch template is refused: " .. text,
    hint = "rtl recipes/deploy.lua --plan --out DIR writes it, to be read beside the message" }
end

-- EC2's own words for a disk whose key Auto Scaling may not use: the account's default EBS key is
-- one of its own then.
function MAKE.key(text)
  return { code = "RTL-PLAN-017", message = "the disk's encryption key can't be used: " .. text,
    hint = "Let AWSServiceRoleForAutoScaling use the account's EBS key (key policy and grant), or "
      .. "make aws/ebs the default key again" }
end

function MAKE.other(text)
  return { code = "RTL-PLAN-017", message = text }
end

local function nothing() end

--- The error for such a text. `decode` gives the text of an encoded authorization message, or nil
-- (default: never). err.class is its class; for no capacity err.replan is true and
-- err.zones has what EC2 offers instead; for a quota err.limit.
function M.explain(text, doing, decode)
  local class = M.class(text)
  local fields = MAKE[class](text, decode or nothing)
  fields.class, fields.doing = class, doing
  return err.is(fields) and fields or err.new(fields)
end

return M
