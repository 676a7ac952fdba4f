--- Refusals for lack of rights: which action on which resource, which kind of policy says no, and
-- what can be done about it. Services say it as text, EC2 sometimes encoded, or not at all.

local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local json = require "rtl.native.json"

local M = {}

local ENCODED = "%.?%s*Encoded authorization failure message: ([%w_%-=]+)"

-- EKS tries a launch with a node group's template, and says no more than that it was refused.
local LAUNCH = "not authorized to launch instances with this launch template"

--- Whether an error says that the caller may not do this.
function M.is(e)
  return err.is(e) and (errors.denied(e) or e.message:find(ENCODED) ~= nil
    or e.message:find(LAUNCH, 1, true) ~= nil)
end

-- "an identity-based policy", "a service control policy", "a permissions boundary": its kind.
local function kind_in(text)
  local kind = text:match "with an explicit deny in an? ([%a%s-]-policy)"
    or text:match "with an explicit deny in an? (permissions boundary)"
  if kind then return kind, true end
  return text:match "because no ([%a%s-]-policy) allows"
    or text:match "because no (permissions boundary) allows", false
end

--- What a text says: { action, resource, by (the kind of policy), explicit, encoded }, as far as it
-- says it.
function M.parse(text)
  local by, explicit = kind_in(text)
  return {
    action = text:match "not authorized to perform: ([%w-]+:%w+)",
    resource = text:match 'on resource: "?(arn:[^%s"]+)', by = by, explicit = explicit or nil,
    encoded = text:match(ENCODED),
  }
end

-- What sts:DecodeAuthorizationMessage gives, in the same form.
local function add_decoded(found, text)
  local decoded = json.decode(text or "")
  local context = type(decoded) == "table" and decoded.context
  if type(context) ~= "table" then return false end
  found.action = found.action or context.action
  found.resource = found.resource or context.resource
  if found.explicit == nil and decoded.explicitDeny then found.explicit = true end
  return found.action ~= nil
end

local function decode_hint(found, permission)
  return ("%s, or what it needs beside it, is not allowed to the caller; who may call "
    .. "sts:DecodeAuthorizationMessage can read which: aws sts decode-authorization-message "
    .. "--encoded-message %s"):format(permission, found.encoded)
end

local OTHERS = {
  ["service control policy"] = "a service control policy of the organization stands against %s: "
    .. "no policy of this account can allow it; ask those who administer the organization",
  ["permissions boundary"] = "the caller's permissions boundary does not hold %s: it must be in "
    .. "the boundary and in a policy",
  ["session policy"] = "the policy of this session does not hold %s: take the role without it, or "
    .. "with a wider one",
}

local function what(found)
  return found.action .. (found.resource and " on " .. found.resource or "")
end

--- What can be done about a refusal that parse() understood.
function M.hint(found)
  local other = OTHERS[found.by or ""]
  if other then return other:format(found.action) end
  if found.explicit then
    return ("a policy denies %s to the caller: what is denied can't be allowed beside it")
      :format(what(found))
  end
  return ("allow %s to the caller"):format(what(found))
end

-- What is known without any word of it: the action of the call itself.
local function assume(found, message, permission)
  if message:find(LAUNCH, 1, true) then
    found.action, found.assumed = "ec2:RunInstances", true
  elseif not found.encoded then
    found.action = permission
  end
end

local function shorten(message)
  return (message:gsub(ENCODED, ""))
end

--- Completes such an error: denied = { action, resource, by, explicit }, a message that names the
-- action and has no encoded part, and a hint. `permission` is the action of the call; `decode` a
-- function that gives the text of an encoded message, or nil.
function M.explain(e, permission, decode)
  local found = M.parse(e.message)
  if found.encoded and not found.action then add_decoded(found, decode(found.encoded)) end
  local said = found.action and e.message:find(found.action, 1, true)
  if not found.action then assume(found, e.message, permission) end
  e.denied = found
  if not found.action then
    e.hint, e.message = decode_hint(found, permission), shorten(e.message)
    return
  end
  e.message = shorten(e.message)
  if not said then e.message = ("%s (%s)"):format(e.message, what(found)) end
  e.hint = M.hint(found)
  if found.assumed then
    e.hint = "allow ec2:RunInstances, and ec2:CreateTags for it, through the launch template; "
      .. "with sts:DecodeAuthorizationMessage allowed, the next run says which"
  end
end

return M
