--- EC2: launch templates and their versions.

local array = require "rtl.array"
local common = require "rtl.rehearse.aws.ec2.common"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

local TEMPLATE_FILTERS = { ["launch-template-name"] = "LaunchTemplateName",
                           ["create-time"] = "CreateTime" }

local function by_name(call, name)
  return call.region.launch_templates:first(function (it) return it.LaunchTemplateName == name end)
end

--- The template that LaunchTemplateId or LaunchTemplateName name, or nil and a fault.
function M.need(call, id, name)
  if id then
    return common.need(call.region.launch_templates, id, "InvalidLaunchTemplateId.NotFound",
                       "launch template ID")
  end
  local found = by_name(call, name)
  if found then return found end
  return fault.fail("InvalidLaunchTemplateName.NotFoundException", ("At least one of the launch "
    .. "templates specified in the request does not exist: %s"):format(tostring(name)))
end

--- The version of a template that a text names ("1", "$Latest", "$Default", nil = default).
function M.version(template, text)
  if text == "$Latest" then return template.versions[template.LatestVersionNumber] end
  if text == nil or text == "$Default" then
    return template.versions[template.DefaultVersionNumber]
  end
  return template.versions[math.tointeger(tonumber(text)) or 0]
end

local function names_known(call, names)
  local ids = {}
  for i, name in ipairs(names or {}) do
    local found, refused = M.need(call, nil, name)
    if not found then return nil, refused end
    ids[i] = found.LaunchTemplateId
  end
  return ids
end

function ops.describe_launch_templates(call, p)
  local ids, list, refused = p.LaunchTemplateIds
  if p.LaunchTemplateNames and #p.LaunchTemplateNames > 0 then
    ids, refused = names_known(call, p.LaunchTemplateNames)
    if not ids then return nil, refused end
  end
  list, refused = common.select(call.region.launch_templates, { ids = ids, filters = p.Filters,
    missing = "InvalidLaunchTemplateId.NotFound", known = TEMPLATE_FILTERS })
  return list and { LaunchTemplates = list }, refused
end

-- What is wrong with the data of a template by itself.
local function data_refusal(call, data)
  for _, interface in ipairs(data.NetworkInterfaces or {}) do
    local kind = interface.InterfaceType
    if kind and kind ~= "interface" and kind ~= "efa" and kind ~= "efa-only" then
      return fault.new("InvalidParameterValue", "Invalid interface type: " .. kind)
    end
    for _, id in ipairs(interface.Groups or {}) do
      if not call.region.security_groups:get(id) then
        return fault.new("InvalidGroup.NotFound", ("The security group '%s' does not exist")
                                                  :format(id))
      end
    end
  end
  if data.NetworkInterfaces and #data.NetworkInterfaces > 0 and data.SecurityGroupIds
    and #data.SecurityGroupIds > 0 then
    return fault.new("InvalidParameterCombination", "Network interfaces and an instance-level "
                     .. "security groups may not be specified on the same request")
  end
  return nil
end

local function new_version(call, template, data, description)
  local n = template.LatestVersionNumber + 1
  template.LatestVersionNumber = n
  template.versions[n] = { LaunchTemplateId = template.LaunchTemplateId, VersionNumber = n,
    LaunchTemplateName = template.LaunchTemplateName, VersionDescription = description,
    CreateTime = call.world:second(), CreatedBy = call.caller.arn, LaunchTemplateData = data }
  return template.versions[n]
end

--- Makes a template; `fields` may hold Tags and native.
function M.make(call, name, data, fields)
  local id = call.world:id "lt"
  local template = { LaunchTemplateId = id, LaunchTemplateName = name, Tags = array {},
    CreateTime = call.world:second(), CreatedBy = call.caller.arn, DefaultVersionNumber = 1,
    LatestVersionNumber = 0, versions = {} }
  for key, value in next, fields or {} do template[key] = value end
  call.region.launch_templates:add(id, template)
  new_version(call, template, data)
  return template
end

function ops.create_launch_template(call, p)
  local refused = common.wrong_tags(p, "launch-template")
                  or data_refusal(call, p.LaunchTemplateData)
  if refused then return nil, refused end
  if by_name(call, p.LaunchTemplateName) then
    return fault.fail("InvalidLaunchTemplateName.AlreadyExistsException",
                      "Launch template name already in use.")
  end
  local template = M.make(call, p.LaunchTemplateName, p.LaunchTemplateData,
                          { Tags = common.tags_for(p, "launch-template") })
  return { LaunchTemplate = template }
end

function ops.create_launch_template_version(call, p)
  local template, refused = M.need(call, p.LaunchTemplateId, p.LaunchTemplateName)
  if not template then return nil, refused end
  refused = data_refusal(call, p.LaunchTemplateData)
  if refused then return nil, refused end
  local data = p.LaunchTemplateData
  if p.SourceVersion then
    local source = M.version(template, p.SourceVersion)
    if not source then
      return fault.fail("InvalidLaunchTemplateId.VersionNotFound", "no such source version")
    end
    local merged = {}
    for key, value in next, source.LaunchTemplateData do merged[key] = value end
    for key, value in next, data do merged[key] = value end
    data = merged
  end
  return { LaunchTemplateVersion = new_version(call, template, data, p.VersionDescription) }
end

function ops.modify_launch_template(call, p)
  local template, refused = M.need(call, p.LaunchTemplateId, p.LaunchTemplateName)
  if not template then return nil, refused end
  local version = p.DefaultVersion and M.version(template, p.DefaultVersion)
  if not version then
    return fault.fail("InvalidLaunchTemplateId.VersionNotFound", ("Could not find the specified "
      .. "version %s for the launch template"):format(tostring(p.DefaultVersion)))
  end
  template.DefaultVersionNumber = version.VersionNumber
  return { LaunchTemplate = template }
end

function ops.describe_launch_template_versions(call, p)
  local template, refused = M.need(call, p.LaunchTemplateId, p.LaunchTemplateName)
  if not template then return nil, refused end
  local list = array {}
  local function add(version)
    local shown = {}
    for key, value in next, version do shown[key] = value end
    shown.DefaultVersion = version.VersionNumber == template.DefaultVersionNumber
    list[#list + 1] = shown
  end
  if p.Versions and #p.Versions > 0 then
    for _, text in ipairs(p.Versions) do
      local version = M.version(template, text)
      if not version then
        return fault.fail("InvalidLaunchTemplateId.VersionNotFound", ("Could not find the "
          .. "specified version %s for the launch template with ID %s")
          :format(text, template.LaunchTemplateId))
      end
      add(version)
    end
  else
    for n = template.LatestVersionNumber, 1, -1 do add(template.versions[n]) end
  end
  return { LaunchTemplateVersions = list }
end

function ops.delete_launch_template(call, p)
  local template, refused = M.need(call, p.LaunchTemplateId, p.LaunchTemplateName)
  if not template then return nil, refused end
  call.region.launch_templates:remove(template.LaunchTemplateId)
  return { LaunchTemplate = template }
end

return M
