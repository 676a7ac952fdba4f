--- How AWS' services say that a caller may not do something, and what they encode in it.

local chance = require "rtl.rehearse.chance"
local crypto = require "rtl.native.crypto"
local fault = require "rtl.rehearse.aws.fault"
local json = require "rtl.native.json"

local M = {}

-- Why, in the words of IAM's user guide ("Troubleshoot access denied error messages").
local WHY = {
  ["no identity"] = "because no identity-based policy allows the %s action",
  ["deny identity"] = "with an explicit deny in an identity-based policy",
  ["no scp"] = "because no service control policy allows the %s action",
  ["deny scp"] = "with an explicit deny in a service control policy",
}

local function why_text(check)
  return (WHY[check.why]:gsub("%%s", check.action))
end

-- The same bytes for encoding and decoding, from the world's seed.
local function scramble(world, bytes)
  local stream = chance.bytes(#bytes, world.seed, "authorization message")
  local out = {}
  for i = 1, #bytes do out[i] = string.char(bytes:byte(i) ~ stream:byte(i)) end
  return table.concat(out)
end

--- What sts:DecodeAuthorizationMessage makes of an encoded message: JSON text, or nil.
function M.decode(world, text)
  local bytes = crypto.base64url_decode(text)
  local plain = bytes and scramble(world, bytes)
  return plain and plain:find '^{"allowed":' and plain or nil
end

local function encoded(world, caller, check)
  local conditions = {}
  for key, value in pairs(check.keys) do
    conditions[#conditions + 1] = { key = key, values = { items = { { value = value } } } }
  end
  table.sort(conditions, function (a, b) return a.key < b.key end)
  return crypto.base64url_encode(scramble(world, json.encode {
    allowed = false, explicitDeny = check.why:find "^deny" ~= nil,
    matchedStatements = { items = {} }, failures = { items = {} },
    context = { principal = { id = caller.user_id, arn = caller.arn }, action = check.action,
      resource = check.arn, conditions = { items = conditions } } }))
end

local function who(caller, check, quote)
  local on = check.arn == "*" and "" or (" on resource: %s%s%s"):format(quote, check.arn, quote)
  return ("User: %s is not authorized to perform: %s%s"):format(caller.arn, check.action, on)
end

-- EC2 encodes the circumstances of what it refuses to change.
local function ec2(world, caller, check, op)
  local text = ("You are not authorized to perform this operation. %s %s"):format(
    who(caller, check, ""), why_text(check))
  if not op.reads then
    text = ("%s. Encoded authorization failure message: %s"):format(text,
      encoded(world, caller, check))
  end
  return fault.new("UnauthorizedOperation", text, 403)
end

-- EKS keeps EC2's refusal of the launch that it tried to itself, but for the encoded part.
local function launch(world, caller, check)
  return fault.new("InvalidRequestException", "You are not authorized to launch instances with "
    .. "this launch template. Encoded authorization failure message: "
    .. encoded(world, caller, check), 400)
end

local CODES = { json = { "AccessDeniedException", 400 },
  ["rest-json"] = { "AccessDeniedException", 403 }, awsquery = { "AccessDenied", 403 },
  ["rest-xml"] = { "AccessDenied", 403 } }

--- The fault for a check { action, arn, keys, why, form } of an operation that was not passed.
function M.of(world, caller, op, check)
  if check.form == "launch" then return launch(world, caller, check) end
  if op.service.protocol == "ec2query" then return ec2(world, caller, check, op) end
  local code = CODES[op.service.protocol]
  local quote = op.service.name == "s3" and '"' or ""
  return fault.new(code[1], who(caller, check, quote) .. " " .. why_text(check), code[2])
end

return M
