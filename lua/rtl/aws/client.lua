--- A client of one AWS service in one region: signs, sends, retries, decodes, pages and waits.

local array = require "rtl.array"
local check = require "rtl.aws.check"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local denial = require "rtl.aws.denial"
local endpoint = require "rtl.aws.endpoint"
local entropy = require "rtl.entropy"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local limiter = require "rtl.aws.limiter"
local model = require "rtl.aws.model"
local nearest = require "rtl.nearest"
local protocol = require "rtl.aws.protocol"
local retry = require "rtl.aws.retry"
local task = require "rtl.task"
local value = require "rtl.aws.value"
local waiter = require "rtl.aws.waiter"
local wire = require "rtl.wire"

local M = {}

local client = { __name = "rtl.aws.client" }

local function nothing() end

-- Seconds by which a clock may be off before it matters (AWS allows 5 minutes).
local SKEW_MATTERS, SKEW_CERTAIN = 60, 240
-- What is signed further off than this no service takes (S3's 15 minutes): a Date that says so of a
-- call that it took is wrong itself.
local SKEW_TAKEN = 900
-- A round trip longer than this says nothing about the clock.
local SLOW = 120

-- Every good `Date` tells how far the machine's clock is off. `blamed`: the service refused the
-- call for its clock, perhaps. Returns by how much the time in its signature was off; another call
-- may have corrected the clock meanwhile.
local function learn_skew(call, headers, blamed)
  local date = headers.date and not headers.age and value.parse_http_date(headers.date)
  if not date then return 0 end
  local took = clock.mono() - call.sent_at
  if took > SLOW then return 0 end
  local skew = date - (clock.utc() - clock.correction() - took / 2)
  local new = math.abs(skew) >= SKEW_MATTERS and skew or 0
  local off = math.abs(new - call.correction)
  if off > SKEW_TAKEN and not blamed then return 0 end
  clock.correct(new)
  return off
end

-- The headers that sign a request.
local function signature(self, call)
  local request, creds = call.request, call.creds
  if not creds then return {} end
  return crypto.sigv4.sign {
    method = request.method, url = call.url, headers = request.headers, body = request.body,
    region = self.endpoint.region, service = call.op.service.signing,
    time = clock.amz(clock.utc()), access_key_id = creds.access_key_id,
    secret_access_key = creds.secret_access_key, session_token = creds.session_token,
  }
end

-- All headers that a request goes out with, in a list of their own.
local function headers_of(self, call)
  local headers, own_headers = signature(self, call), call.request.headers
  return table.move(own_headers, 1, #own_headers, #headers + 1, headers)
end

-- A failure of the credentials is one object for all calls that wait for them: each gets its own.
local function own(failure)
  local copy = {}
  for key, field in pairs(failure) do copy[key] = field end
  return err.new(copy)
end

-- Seconds of silence after which an attempt is given up. The SDKs wait for 60; a describe that
-- takes a third of it will not come, and is asked again. A write may take its time: whether it took
-- effect is unknown after that.
local TIMEOUTS = { reads = 20, writes = 60, connect = 10, all = 300 }
-- Seconds of silence after which a person is told, and until they are told of this service again.
local UNEASY, TOLD = 10, 60

local function timeouts_of(given)
  local seconds = {}
  for kind, default in pairs(TIMEOUTS) do seconds[kind] = given[kind] or default end
  return seconds
end

local function is_quick(op)
  return op.reads or op.service.name == "sts"
end

local function host_of(url)
  return url:match "^%w+://([^/]*)"
end

-- Tells, in a while, that nothing has come yet.
local function watch(self, call, silence)
  return task.after(UNEASY, function ()
    if clock.mono() < self.quiet_until then return end
    self.quiet_until = clock.mono() + TOLD
    self.notice(("%s: no answer from %s for %g s (given up after %g, then asked again or failed)")
      :format(call.op.action, host_of(call.url), UNEASY, silence))
  end)
end

-- Signs a request and sends it: whoever waits for a turn signs after it. Notes in the call when it
-- left, and the correction of the clock then.
local function exchange(self, call)
  local op, request = call.op, call.request
  local silence = is_quick(op) and self.timeouts.reads or self.timeouts.writes
  local _ <close> = self.notice and silence > UNEASY and watch(self, call, silence) or nil
  call.sent_at, call.correction = clock.mono(), clock.correction()
  return wire.request {
    method = request.method, url = call.url, body = request.body, once = call.once,
    headers = headers_of(self, call), secret_body = op.secrets ~= nil,
    tls = self.tls, gzip = not op.gives_data, stream = call.stream, idle = silence,
    timeout = not op.bulky and self.timeouts.all or nil,
    connect_timeout = self.timeouts.connect,
    max_body = not op.gives_data and protocol.largest(op) or nil,
  }
end

-- A refusal is read whole, also where the answer would have been a stream.
local MAX_REFUSAL = 1 << 20

local function read_refusal(res)
  local parts, size = {}, 0
  repeat
    local bytes = res:read()
    parts[#parts + 1] = bytes
    size = size + (bytes and #bytes or 0)
  until not bytes or size > MAX_REFUSAL
  res:close()
  res.body = table.concat(parts)
end

-- The answer's table; of a stream its payload is the open body, with read() and close().
local function decoded(call, res)
  if not call.stream then return protocol.decode(call.op, res) end
  local out = protocol.decode_headers(call.op, res, {})
  out[call.op.output_payload] = res
  return out
end

-- Whether a lost connection can have done no harm.
local function is_repeatable(call, lost)
  return call.op.reads and lost.code == "RTL-NET-008"
end

-- One attempt: the answer's table, or nil and an error.
local function send(self, call)
  call.creds, call.headers, call.off = nil, nil, 0
  if not call.op.unsigned then
    local failure
    call.creds, failure = self.credentials:get()
    if not call.creds then return nil, own(failure) end
  end
  local res, lost = self.limiter:with(exchange, self, call)
  if not res then
    lost.unreached = self.answered and (not lost.sent or is_repeatable(call, lost))
    return nil, lost
  end
  self.answered = true
  call.headers, call.unsure = res.headers, call.unsure or res.repeated
  if res.status < 300 then
    learn_skew(call, res.headers)
    return decoded(call, res)
  end
  if call.stream then read_refusal(res) end
  local e = errors.classify(protocol.decode_error(call.op, res))
  call.off = learn_skew(call, res.headers, errors.skewed(e))
  if e.throttled then self.limiter:throttled(call.sent_at) end
  return nil, e
end

-- Whether an error leaves open if a create took effect: the answer was lost or can't be read, or it
-- is a 5xx that is no request for patience.
local function is_ambiguous(e)
  if e.sent or not e.status then return e.sent end
  if e.status < 300 then return true end
  return e.status >= 500 and not e.throttled and not errors.no_capacity(e) and not errors.quota(e)
end

-- "retry" (again after a wait), "now" (again at once, the cause is mended), or nil (final).
local function judge(self, call, e)
  if not call.creds and not call.op.unsigned then return nil end -- there are no keys
  call.unsure = call.unsure or is_ambiguous(e)
  -- The clock first: keys look as if they had ended, too, when it is late.
  local skewed = errors.skewed(e)
  if skewed and not call.corrected
      and call.off >= (skewed == "sure" and 1 or SKEW_CERTAIN) then
    call.corrected = true
    return "now"
  end
  -- Twice: the second time the provider knows that its keys are over, and can say more than AWS.
  if errors.expired(e) and call.creds and call.refreshed < 2 then
    call.refreshed = call.refreshed + 1
    self.credentials:expire(call.creds)
    return "now"
  end
  if call.once and call.unsure then return nil end
  return e.retryable and "retry" or nil
end

local function network_hint(self, e)
  if e.code == "RTL-NET-001" then
    return endpoint.unknown_host(self.endpoint, self.service, self.region)
  end
  if (e.code == "RTL-NET-005" or e.code == "RTL-NET-006") and (e.attempts or 1) > 1 then
    return ("asked %d times: is a firewall, a proxy or a VPN between here and AWS?"):format(
      e.attempts)
  end
end

-- What a person may try.
local function hint_of(self, call, e)
  if e.sent and (call.once or call.op.token) then -- all else is as well done twice
    return "it may have taken effect: look before doing it again"
  end
  if errors.expired(e) then return "the keys have expired: get new ones, then run this again" end
  if errors.quota(e) then return errors.quota_hint(e) end
  if e.code == "InvalidClientTokenId" or e.code == "UnrecognizedClientException" then
    return "AWS does not know the access key id, or it is not active"
  end
  if e.code == "SignatureDoesNotMatch" or e.code == "InvalidSignatureException" then
    return "the secret access key is not the one of this access key id"
  end
  if errors.skewed(e) == "sure" then
    return "this machine's clock and the service's differ: set the one that is wrong"
  end
  if e.bucket_region and e.bucket_region ~= self.endpoint.region then
    return ("the bucket is in %s, not in %s"):format(e.bucket_region, self.endpoint.region)
  end
  return network_hint(self, e)
end

local function finish(self, call, e)
  e.service, e.operation = call.op.service.name, call.op.key
  e.doing = e.doing and e.doing ~= call.op.action and call.op.action .. " (" .. e.doing .. ")"
    or call.op.action
  if denial.is(e) then denial.explain(e, call.op.permission, self.decode) end
  e.sent = call.unsure or e.sent -- an earlier attempt may have done what the last one could not
  e.hint = e.hint or hint_of(self, call, e)
  return nil, e
end

local function run(self, call)
  local spent
  local attempt = 1
  while true do
    local out, e = send(self, call)
    if out then
      self.bucket:give(spent)
      return out
    end
    local verdict = judge(self, call, e)
    e.attempts = attempt
    if verdict == "retry" then
      spent = not self.bucket:ended(attempt, e) and self.bucket:take(e) or nil
      if not spent then return finish(self, call, e) end
      retry.wait(attempt - 1, call.headers)
      attempt = attempt + 1
    elseif not verdict then
      return finish(self, call, e)
    end
  end
end

local function with_token(op, params)
  if not op.token or type(params) ~= "table" or params[op.token] ~= nil then return params end
  local copy = {}
  for name, field in pairs(params) do copy[name] = field end
  copy[op.token] = entropy.uuid()
  return copy
end

-- `client.describe_vpcs{…}` is as easily written.
local function need_client(self)
  if getmetatable(self) ~= client then
    check.misuse("a method of an AWS client is called with a colon: client:describe_vpcs{…}")
  end
end

local function operation(self, key)
  need_client(self)
  local op = self.service.ops[key]
  if op then return op end
  check.misuse(model.unknown(self.service, key))
end

local function invoke(self, op, params, options)
  need_client(self)
  params = with_token(op, params or {})
  check.parameters(op, params)
  if options and options.stream and not op.gives_data then
    check.misuse(("'%s' has no body to stream"):format(op.key))
  end
  if not self.endpoint then return finish(self, { op = op }, own(self.nowhere)) end
  local request = protocol.encode(op, params)
  local bucket = op.service.name == "s3" and params.Bucket or nil
  return run(self, {
    op = op, request = request, url = endpoint.url(self.endpoint, request, bucket),
    once = op.once or (options ~= nil and options.once == true),
    stream = options ~= nil and options.stream == true,
    unsure = false, -- whether an attempt may have taken effect that was not seen to
    corrected = false, refreshed = 0, -- whether the clock was, and how often the keys were
    -- Of the last attempt: the keys, when it left, the correction of the clock then and by how much
    -- that was wrong, and the headers of the answer.
    creds = nil, sent_at = 0, correction = 0, off = 0, headers = nil,
  })
end

--- client:call(operation, params[, {once=, stream=}]) → table | nil, err
-- Calls an operation by its snake_case name; `client:describe_vpcs{…}` is the same. Members are
-- spelled as AWS does; a wrong one raises. `once = true` sends it at most once. After a failure,
-- `err.sent` says that the call may have taken effect, `err.attempts` how often it was tried.
-- `stream = true`, for data such as s3's get_object: the body (`answer.Body`) is not read yet; its
-- read() gives bytes, nil at the end, or nil and an error; close() ends it.
function client.call(self, key, params, options)
  return invoke(self, operation(self, key), params, options)
end

-- Copies `params` with the page's token.
local function page_params(params, page, token)
  local copy = {}
  for name, field in pairs(params or {}) do copy[name] = field end
  if token then copy[page.send] = token end
  return copy
end

local function next_token(page, answer)
  if page.more and answer[page.more] == false then return nil end
  local token = answer[page.receive]
  return token ~= "" and token or nil
end

local function paged(self, key)
  local op = operation(self, key)
  if not op.page then check.misuse(("'%s' has no pages"):format(key)) end
  return op
end

-- More pages than any account can fill.
local PAGES = 10000

local function endless(op, message)
  return err.fail { code = "RTL-AWS-006", doing = op.action, message = message }
end

-- A function that gives the next page, nil after the last one, or nil and an error.
local function pager(self, op, params)
  local token, used, count, done = nil, {}, 0, false
  return function ()
    if done then return nil end
    local answer, e = invoke(self, op, page_params(params, op.page, token))
    if not answer then return nil, e end
    token, count = next_token(op.page, answer), count + 1
    if not token then
      done = true
    elseif used[token] then
      return endless(op, "the service answered with a page token that was used before")
    elseif count == PAGES then
      return endless(op, ("the listing has more than %d pages"):format(PAGES))
    else
      used[token] = true
    end
    return answer
  end
end

--- client:pages(operation, params) → iterator of answers
-- One answer a page; raises the error object when a page can't be had.
function client.pages(self, key, params)
  local next_page = pager(self, paged(self, key), params)
  return function ()
    local answer, e = next_page()
    if e then error(e, 0) end
    return answer
  end
end

--- client:all(operation, params) → array of the paged items of all pages | nil, err
function client.all(self, key, params)
  local op = paged(self, key)
  local items, next_page = array {}, pager(self, op, params)
  local answer, e = next_page()
  while answer do
    table.move(answer[op.page.items], 1, #answer[op.page.items], #items + 1, items)
    answer, e = next_page()
  end
  if e then return nil, e end
  return items
end

--- client:wait(waiter, params[, {timeout=, delay=}]) → last answer | nil, err
-- Polls until the waiter's success (`true` when success is an error such as not-found). Seconds.
-- Fails with RTL-AWS-004 (a state that can't become good; `err.answer`), RTL-AWS-005 (time is up),
-- or the error of a call.
function client.wait(self, name, params, options)
  need_client(self)
  local rules = self.service.waiters and self.service.waiters[name]
  if not rules then
    check.misuse(("no waiter '%s' in %s%s"):format(tostring(name), self.service.name,
      nearest.hint(tostring(name), waiter.names(self.service))))
  end
  local op = operation(self, rules.op)
  return waiter.run(rules, name, options or {}, task.sleep, function ()
    return invoke(self, op, params)
  end)
end

function client.__index(self, key)
  if client[key] then return client[key] end
  if type(key) ~= "string" then return nil end
  local op = operation(self, key)
  local method = function (receiver, params, options)
    return invoke(receiver, op, params, options)
  end
  rawset(self, key, method)
  return method
end

function client.__tostring(self)
  return ("aws %s client (%s)"):format(self.service.name, self.region)
end

--- client(service, {region=, credentials=, …}) → client
-- `credentials` has get() → credentials | nil, err and expire(credentials) (rtl.aws.credentials);
-- `endpoint` is an URL that is used instead of AWS' own, `variant` {fips = bool, dual = bool};
-- where AWS has no such endpoint, each call fails with RTL-AWS-008. `profile`: the profile's table.
-- `attempts` and `mode` as in rtl.aws.retry; `limiter` (rtl.aws.limiter) is shared by clients of
-- one service; `tls` as in rtl.wire. `timeouts` are seconds: of silence for {reads = 20,
-- writes = 60}, to connect (10), and for all of an answer (300; not for data). `notice(text)` is
-- told of a service that does not answer. `decode(text)` gives the text of an encoded
-- authorization message, or nil.
function M.new(service, options)
  local svc = model.service(service)
  local url = options.endpoint or endpoint.configured(svc, options.profile)
  local place, nowhere = endpoint.resolve(svc, options.region, url, options.variant)
  return setmetatable({
    service = svc, region = options.region, credentials = options.credentials,
    endpoint = place or false, nowhere = nowhere or false, tls = options.tls or {},
    bucket = retry.new(options.attempts, options.mode), notice = options.notice or false,
    answered = false, -- whether anything came from the endpoint yet
    quiet_until = -math.huge,
    limiter = options.limiter or limiter.new(svc.rate),
    timeouts = timeouts_of(options.timeouts or {}),
    decode = options.decode or nothing,
  }, client)
end

return M
