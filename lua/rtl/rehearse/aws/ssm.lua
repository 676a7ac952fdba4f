--- SSM parameters: those of the account, and the public ones with AMI ids.

local array = require "rtl.array"
local chance = require "rtl.rehearse.chance"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

local function public(call, name)
  if not name:find "^/aws/service/eks/optimized%-ami/[%d.]+/amazon%-linux%-2023/" then
    return nil
  end
  return { Name = name, Type = "String", Version = 7, DataType = "text",
           Value = "ami-0" .. chance.hex(16, 7, call.region.name, name),
           LastModifiedDate = 1795000000.0,
           ARN = ("arn:aws:ssm:%s::parameter%s"):format(call.region.name, name) }
end

local function find(call, name)
  return call.region.parameters:get(name) or public(call, name)
end

local function not_found(name)
  return fault.fail("ParameterNotFound", ("Parameter %s not found."):format(name))
end

function ops.get_parameter(call, p)
  local parameter = find(call, p.Name)
  if not parameter then return not_found(p.Name) end
  return { Parameter = parameter }
end

function ops.get_parameters(call, p)
  local found, invalid = array {}, array {}
  for _, name in ipairs(p.Names) do
    local parameter = find(call, name)
    if parameter then found[#found + 1] = parameter else invalid[#invalid + 1] = name end
  end
  return { Parameters = found, InvalidParameters = invalid }
end

function ops.put_parameter(call, p)
  local have = call.region.parameters:get(p.Name)
  if have and not p.Overwrite then
    return fault.fail("ParameterAlreadyExists", "The parameter already exists. To overwrite this "
                      .. "value, set the overwrite option in the request to true.")
  end
  if p.Name:find "^/?aws" or p.Name:find "^/?ssm" then
    return fault.fail("ValidationException", "Parameter name: can't be prefixed with \"aws\" or "
                      .. "\"ssm\" (case-insensitive).")
  end
  if p.Overwrite and p.Tags and #p.Tags > 0 then
    return fault.fail("ValidationException", "Invalid request: tags and overwrite can't be used "
                      .. "together.")
  end
  local version = have and have.Version + 1 or 1
  if not have then
    have = call.region.parameters:add(p.Name, { Name = p.Name, Tags = p.Tags or array {},
      DataType = p.DataType or "text", Type = p.Type or "String",
      ARN = ("arn:aws:ssm:%s:%s:parameter/%s"):format(call.region.name, call.account,
                                                      (p.Name:gsub("^/", ""))) })
  end
  have.Value, have.Version, have.LastModifiedDate = p.Value, version, call.world:second() + 0.0
  return { Version = version, Tier = "Standard" }
end

function ops.delete_parameter(call, p)
  if not call.region.parameters:get(p.Name) then return not_found(p.Name) end
  call.region.parameters:remove(p.Name)
  return {}
end

function ops.get_parameters_by_path(call, p)
  local prefix, list = p.Path:gsub("/$", "") .. "/", array {}
  for _, parameter in ipairs(call.region.parameters:all()) do
    local rest = parameter.Name:sub(1, #prefix) == prefix and parameter.Name:sub(#prefix + 1)
    if rest and (p.Recursive or not rest:find "/") then list[#list + 1] = parameter end
  end
  return { Parameters = list }
end

function ops.add_tags_to_resource(call, p)
  local have = call.region.parameters:get(p.ResourceId)
  if not have then return fault.fail("InvalidResourceId", "The resource ID isn't valid.") end
  require "rtl.rehearse.aws.ec2.common".set_tags(have.Tags, p.Tags)
  return {}
end

return M
