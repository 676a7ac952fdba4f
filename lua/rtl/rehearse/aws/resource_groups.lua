--- Resource Groups: groups of capacity reservations.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

local function need(call, p)
  local wanted = p.Group or p.GroupName
  local group = call.region.resource_groups:first(function (it)
    return it.Name == wanted or it.GroupArn == wanted
  end)
  if group then return group end
  return fault.fail("NotFoundException", "Cannot find group " .. tostring(wanted), 404)
end

function ops.create_group(call, p)
  if call.region.resource_groups:get(p.Name) then
    return fault.fail("BadRequestException", "group already exists: " .. p.Name)
  end
  local group = call.region.resource_groups:add(p.Name, { Name = p.Name,
    Description = p.Description, tags = p.Tags or {}, members = array {},
    Configuration = p.Configuration or array {},
    GroupArn = ("arn:aws:resource-groups:%s:%s:group/%s"):format(call.region.name, call.account,
                                                                p.Name) })
  return { Group = group, Tags = group.tags,
           GroupConfiguration = { Configuration = group.Configuration,
                                  Status = "UPDATE_COMPLETE" } }
end

function ops.get_group(call, p)
  local group, refused = need(call, p)
  return group and { Group = group }, refused
end

local function has_type(group, wanted)
  for _, item in ipairs(group.Configuration) do
    if item.Type == wanted then return true end
  end
  return false
end

local function passes(group, filters)
  for _, filter in ipairs(filters or {}) do
    local found = filter.Name ~= "configuration-type"
    for _, wanted in ipairs(filter.Values) do found = found or has_type(group, wanted) end
    if not found then return false end
  end
  return true
end

function ops.list_groups(call, p)
  local list, groups = array {}, array {}
  for _, group in ipairs(call.region.resource_groups:all()) do
    if passes(group, p.Filters) then
      groups[#groups + 1] = group
      list[#list + 1] = { GroupName = group.Name, GroupArn = group.GroupArn }
    end
  end
  return { GroupIdentifiers = list, Groups = groups }
end

function ops.delete_group(call, p)
  local group, refused = need(call, p)
  if not group then return nil, refused end
  call.region.resource_groups:remove(group.Name)
  return { Group = group }
end

function ops.get_group_configuration(call, p)
  local group, refused = need(call, p)
  if not group then return nil, refused end
  return { GroupConfiguration = { Configuration = group.Configuration,
                                  Status = "UPDATE_COMPLETE" } }
end

-- Why a thing can't be a member of a group of reservations, or nil.
local function unfit(call, arn)
  local item = call.region.reservations:get(arn:match "capacity%-reservation/(cr%-%x+)$")
  if not item then return "RESOURCE_NOT_FOUND", "The resource does not exist: " .. arn end
  if item.State ~= "active" then
    return "RESOURCE_NOT_SUPPORTED", "The reservation is " .. item.State
  end
end

function ops.group_resources(call, p)
  local group, refused = need(call, p)
  if not group then return nil, refused end
  local done, failed = array {}, array {}
  for _, arn in ipairs(p.ResourceArns) do
    local code, message = unfit(call, arn)
    if code then
      failed[#failed + 1] = { ResourceArn = arn, ErrorCode = code, ErrorMessage = message }
    else
      done[#done + 1] = arn
      table.insert(group.members, arn)
    end
  end
  return { Succeeded = done, Failed = failed, Pending = array {} }
end

function ops.ungroup_resources(call, p)
  local group, refused = need(call, p)
  if not group then return nil, refused end
  local gone, kept = {}, array {}
  for _, arn in ipairs(p.ResourceArns) do gone[arn] = true end
  for _, arn in ipairs(group.members) do
    if not gone[arn] then kept[#kept + 1] = arn end
  end
  group.members = kept
  return { Succeeded = p.ResourceArns, Failed = array {}, Pending = array {} }
end

function ops.list_group_resources(call, p)
  local group, refused = need(call, p)
  if not group then return nil, refused end
  local list, resources = array {}, array {}
  for i, arn in ipairs(group.members) do
    list[i] = { ResourceArn = arn, ResourceType = "AWS::EC2::CapacityReservation" }
    resources[i] = { Identifier = list[i] }
  end
  return { ResourceIdentifiers = list, Resources = resources, QueryErrors = array {} }
end

function ops.tag(call, p)
  local group, refused = need(call, { Group = p.Arn })
  if not group then return nil, refused end
  for key, value in next, p.Tags do group.tags[key] = value end
  return { Arn = p.Arn, Tags = group.tags }
end

function ops.get_tags(call, p)
  local group, refused = need(call, { Group = p.Arn })
  return group and { Arn = p.Arn, Tags = group.tags }, refused
end

return M
