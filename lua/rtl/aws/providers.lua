--- Where credentials come from. Each function returns credentials; nil, nil and why not when its
-- place is not configured; or nil and an error.

local clock = require "rtl.clock"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local nearest = require "rtl.nearest"
local process = require "rtl.process"
local secret = require "rtl.native.secret"
local sso = require "rtl.aws.sso"
local wire = require "rtl.wire"

local M = {}

local SECRETS = { secret = { "SecretAccessKey", "SessionToken", "Token" } }

local variable = process.variable

local function hidden(text)
  if text == nil or text == "" then return nil end
  return secret.is(text) and text or secret.new(text)
end

-- When keys end, of the text that came with them: none or an empty one is never. What can't be
-- read is not taken for never: the keys would end unnoticed.
local function end_of(text, source)
  if type(text) ~= "string" or text == "" then return nil end
  local at = clock.parse_iso((text:gsub("^([%d-]+) ", "%1T"))) -- as Python prints it, too
  if at then return at end
  return err.fail {
    code = "RTL-CRED-004", message = ("the keys from %s end at '%s', which is no time")
      :format(source, text),
    hint = "it is written like 2026-12-01T10:00:00Z",
  }
end

--- AWS_ACCESS_KEY_ID and its companions. An empty variable is an unset one.
function M.environment()
  local id, key = variable "AWS_ACCESS_KEY_ID", variable "AWS_SECRET_ACCESS_KEY"
  if not id then return nil, nil, "environment: AWS_ACCESS_KEY_ID is not set" end
  if not key then
    return err.fail { code = "RTL-CRED-003", message = "AWS_SECRET_ACCESS_KEY is not set" }
  end
  local expires, failure = end_of(variable "AWS_CREDENTIAL_EXPIRATION",
    "environment (AWS_CREDENTIAL_EXPIRATION)")
  if failure then return nil, failure end
  return {
    access_key_id = id, secret_access_key = hidden(key), source = "environment",
    session_token = hidden(variable "AWS_SESSION_TOKEN" or variable "AWS_SECURITY_TOKEN"),
    expires = expires,
  }
end

local function text_of(field)
  return type(field) == "string" and field ~= "" and field or nil
end

local function is_usable(document)
  local key = document.SecretAccessKey
  return text_of(document.AccessKeyId) and secret.is(key) and #key > 0
    and (text_of(document.Code) or "Success") == "Success"
end

-- Credentials of a decoded JSON document; `token` names its session token.
local function from_document(document, token, source)
  if not is_usable(document) then
    local why = text_of(document.Message) or text_of(document.Code)
    return err.fail {
      code = "RTL-CRED-004",
      message = "no usable keys from " .. source .. (why and ": " .. why or ""),
    }
  end
  local expires, failure = end_of(document.Expiration, source)
  if failure then return nil, failure end
  return {
    access_key_id = document.AccessKeyId, secret_access_key = document.SecretAccessKey,
    session_token = hidden(document[token]), expires = expires, source = source,
  }
end

