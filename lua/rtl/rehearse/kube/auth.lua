--- Who asks a cluster: the EKS bearer token, checked as aws-iam-authenticator does, and what the
-- access entries of the cluster grant to that principal.

local answer = require "rtl.rehearse.kube.answer"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local http = require "rtl.rehearse.http"
local secret = require "rtl.native.secret"

local M = {}

local PREFIX, VALID, LONGEST = "k8s-aws-v1.", 900, 4096

local ALLOWED = {}
for name in ([[Action Version X-Amz-Algorithm X-Amz-Credential X-Amz-Date X-Amz-Expires
               X-Amz-Security-Token X-Amz-Signature X-Amz-SignedHeaders]]):gmatch "%S+" do
  ALLOWED[name] = true
end

local function parameters_of(url)
  if url.scheme ~= "https" or url.path ~= "/"
    or not url.host:find "^sts[%w.-]*%.amazonaws%.com$" then
    return nil, "unexpected STS URL"
  end
  local query, repeated = http.table_of(url.query)
  if repeated[1] then return nil, "repeated query parameter" end
  for name in pairs(query) do
    if not ALLOWED[name] then return nil, "non-whitelisted query parameter " .. name end
  end
  if query.Action ~= "GetCallerIdentity" then return nil, "unexpected action" end
  local expires = tonumber(query["X-Amz-Expires"])
  if not expires or expires < 0 or expires > VALID then return nil, "invalid X-Amz-Expires" end
  return query
end

local function signature_ok(world, url, query, cluster_name)
  local id, date, region, service = (query["X-Amz-Credential"] or "")
    :match "^([^/]+)/(%d+)/([^/]+)/([^/]+)/aws4_request$"
  local keys = world.keys_of[id or ""]
  if not keys or service ~= "sts" or not (query["X-Amz-SignedHeaders"] or "")
    :find("x-k8s-aws-id", 1, true) then
    return nil
  end
  if (query["X-Amz-Date"] or ""):sub(1, 8) ~= date then return nil end
  local signed = crypto.sigv4.presign {
    method = "GET", headers = { ["x-k8s-aws-id"] = cluster_name }, region = region,
    service = "sts", time = query["X-Amz-Date"], expires = tonumber(query["X-Amz-Expires"]),
    url = ("https://%s/?Action=GetCallerIdentity&Version=%s"):format(url.host, query.Version),
    access_key_id = id, secret_access_key = keys.secret_access_key,
    session_token = query["X-Amz-Security-Token"],
  }
  local want = secret.reveal(signed):match "X%-Amz%-Signature=(%x+)$"
  return want == query["X-Amz-Signature"]
     and (keys.session_token or "") == (query["X-Amz-Security-Token"] or "") and keys
end

-- The principal behind a token, or nil and why the token is refused.
local function principal_of(world, token, cluster_name)
  if token:sub(1, #PREFIX) ~= PREFIX or #token > LONGEST then return nil, "no EKS token" end
  local text = crypto.base64url_decode(token:sub(#PREFIX + 1))
  local url = text and http.split(text)
  if not url then return nil, "token can not be decoded" end
  local query, why = parameters_of(url)
  if not query then return nil, why end
  local at = clock.parse_iso(query["X-Amz-Date"] or "")
  if not at or world:now() > at + VALID or world:now() < at - VALID then
    return nil, "token is expired"
  end
  local keys = signature_ok(world, url, query, cluster_name)
  if not keys then return nil, "signature does not match" end
  if keys.expires and world:now() > keys.expires then return nil, "its keys have expired" end
  return keys.principal
end

local function unauthorized()
  return answer.failure(401, "Unauthorized")
end

-- Access entries reach the API server some time after they were made.
local function not_known_yet(world, kube)
  local late = world.sky["late-access"]
  if not late or world:age() - kube.since >= late.seconds then return false end
  world:struck "late-access"
  return true
end

--- Nil if the bearer of an Authorization header may use the cluster, else the answer that refuses.
function M.check(world, kube, header)
  local token = (header or ""):match "^Bearer (.+)$"
  if not token then return unauthorized() end
  local good = kube.good_tokens[token]
  if good and good > world:now() then return nil end
  local principal = principal_of(world, token, kube.name)
  if not principal then return unauthorized() end
  if not kube.admits(principal) or not_known_yet(world, kube) then return unauthorized() end
  kube.good_tokens[token] = world:now() + 60
  return nil
end

return M
