--- AWS: sessions, clients and the token of an EKS cluster.

local clock = require "rtl.clock"
local check = require "rtl.aws.check"
local client = require "rtl.aws.client"
local configured = require "rtl.aws.configured"
local credentials = require "rtl.aws.credentials"
local crypto = require "rtl.native.crypto"
local endpoint = require "rtl.aws.endpoint"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local limiter = require "rtl.aws.limiter"
local model = require "rtl.aws.model"
local process = require "rtl.process"
local profiles = require "rtl.aws.profile"
local providers = require "rtl.aws.providers"
local secret = require "rtl.native.secret"

local M = {}

--- What an error code means (rtl.aws.errors).
M.errors = errors

--- The names of the services that rtl speaks to, sorted.
M.services = model.services

--- client(service, {region=, credentials=, endpoint=, …}) → client (rtl.aws.client)
-- A client without a session; `credentials` as rtl.aws.credentials makes them.
M.client = client.new

local session = { __name = "rtl.aws.session" }
session.__index = session

local variable = process.variable

local function region_of(options, profile)
  if options.region then return options.region, "argument" end
  for _, name in ipairs { "AWS_REGION", "AWS_DEFAULT_REGION" } do
    local region = variable(name)
    if region then return region, name end
  end
  if profile and (profile.region or "") ~= "" then return profile.region, "profile" end
  local region = providers.instance_region()
  if region then return region, "instance metadata" end
end

local function tls_of(profile)
  local file = variable "AWS_CA_BUNDLE" or profile and profile.ca_bundle
  return file and file ~= "" and { ca_file = file } or nil
end

-- One limiter for all clients of a session that ask the same service in the same region.
local function limiter_of(self, svc, region)
  local place = endpoint.resolve(svc, region)
  local key = svc.name .. " " .. (place and place.region or region)
  self.limiters[key] = self.limiters[key] or limiter.new(svc.rate)
  return self.limiters[key]
end

-- A client of the session's for `service`, with these credentials (nil: it signs nothing).
local function new_client(self, service, region, creds, url, decode)
  return client.new(service, {
    region = region, credentials = creds, endpoint = url, tls = self.tls, profile = self.settings,
    attempts = self.configured.attempts, mode = self.configured.mode, variant = self.configured,
    limiter = limiter_of(self, model.service(service), region), timeouts = self.timeouts,
    notice = self.notice, decode = decode,
  })
end

-- Calls an operation with what a person wrote into a profile: what does not fit is that profile's
-- fault, and no misuse of ours.
local function call_for(profile_of, service_client, operation, params)
  local problem = check.problem(service_client.service.ops[operation], params)
  if problem then
    return err.fail {
      code = "RTL-CRED-006",
      message = ("%s: %s: %s"):format(profile_of, problem.at, problem.text),
    }
  end
  return service_client:call(operation, params)
end

-- Why EC2 refused, if the caller may read it: nil when not.
local function decoder(self)
  return function (text)
    local answer = self:client("sts"):decode_authorization_message { EncodedMessage = text }
    return answer and answer.DecodedMessage
  end
end

-- Assumes a role for the chain: with keys, or unsigned with a web identity token.
local function assume(self, role)
  local sts = new_client(self, "sts", role.region or self.region,
    role.credentials and credentials.new(function () return role.credentials end), self.endpoint)
  local params = {
    RoleArn = role.role_arn, DurationSeconds = role.duration,
    RoleSessionName = role.session_name or ("rtl-%d"):format(math.floor(clock.utc())),
  }
  local operation = "assume_role"
  if role.token then
    params.WebIdentityToken, operation = role.token, "assume_role_with_web_identity"
  else
    params.ExternalId = role.external_id
    params.SerialNumber, params.TokenCode = role.mfa_serial, role.mfa_code
  end
  local answer, failure = call_for(role.source, sts, operation, params)
  if not answer then return nil, failure end
  local keys = answer.Credentials
  return {
    access_key_id = keys.AccessKeyId, secret_access_key = keys.SecretAccessKey,
    session_token = keys.SessionToken, expires = tonumber(keys.Expiration), source = role.source,
  }
