--- Logins of IAM Identity Center: the token that `aws sso login` leaves in a file, refreshed while
-- its registration lasts.

local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"

local M = {}

local SECRETS = { secret = { "accessToken", "refreshToken", "clientSecret" } }
local PRIVATE = tonumber("600", 8)

-- Seconds before a token's end from which a new one is asked for.
local EARLY = 900

local function time_of(text)
  return type(text) == "string" and clock.parse_iso((text:gsub("UTC$", "Z"))) or nil
end

-- What a cache file holds, or nil when it is no login.
local function read(path)
  local text = fs.exists(path) and fs.read(path)
  local kept = text and json.decode(text, SECRETS)
  if type(kept) ~= "table" or not secret.is(kept.accessToken) then return nil end
  local ends = time_of(kept.expiresAt)
  return ends and { path = path, kept = kept, ends = ends } or nil
end

-- The login of a session or start URL: the file of that name, else the youngest for the same URL.
local function find(folder, place)
  local name = crypto.hex(crypto.sha1(place.session or place.start_url)) .. ".json"
  local best = read(fs.join(folder, name))
  if best then return best end
  for _, other in ipairs(fs.exists(folder) and fs.list(folder) or {}) do
    local login = other:find "%.json$" and read(fs.join(folder, other))
    if login and login.kept.startUrl == place.start_url and (not best or login.ends > best.ends)
    then
      best = login
    end
  end
  return best
end

-- Only the login of a named session may be refreshed, while its client is still registered.
local function can_refresh(login, place)
  local kept = login.kept
  return place.session and secret.is(kept.refreshToken) and secret.is(kept.clientSecret)
    and type(kept.clientId) == "string"
    and (time_of(kept.registrationExpiresAt) or 0) > clock.utc()
end

-- Fetches a new token and puts it where the old one was, for other programs, too. A cache that
-- can't be written is no reason to stop: the token serves this run.
local function refresh(login, place, create)
  local kept = login.kept
  local answer, failure = create {
    region = place.region, client_id = kept.clientId, client_secret = kept.clientSecret,
    refresh_token = kept.refreshToken,
  }
  if not answer then return nil, failure end
  if not secret.is(answer.accessToken) then
    return err.fail { code = "RTL-AWS-003", doing = "sso-oidc:CreateToken",
      message = "the answer is not what the service sends: it holds no token" }
  end
  kept.accessToken = answer.accessToken
  kept.refreshToken = answer.refreshToken or kept.refreshToken
  kept.expiresAt = clock.iso(math.floor(clock.utc()) + (answer.expiresIn or 0))
  local text = json.encode(kept, { pretty = true, secret = true })
  fs.write(login.path, secret.reveal(text), PRIVATE)
  return kept.accessToken
end

--- What a person can do about a login that is over, while the run waits and after it.
function M.renewal(profile)
  local renew = "log in: aws sso login --profile " .. profile
  return renew, renew .. ", then run the same command again"
end

local function nobody(message, place, cause)
  local renew, hint = M.renewal(place.profile)
  return err.fail {
    code = "RTL-CRED-010", message = message, cause = cause, renew = renew, hint = hint,
  }
end

--- token(folder, place, create) → secret | nil, err: the token of a login. `place` is {session =
-- name or nil, start_url, region, profile}; `create` {region, client_id, client_secret,
-- refresh_token} → answer of CreateToken | nil, err.
function M.token(folder, place, create)
  local login = find(folder, place)
  if not login then return nobody("nobody is logged in at " .. place.start_url, place) end
  local left = login.ends - clock.utc()
  if left > EARLY then return login.kept.accessToken end
  local failure
  if can_refresh(login, place) then
    local token
    token, failure = refresh(login, place, create)
    if token then return token end
    -- A refresh token serves once: another program may have used it, and left the new login.
    local newer = find(folder, place)
    if newer and newer.ends > math.max(login.ends, clock.utc()) then
      return newer.kept.accessToken
    end
  end
  if left > 0 then return login.kept.accessToken end
  return nobody("the SSO login has expired", place, failure)
end

return M
