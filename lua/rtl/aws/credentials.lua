--- Credentials: the chain of the SDKs, kept fresh, fetched once for many tasks.
--
-- Order: environment, profile (role, web identity, process, static keys), web identity of the
-- environment, container, instance metadata.  A profile that was chosen and fails is an error,
-- never a reason to look further.

local clock = require "rtl.clock"
local err = require "rtl.err"
local providers = require "rtl.aws.providers"
local secret = require "rtl.native.secret"
local task = require "rtl.task"

local M = {}

local provider = { __name = "rtl.aws.credentials" }
provider.__index = provider

-- Keys are fetched anew from a while before their end: for sessions of an hour and more from 15
-- minutes, when one task does it and the others go on, and from 10 minutes all wait for it; for
-- short sessions that much less. Should it fail, the old keys serve until they end.
local EARLIEST, LATEST = 900, 300

-- A person is asked as late as can be.
local ASKED = 60

local QUESTION = "%s. In another terminal, %s. Then press Enter to go on, or type stop: "

-- Seconds between two attempts while the old keys still hold.
local PATIENCE = 60

local function left(creds)
  return creds.expires and creds.expires - clock.utc() or math.huge
end

local function serves(creds)
  return creds ~= nil and (left(creds) > 0 or creds.lasting == true)
end

-- Gives new credentials their times: `early` and `insist`, in seconds before their end.
local function timed(creds)
  local early = math.max(LATEST, math.min(EARLIEST, left(creds) / 3))
  creds.early = creds.asked and ASKED or early
  creds.insist = creds.asked and ASKED or early * 2 / 3
  return creds
end

-- `renew` is what a person can do about it while the run waits.
local function ended(creds)
  local place = creds.source == "environment" and "the environment" or creds.source
  local renew = "put new ones into " .. place
  return err.fail {
    code = "RTL-CRED-012", message = "the keys from " .. creds.source .. " have ended",
    hint = renew .. ", then run the same command again: it goes on where this one stopped",
    renew = place:find "^profile " and renew or nil,
  }
end

-- Keys go into headers as they stand. A line end in one comes from a bad copy; no service takes it.
local function garbled(creds)
  for _, field in ipairs { "access_key_id", "secret_access_key", "session_token" } do
    if creds[field] and not secret.is_line(creds[field]) then
      return err.fail {
        code = "RTL-CRED-004",
        message = ("the %s from %s holds a line end or another control character"):format(
          (field:gsub("_", " ")), creds.source),
        hint = "copy it anew: it is one line of text",
      }
    end
  end
end

-- What the source gives: credentials that serve | nil, err. Keys that the service called ended
-- twice don't, whatever their date says.
local function from_source(self)
  local creds, failure = self.source()
  if not creds then return nil, failure end
  local _, garbage = garbled(creds)
  if garbage then return nil, garbage end
  local refused = not creds.lasting and (self.refusals[creds.access_key_id] or 0) > 1
  if refused or not serves(creds) then return ended(creds) end
  if self.served and self.check then
    local fits
    fits, failure = self.check(creds)
    if not fits then return nil, failure end
  end
  return timed(creds)
end

-- The same. In the middle of a run, once the old keys are over, a person who can renew them
-- elsewhere is asked to (`failure.renew` says how), and the run goes on.
local function fetch(self)
  local creds, failure = from_source(self)
  local under_way = self.served and not (self.current and left(self.current) > ASKED)
  while failure and failure.renew and self.ask and under_way do
    local answer = self.ask(QUESTION:format(failure.message, failure.renew))
    if answer == nil or answer:find "%S" then break end
    creds, failure = from_source(self)
  end
  return creds, failure
end

-- Fetches, and hands the outcome to all tasks that wait for it.
local function refresh(self)
  local future = task.future()
  self.pending = future
  local over = false
  local _ <close> = setmetatable({}, { __close = function ()
    self.pending = nil
    if not over then future:set(nil) end -- cancelled: a waiting task fetches itself
  end })
  local creds, failure = fetch(self)
  over = true
  if creds then
    self.current, self.served, failure = creds, true, nil
  elseif not serves(self.current) then
    self.current = nil
  end
  future:set(failure)
  if self.current then return self.current end
  return nil, failure
end

--- provider:get() → {access_key_id, secret_access_key, session_token, expires, source} | nil, err
function provider:get()
  while true do
    local creds = self.current
    if creds and left(creds) > creds.early then return creds end
    if not self.pending then
      if serves(creds) and self.retry_at and clock.mono() < self.retry_at then return creds end
      self.retry_at = clock.mono() + PATIENCE
      return refresh(self)
    end
    if creds and left(creds) > creds.insist then return creds end
    local failure = self.pending:get()
    if failure and not self.current then return nil, failure end
  end
end

--- provider:expire(creds): the service says that these have ended; the next get() fetches anew.
function provider:expire(creds)
  if self.current ~= creds then return end
  local id = creds.access_key_id
  self.refusals[id] = (self.refusals[id] or 0) + 1
  self.current, self.retry_at = nil, nil
end

--- A provider around `source` → credentials | nil, err. Credentials may have `lasting` (they serve
-- on after their end while there are no others) and `asked` (a person gave a code for them).
-- options: ask = fn(prompt) → text | nil, who is asked to renew what nobody else can; check =
-- fn(creds) → true | nil, err, whether new ones may take the place of old ones.
function M.new(source, options)
  local ask, check = options and options.ask, options and options.check
  return setmetatable({ source = source, ask = ask, check = check, refusals = {} }, provider)
end

--- A provider of fixed keys: {access_key_id, secret_access_key, session_token} (text or secrets).
function M.static(keys)
  local function hidden(v) return v and (secret.is(v) and v or secret.new(v)) end
  local token = keys.session_token
  if token == "" then token = nil end
  local creds = {
    access_key_id = keys.access_key_id, secret_access_key = hidden(keys.secret_access_key),
    session_token = hidden(token), source = keys.source or "given",
  }
  return M.new(function () return creds end)
end

-- `tried`: array of {message}, why each place gave none.
local function none(tried)
  return err.fail {
    code = "RTL-CRED-002", message = "no AWS credentials found", problems = tried,
    hint = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  }
end

-- `chain`: functions → credentials | nil, nil, why not | nil, err.
local function first_of(chain)
  local tried = {}
  for i, try in ipairs(chain) do
    local creds, failure, why = try()
    if creds or failure then return creds, failure end
    tried[i] = { message = why }
  end
  return none(tried)
end

--- The chain. options: load = fn → profiles (rtl.aws.profile.load: the files are read for each
-- fetch, since they may hold new keys by then), profile (name), chosen (true when the user named
-- the profile), explicit (true when by an argument: the environment's keys are then skipped), cache
-- (folder of SSO logins), assume and sso = fn(role) → credentials | nil, err, create_token
-- (rtl.aws.sso), ask and check (M.new; ask is nil when nobody can be asked).
function M.chain(options)
  local chain = {}
  if not options.explicit then chain[1] = providers.environment end
  chain[#chain + 1] = function () return providers.profile(options) end
  chain[#chain + 1] = function () return providers.web_identity_of_environment(options) end
  chain[#chain + 1] = providers.container
  chain[#chain + 1] = providers.instance
  return M.new(function ()
    local failure
    options.profiles, failure = options.load()
    if not options.profiles then return nil, failure end
    return first_of(chain)
  end, options)
end

return M