end

-- The keys of a role for the token of an SSO login.
local function sso(self, role)
  local portal = new_client(self, "sso", role.region, nil, self.endpoint)
  local answer, failure = call_for(role.source, portal, "get_role_credentials", {
    accessToken = role.token, accountId = role.account, roleName = role.role,
  })
  if not answer then return nil, failure end
  local keys = answer.roleCredentials
  return {
    access_key_id = keys.accessKeyId, secret_access_key = keys.secretAccessKey,
    session_token = keys.sessionToken, source = role.source,
    expires = keys.expiration and keys.expiration / 1000, -- the portal counts milliseconds
  }
end

-- A new token of an SSO login for its refresh token.
local function create_token(self, login)
  local oidc = new_client(self, "sso_oidc", login.region, nil, self.endpoint)
  return oidc:create_token {
    clientId = login.client_id, clientSecret = login.client_secret, grantType = "refresh_token",
    refreshToken = login.refresh_token,
  }
end

-- New keys in the middle of a run must be of the account that it works in: a profile may hold
-- another's by now.
local function same_account(self, creds)
  if not self.known then return true end
  local sts = new_client(self, "sts", self.region,
    credentials.new(function () return creds end), self.endpoint)
  local answer, failure = sts:get_caller_identity()
  if not answer then return nil, failure end
  if answer.Account == self.known.account then return true end
  return err.fail {
    code = "RTL-CRED-013", renew = "put keys of account " .. self.known.account .. " there",
    message = ("the new keys from %s are of account %s, and this run works in %s"):format(
      creds.source, answer.Account, self.known.account),
    hint = "log in to the account where this run began, then run the same command again",
  }
end

-- Asks the person at the terminal; nil when there is none.
local function asker()
  if not (process.is_terminal(0) and process.is_terminal(2)) then return nil end
  return function (prompt)
    process.write(prompt, 2)
    return process.read_line()
  end
end

-- A table of keys, a provider, or the chain.
local function provider_of(self, options, name, chosen)
  local given = options.credentials
  if given and given.get then return given end
  if given then return credentials.static(given) end
  return credentials.chain {
    load = profiles.load, profile = name, chosen = chosen, explicit = options.profile ~= nil,
    cache = profiles.sso_cache(), assume = function (role) return assume(self, role) end,
    sso = function (role) return sso(self, role) end, ask = options.ask or asker(),
    create_token = function (login) return create_token(self, login) end,
    check = function (creds) return same_account(self, creds) end,
  }
end

local function settings_of(found, name)
  local profile = found.profile[name]
  if not profile then return nil end
  local settings = {}
  for key, text in pairs(profile) do settings[key] = text end
  settings.services = profile.services and found.services[profile.services] or nil
  return settings
end

--- session{region=, profile=, credentials=, endpoint=, ask=, timeouts=, notice=} → session
-- or nil, err.
-- Everything is optional: the region comes from the argument, AWS_REGION, AWS_DEFAULT_REGION, the
-- profile or the instance's metadata; credentials from the chain of the SDKs (rtl.aws.credentials),
-- or as a table {access_key_id, secret_access_key, session_token} or another session's credentials.
-- `ask` = fn(prompt) → text | nil asks a person, for MFA codes and new logins; without it the
-- terminal is asked, if there is one. Nothing is sent yet, but to the metadata when nobody else
-- names a region. `timeouts` and `notice` (told of a service that does not answer) are those of
-- M.client.
function M.session(options)
  options = options or {}
  local found, failure = profiles.load()
  if not found then return nil, failure end
  local name, chosen = profiles.chosen(options.profile)
  local settings = settings_of(found, name)
  local region, source = region_of(options, settings)
  if not region then
    return err.fail {
      code = "RTL-AWS-001", message = "no region",
      hint = "give --region, or set AWS_REGION or the profile's region",
    }
  end
  if not endpoint.is_region(region) then
    return err.fail {
      code = "RTL-AWS-002",
      message = ("'%s' (%s) is not the name of a region"):format(region, source),
    }
  end
  local choices
  choices, failure = configured.read(settings)
  if not choices then return nil, failure end
  local self = setmetatable({
    region = region, region_source = source, partition = endpoint.partition(region),
    profile = settings and name or nil, settings = settings, tls = tls_of(settings),
    configured = choices, endpoint = options.endpoint, clients = {}, limiters = {},
    timeouts = options.timeouts, notice = options.notice,
  }, session)
  self.credentials = provider_of(self, options, name, chosen)
  return self
