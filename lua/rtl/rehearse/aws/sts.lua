--- STS: who calls, and sessions of roles.

local chance = require "rtl.rehearse.chance"
local fault = require "rtl.rehearse.aws.fault"

local M = { operations = {} }
local ops = M.operations

function ops.get_caller_identity(call)
  return { Account = call.account, Arn = call.caller.arn, UserId = call.caller.user_id }
end

function ops.assume_role(call, p)
  local role = call.aws.iam.roles:first(function (it) return it.Arn == p.RoleArn end)
  if not role then
    return fault.fail("AccessDenied", ("User: %s is not authorized to perform: sts:AssumeRole on "
                                       .. "resource: %s"):format(call.caller.arn, p.RoleArn), 403)
  end
  local n = call.world:count "session"
  local id = "ASIARTLSESSION" .. ("%06d"):format(n)
  local seconds = p.DurationSeconds or 3600
  local keys = { access_key_id = id,
    secret_access_key = chance.hex(40, call.world.seed, "session secret", n),
    session_token = "RTL" .. chance.hex(80, call.world.seed, "session", n),
    expires = call.world:now() + seconds, principal = role.Arn, user_id = role.RoleId,
    arn = ("arn:aws:sts::%s:assumed-role/%s/%s"):format(call.account, role.RoleName,
                                                        p.RoleSessionName) }
  call.world.keys_of[id] = keys
  return { Credentials = { AccessKeyId = id, SecretAccessKey = keys.secret_access_key,
             SessionToken = keys.session_token, Expiration = math.floor(keys.expires) },
           AssumedRoleUser = { Arn = keys.arn,
                               AssumedRoleId = role.RoleId .. ":" .. p.RoleSessionName } }
end

function ops.decode_authorization_message(call, p)
  local text = require "rtl.rehearse.rights.refusal".decode(call.world, p.EncodedMessage)
  if text then return { DecodedMessage = text } end
  return fault.fail("InvalidAuthorizationMessageException", "The specified authorization message "
                    .. "is invalid.", 400)
end

return M