-- A command line as words: quotes and backslashes as in a shell, but no shell is run. nil when
-- something is opened and not closed.
local function split_words(line)
  local words, word, quote, i = {}, nil, nil, 1
  while i <= #line do
    local c = line:sub(i, i)
    if c == "\\" and quote ~= "'" then
      i = i + 1
      if i > #line then return nil end
      word = (word or "") .. line:sub(i, i)
    elseif quote then
      if c == quote then quote = nil else word = word .. c end
    elseif c == '"' or c == "'" then quote, word = c, word or ""
    elseif c:find "%s" then
      words[#words + 1] = word
      word = nil
    else word = (word or "") .. c end
    i = i + 1
  end
  words[#words + 1] = word
  return not quote and words or nil
end

local function process_failed(source, why, cause)
  return err.fail {
    code = "RTL-CRED-005", message = ("credential_process of %s %s"):format(source, why),
    cause = cause,
  }
end

local function how_it_ended(done)
  local said = (done.stderr or ""):match "%S[^\n]*"
  return ("ended with %s%s"):format(done.status or "signal " .. tostring(done.signal),
    said and ": " .. said:sub(1, 200) or "")
end

local function from_process(command, source)
  local words = split_words(command)
  if not words or not words[1] then
    return process_failed(source, "is no command line: a quote in it has no end")
  end
  local done, failure = process.run { argv = words, timeout = 60, most = 1 << 20 }
  if not done then return process_failed(source, "could not be run", failure) end
  if done.status ~= 0 then return process_failed(source, how_it_ended(done)) end
  local document = json.decode(done.stdout, SECRETS)
  if type(document) ~= "table" or document.Version ~= 1 then
    return process_failed(source, "did not print a Version 1 document")
  end
  return from_document(document, "SessionToken", source .. " (process)")
end

local function static_of(profile, source)
  local id, key = text_of(profile.aws_access_key_id), hidden(profile.aws_secret_access_key)
  if not id or not key then
    return err.fail {
      code = "RTL-CRED-003", message = ("%s is not set (%s)"):format(
        id and "aws_secret_access_key" or "aws_access_key_id", source),
    }
  end
  return {
    access_key_id = id, source = source, secret_access_key = key,
    session_token = hidden(profile.aws_session_token or profile.aws_security_token),
  }
end

local function token_of_file(path)
  local token, failure = fs.read(path)
  if not token then return nil, failure end
  return secret.new((token:gsub("%s+$", "")))
end

-- What the profile says itself about the place of its login must be what its session says.
local function contradiction(name, profile, session)
  for _, key in ipairs { "sso_region", "sso_start_url" } do
    if session and profile[key] and session[key] and profile[key] ~= session[key] then
      return err.new {
        code = "RTL-CRED-008", message = ("profile %s and its sso-session differ in %s"):format(
          name, key), hint = "take it out of the profile",
      }
    end
  end
end

local function with_sso(options, name, profile, source)
  local session = profile.sso_session and options.profiles["sso-session"][profile.sso_session]
  local place = session or profile
  local problem = contradiction(name, profile, session)
  if problem then return nil, problem end
  if not place.sso_start_url or not place.sso_region or not profile.sso_role_name
    or not profile.sso_account_id or (profile.sso_session and not session) then
    return err.fail {
      code = "RTL-CRED-008", message = "profile " .. name .. " lacks settings of its SSO login",
      hint = "it needs sso_session (or sso_start_url and sso_region), sso_account_id and "
        .. "sso_role_name",
    }
  end
  local token, failure = sso.token(options.cache, {
    session = profile.sso_session, start_url = place.sso_start_url, region = place.sso_region,
    profile = name,
  }, options.create_token)
  if not token then return nil, failure end
  local creds
  creds, failure = options.sso {
    region = place.sso_region, token = token, account = profile.sso_account_id,
    role = profile.sso_role_name, source = source .. " (SSO)",
  }
  if not creds and failure.status == 401 then
    failure.renew, failure.hint = sso.renewal(name)
  end
  return creds, failure
end

local function with_web_identity(options, role, source)
  local token, failure = token_of_file(role.web_identity_token_file)
  if not token then return nil, failure end
  return options.assume {
    role_arn = role.role_arn, session_name = role.role_session_name, token = token,
    region = text_of(role.region), source = source,
  }
end

--- AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN.
function M.web_identity_of_environment(options)
  local file, arn = variable "AWS_WEB_IDENTITY_TOKEN_FILE", variable "AWS_ROLE_ARN"
  if not file or not arn then
    return nil, nil, ("web identity: %s is not set"):format(
      file and "AWS_ROLE_ARN" or "AWS_WEB_IDENTITY_TOKEN_FILE")
  end
  return with_web_identity(options, {
    role_arn = arn, web_identity_token_file = file,
    role_session_name = variable "AWS_ROLE_SESSION_NAME",
  }, "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)")
end

local function named_source(name)
  local place = name == "Environment" and M.environment or name == "EcsContainer" and M.container
    or name == "Ec2InstanceMetadata" and M.instance
  if place then
    local creds, failure, why = place()
    if creds or failure then return creds, failure end
    return err.fail { code = "RTL-CRED-006",
      message = ("credential_source %s holds no keys (%s)"):format(name, why) }
  end
  return err.fail {
    code = "RTL-CRED-006", message = "credential_source '" .. name .. "' is not known"
      .. nearest.hint(name, { "Environment", "EcsContainer", "Ec2InstanceMetadata" }),
  }
end

local resolve

-- The credentials with which a profile's role is assumed.
local function source_of(options, name, profile, visited)
  if profile.source_profile and profile.credential_source then
    return err.fail {
      code = "RTL-CRED-006",
      message = ("profile %s has both source_profile and credential_source"):format(name),
    }
  end
  if profile.credential_source then return named_source(profile.credential_source) end
  local source = profile.source_profile
  if not source then
    return err.fail {
      code = "RTL-CRED-006",
      message = ("profile %s has role_arn but no source_profile"):format(name),
    }
  end
  if source == name then return static_of(profile, "profile " .. name) end
  return resolve(options, source, visited)
end

-- A code of the profile's device, from the person at the terminal. Three may be mistyped.
local function mfa_code(options, name, serial)
  for _ = 1, 3 do
    local code = options.ask and options.ask(("MFA code of %s (profile %s): "):format(serial, name))
    if not code then break end
    code = code:gsub("%s", "")
    if code:find "^%d%d%d%d%d%d$" then return code end
  end
  return err.fail {
    code = "RTL-CRED-007", message = "profile " .. name .. " needs an MFA code",
    hint = options.ask and "it has six digits"
      or "run this on a terminal, or put temporary keys into the environment",
  }
end

local function with_role(options, name, profile, visited)
  local duration = math.tointeger(tonumber(profile.duration_seconds))
  if profile.duration_seconds and not duration then
    return err.fail { code = "RTL-CRED-006",
      message = ("profile %s: duration_seconds '%s' is no number of seconds"):format(name,
        profile.duration_seconds) }
  end
  local source, failure = source_of(options, name, profile, visited)
  if not source then return nil, failure end
  local code
  if profile.mfa_serial then
    code, failure = mfa_code(options, name, profile.mfa_serial)
    if not code then return nil, failure end
  end
  local creds
  creds, failure = options.assume {
    role_arn = profile.role_arn, session_name = profile.role_session_name,
    external_id = profile.external_id, duration = duration,
    mfa_serial = profile.mfa_serial, mfa_code = code,
    region = text_of(profile.region), credentials = source,
    source = "profile " .. name .. " (role)",
  }
  if creds then creds.asked = code ~= nil or source.asked end
  return creds, failure
end

local function unknown_profile(options, name)
  local names = {}
  for known in pairs(options.profiles.profile) do names[#names + 1] = known end
  return err.fail {
    code = "RTL-CRED-008", message = "no profile '" .. name .. "'" .. nearest.hint(name, names),
    hint = "in the config file it is written [profile " .. name .. "]",
  }
end

local function no_credentials(source, profile)
  return err.fail {
    code = "RTL-CRED-008", message = source .. " holds no credentials that rtl can use",
    hint = profile.login_session and "it logs in by `aws login`: bring its keys by `eval $(aws "
      .. "configure export-credentials --format env --" .. source .. ")`" or nil,
  }
end

function resolve(options, name, visited)
  if visited[name] then
    return err.fail { code = "RTL-CRED-006", message = "profiles go round in a circle: " .. name }
  end
  visited[name] = true
  local profile = options.profiles.profile[name]
  if not profile then return unknown_profile(options, name) end
  local source = "profile " .. name
  if profile.role_arn and profile.web_identity_token_file then
    return with_web_identity(options, profile, source .. " (web identity)")
  elseif profile.role_arn and not (profile.aws_access_key_id and next(visited, next(visited))) then
    return with_role(options, name, profile, visited)
  elseif profile.sso_account_id or profile.sso_role_name then
    return with_sso(options, name, profile, source)
  elseif profile.credential_process and not options.profiles.in_credentials[name] then
    return from_process(profile.credential_process, source)
  elseif profile.aws_access_key_id then
    return static_of(profile, source)
  end
  return no_credentials(source, profile)
end

--- The profile of options (see rtl.aws.credentials.chain).
function M.profile(options)
  local profile = options.profiles.profile[options.profile]
  if not options.chosen then
    -- Nobody asked for the default profile: it may be absent, or hold a region only.
    local usable = profile and (profile.role_arn or profile.aws_access_key_id
      or profile.credential_process or profile.sso_account_id or profile.sso_role_name
      or profile.login_session)
    if not usable then
      return nil, nil, ("files: %s"):format(profile and "the profile default holds no keys"
        or "no profile is chosen (AWS_PROFILE), and there is no default one")
    end
  end
  return resolve(options, options.profile, {})
end

local LOCAL = {
  localhost = true, ["::1"] = true, ["169.254.170.2"] = true, ["169.254.170.23"] = true,
  ["fd00:ec2::23"] = true,
}

local function is_local(host)
  return LOCAL[host] or host:find "^127%.%d+%.%d+%.%d+$" ~= nil
end

local function container_url()
  local relative = variable "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
  if relative then return "http://169.254.170.2" .. relative end
  local full = variable "AWS_CONTAINER_CREDENTIALS_FULL_URI"
  if not full then return nil end
  local scheme, host = full:match "^(%a+)://%[([%x:]+)%]"
  if not scheme then scheme, host = full:match "^(%a+)://([^:/?]+)" end
  if scheme == "https" or (scheme == "http" and is_local(host)) then return full end
  return err.fail {
    code = "RTL-CRED-009", message = "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https or local",
  }
end

local function container_token()
  local file = variable "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
  if file then return token_of_file(file) end
  local token = variable "AWS_CONTAINER_AUTHORIZATION_TOKEN"
  return token and secret.new(token)
end

-- A local service that hands out keys (`who`): no proxy, short patience.
local function ask(who, request)
  request.proxy, request.timeout, request.connect_timeout = false, 2, 1
  local res, failure = wire.request(request)
  if not res then return nil, failure end
  if res.status ~= 200 then
    return err.fail {
      code = "RTL-CRED-009", status = res.status,
      message = ("%s answered %d"):format(who, res.status),
    }
  end
  return res.body
end

local function document_of(body, token, source)
  local document = json.decode(body, SECRETS)
  if type(document) ~= "table" then
    return err.fail { code = "RTL-CRED-004", message = "no JSON from " .. source }
  end
  return from_document(document, token, source)
end

--- The container's endpoint (ECS, EKS Pod Identity).
function M.container()
  local url, failure = container_url()
  if not url then
    return nil, failure,
      "container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set"
  end
  local token
  token, failure = container_token()
  if failure then return nil, failure end
  if token and not secret.is_line(token) then
    return err.fail { code = "RTL-CRED-009",
      message = "the authorization token holds a line end or another control character" }
  end
  local body
  body, failure = ask("the container's credentials service", {
    url = url, headers = token and { Authorization = token } or {}, secret_body = true,
  })
  if not body then return nil, failure end
  return document_of(body, "Token", "container")
end

-- No token: nobody is there, or one is there whose answer may not travel as far as a container.
local function silent_metadata(base, refused)
  if refused.code ~= "RTL-NET-006" and refused.code ~= "RTL-NET-007" then
    return nil, nil, ("instance: no token from the metadata at %s: %s"):format(base,
      refused.message)
  end
  return err.fail {
    code = "RTL-CRED-011", cause = refused,
    message = "instance metadata takes calls but sends no answer",
    hint = "in a container, the instance needs HttpPutResponseHopLimit 2",
  }
end

local function metadata_base()
  local own = variable "AWS_EC2_METADATA_SERVICE_ENDPOINT"
  if own then return (own:gsub("/+$", "")) end
  local mode = variable "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"
  return mode and mode:lower() == "ipv6" and "http://[fd00:ec2::254]" or "http://169.254.169.254"
end

-- What the instance knows under `path`: a function that asks, or nil, nil and why not, or nil, err.
local function metadata()
  if (variable "AWS_EC2_METADATA_DISABLED" or ""):lower() == "true" then
    return nil, nil, "instance: AWS_EC2_METADATA_DISABLED is true"
  end
  local base = metadata_base()
  local token, refused = ask("it", {
    method = "PUT", url = base .. "/latest/api/token", secret_body = true,
    headers = { ["x-aws-ec2-metadata-token-ttl-seconds"] = "21600" },
  })
  if not token then return silent_metadata(base, refused) end
  return function (path, is_secret)
    return ask("instance metadata", {
      url = base .. "/latest/meta-data/" .. path, secret_body = is_secret,
      headers = { ["x-aws-ec2-metadata-token"] = token },
    })
  end
end

--- Instance metadata, version 2. Not configured when nothing answers at its address.
function M.instance()
  local look, failure, why = metadata()
  if not look then return nil, failure, why end
  local role
  role, failure = look "iam/security-credentials/"
  if not role then
    if failure.status == 404 then return nil, nil, "instance: it has no role" end
    return nil, failure
  end
  role = role:match "^%S+"
  if not role then return nil, nil, "instance: it has no role" end
  local body
  body, failure = look("iam/security-credentials/" .. role, true)
  if not body then return nil, failure end
  local creds
  creds, failure = document_of(body, "Token", "instance role " .. role)
  if creds then creds.lasting = true end -- served on when the service fails, as the SDKs do
  return creds, failure
end

--- The region of the instance that this runs on, or nil.
function M.instance_region()
  local look = metadata()
  local region = look and look "placement/region"
  return region and region:match "^%S+"
end

return M
