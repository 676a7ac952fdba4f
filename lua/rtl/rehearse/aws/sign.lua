--- Signatures: every signed request is signed again with the account's secret and compared.

local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local fault = require "rtl.rehearse.aws.fault"
local secret = require "rtl.native.secret"

local M = {}

local SKEW = 300

local function parse(header)
  local id, date, region, service = header
    :match "^AWS4%-HMAC%-SHA256 Credential=([^/]+)/(%d+)/([^/]+)/([^/]+)/aws4_request"
  local signed = header:match "SignedHeaders=([^,%s]+)"
  return id and signed and { id = id, date = date, region = region, service = service,
                             signed = signed }
end

-- The headers that the signature covers, less those that signing adds.
local ADDED = { host = true, ["x-amz-date"] = true, ["x-amz-security-token"] = true,
                ["x-amz-content-sha256"] = true }

local function covered(request, signed)
  local headers = {}
  for name in signed:gmatch "[^;]+" do
    if not ADDED[name] then headers[#headers + 1] = { name, request.headers[name] or "" } end
  end
  return headers
end

local function expected(request, scope, keys)
  local headers = request.headers
  local payload = headers["x-amz-content-sha256"]
  local added = crypto.sigv4.sign {
    method = request.method, url = request.text, headers = covered(request, scope.signed),
    body = request.body, payload_hash = payload == "UNSIGNED-PAYLOAD" and payload or nil,
    region = scope.region, service = scope.service, time = headers["x-amz-date"],
    access_key_id = scope.id, secret_access_key = keys.secret_access_key,
    session_token = keys.session_token, content_sha256 = payload ~= nil,
  }
  for _, pair in ipairs(added) do
    if pair[1]:lower() == "authorization" then return secret.reveal(pair[2]) end
  end
end

local function wrong_scope(svc, region, scope)
  local fixed = svc.hosts and svc.hosts.aws
  local want = fixed and fixed.region or region
  if scope.region ~= want or scope.service ~= svc.signing then
    return fault.new("SignatureDoesNotMatch", ("Credential should be scoped to a valid region, not "
                     .. "'%s', and to the service '%s'."):format(scope.region, svc.signing))
  end
  return nil
end

local function code_for(svc, query, json)
  return (svc.protocol == "json" or svc.protocol == "rest-json") and json or query
end

--- Nil if a request may pass, else the fault: no or wrong signature, unknown key, too old.
function M.refusal(world, svc, region, request)
  local header = request.headers.authorization
  if not header then
    if svc.name == "sts" and request.body:find("Action=AssumeRoleWithWebIdentity", 1, true) then
      return nil
    end
    return fault.new(code_for(svc, "MissingAuthenticationToken",
                              "MissingAuthenticationTokenException"),
                     "Request is missing Authentication Token", 403)
  end
  local scope = parse(header)
  if not scope then
    return fault.new("IncompleteSignature", "the Authorization header can not be read", 400)
  end
  local keys = world.keys_of[scope.id]
  if not keys then
    return fault.new(code_for(svc, svc.name == "ec2" and "AuthFailure" or "InvalidClientTokenId",
                              "UnrecognizedClientException"),
                     "The security token included in the request is invalid.", 403)
  end
  if (keys.session_token or "") ~= (request.headers["x-amz-security-token"] or "") then
    return fault.new(code_for(svc, "InvalidClientTokenId", "UnrecognizedClientException"),
                     "The security token included in the request is invalid.", 403)
  end
  if keys.expires and world:now() > keys.expires then
    world:struck "expired-keys"
    return fault.new(code_for(svc, svc.name == "ec2" and "RequestExpired" or "ExpiredToken",
                              "ExpiredTokenException"),
                     "The security token included in the request is expired", 400)
  end
  local at = clock.parse_iso(request.headers["x-amz-date"] or "")
  if not at or math.abs(at - world:now()) > SKEW then
    if world.sky["clock-skew"] then world:struck "clock-skew" end
    local code = svc.name == "ec2" and "RequestExpired" or "SignatureDoesNotMatch"
    return fault.new(code_for(svc, code, "InvalidSignatureException"),
                     ("Signature not yet current or expired: %s"):format(
                      tostring(request.headers["x-amz-date"])))
  end
  local wrong = wrong_scope(svc, region, scope)
  if wrong then return wrong end
  if expected(request, scope, keys) ~= header then
    return fault.new(code_for(svc, svc.name == "ec2" and "AuthFailure" or "SignatureDoesNotMatch",
                              "InvalidSignatureException"),
                     "The request signature we calculated does not match the signature you "
                     .. "provided.", 403)
  end
  return nil
end

return M