end

--- session:client(service[, {region=, endpoint=}]) → client, the same one for the same arguments.
function session:client(service, options)
  local region = options and options.region or self.region
  local url = options and options.endpoint or self.endpoint
  local key = table.concat({ model.service(service).name, region, url }, " ")
  if not self.clients[key] then
    self.clients[key] = new_client(self, service, region, self.credentials, url,
      service ~= "sts" and decoder(self) or nil)
  end
  return self.clients[key]
end

--- session:confirm() → {account, arn, user_id, partition} | nil, err: asks STS who the caller is.
-- Keys that have ended are found out by it, and fetched anew.
function session:confirm()
  local answer, failure = self:client("sts"):get_caller_identity()
  if not answer then return nil, failure end
  if not (answer.Account and answer.Arn) then
    return err.fail { code = "RTL-AWS-003", doing = "sts:GetCallerIdentity",
      message = "the answer is not what the service sends: it names no account" }
  end
  self.known = {
    account = answer.Account, arn = answer.Arn, user_id = answer.UserId,
    partition = answer.Arn:match "^arn:([^:]+):" or self.partition,
  }
  return self.known
end

--- session:identity() → the same, asked once.
function session:identity()
  if self.known then return self.known end
  return self:confirm()
end

--- session:describe() → {source, profile, region, region_source, access_key_id, expires, account,
-- arn, partition} | nil, err: where the credentials came from and who the caller is.
function session:describe()
  local creds, failure = self.credentials:get()
  if not creds then return nil, failure end
  local who
  who, failure = self:identity()
  if not who then return nil, failure end
  return {
    source = creds.source, profile = creds.source:find "^profile " and self.profile or nil,
    region = self.region,
    region_source = self.region_source, access_key_id = creds.access_key_id,
    expires = creds.expires, account = who.account, arn = who.arn, partition = who.partition,
  }
end

-- EKS takes a token for 15 minutes after its date, whatever it says itself.
local TOKEN_SECONDS, TOKEN_LONGEST = 900, 4096

--- eks_token(session, cluster_name) → secret "k8s-aws-v1.…", expiry (unix seconds) | nil, err
-- A presigned GetCallerIdentity that names the cluster, which sends it; nothing is sent here. The
-- cluster knows the plain and the FIPS endpoint of its region. A dual-stack one, or one of the
-- user's own, it refuses: those are for this machine's calls only (`aws eks get-token` signs for
-- them, too, and such tokens are worth nothing).
function M.eks_token(of, cluster_name)
  local creds, failure = of.credentials:get()
  if not creds then return nil, failure end
  local place, nowhere = endpoint.resolve(model.service "sts", of.region, nil,
    { fips = of.configured.fips })
  if not place then return nil, nowhere end
  local now = clock.utc()
  local url = crypto.sigv4.presign {
    method = "GET", url = place.root .. "?Action=GetCallerIdentity&Version=2011-06-15",
    headers = { ["x-k8s-aws-id"] = cluster_name }, region = place.region, service = "sts",
    time = clock.amz(now), expires = 60, access_key_id = creds.access_key_id,
    secret_access_key = creds.secret_access_key, session_token = creds.session_token,
  }
  local token = secret.join("k8s-aws-v1.", crypto.base64url_encode(url))
  if #token > TOKEN_LONGEST then
    return err.fail {
      code = "RTL-AWS-009",
      message = ("the token for %s has %d bytes; EKS takes %d"):format(cluster_name, #token,
        TOKEN_LONGEST),
      hint = "use keys with a shorter session token (fewer session tags and policies)",
    }
  end
  return token, math.min(now + TOKEN_SECONDS, creds.expires or math.huge)
end

return M
