--- The wire of a world: which simulated server a request is for, how long it takes, and the weather
-- on the way. It takes and returns bytes, as a network does.

local aws = require "rtl.rehearse.aws"
local charts = require "rtl.rehearse.charts"
local clock = require "rtl.clock"
local err = require "rtl.err"
local http = require "rtl.rehearse.http"
local kube = require "rtl.rehearse.kube"
local secret = require "rtl.native.secret"
local unconfirmed = require "rtl.rehearse.unconfirmed"
local way = require "rtl.rehearse.weather.way"

local M = {}

-- Seconds that a call takes there and back, less for what is near.
local LATENCY = { aws = { 0.05, 0.16 }, kube = { 0.02, 0.06 }, charts = { 0.15, 0.4 } }

local function server_of(world, host)
  if kube.endpoint(world, host) then return "kube" end
  if charts.host(host) then return "charts" end
  if host:find "%.amazonaws%.com$" or host:find "%.api%.aws$" then return "aws" end
  return nil
end

local function unreachable(request, host)
  local metadata = host == "169.254.169.254" or host == "169.254.170.2"
  return err.fail {
    code = metadata and "RTL-NET-005" or "RTL-NET-001", name = metadata and "connect_timeout"
      or "dns", retryable = false, sent = false,
    message = metadata and "no answer" or ("no such host: %s"):format(host),
    doing = ("%s https://%s"):format(request.method or "connect", host),
    hint = not metadata and "The simulated world has AWS, its clusters and three chart repositories"
           or nil,
  }
end

local function wait_latency(world, server)
  local bounds = LATENCY[server]
  world.calls_made = (world.calls_made or 0) + 1
  way.wait(world, world:spread(bounds[1], bounds[2], "latency", world.runs, world.calls_made))
end

local function answer_headers(world, answer)
  local headers = answer.headers or {}
  headers[#headers + 1] = { "Date", http.date(world:second(), clock.iso(world:second())) }
  if answer.content_type then
    headers[#headers + 1] = { "Content-Type", answer.content_type }
  end
  if answer.body then headers[#headers + 1] = { "Content-Length", tostring(#answer.body) } end
  return headers
end

local function finish(world, answer)
  return { status = answer.status, reason = http.reason(answer.status),
           headers = answer_headers(world, answer), body = not answer.read and answer.body or nil,
           read = answer.read, close = answer.close }
end

local HANDLERS = {
  aws = aws.answer, kube = kube.answer, charts = charts.answer,
}

local function request(world, wanted)
  local url = http.split(secret.reveal(wanted.url))
  local server = url and server_of(world, url.host)
  if not server then return unreachable(wanted, url and url.host or "?") end
  local body = http.body_of(wanted)
  local headers = http.headers_of(wanted)
  headers.host = url.host
  wait_latency(world, server)
  world:advance(world.now_us)
  world:check_death()
  local arrives, lost = way.before(world, wanted, kube.endpoint(world, url.host))
  if not arrives then return nil, lost end
  local answer, e = HANDLERS[server](world, {
    method = wanted.method, url = url, headers = headers, body = body, tls = wanted.tls,
    text = secret.reveal(wanted.url) })
  if not answer then return nil, e end
  arrives, lost = way.after(world, wanted)
  if not arrives then return nil, lost end
  return finish(world, answer)
end

local function connect(world, wanted)
  local url = http.split((secret.reveal(wanted.url):gsub("^ws", "http")))
  if not url or server_of(world, url.host) ~= "kube" then
    return unreachable(wanted, url and url.host or "?")
  end
  wait_latency(world, "kube")
  local arrives, lost = way.before(world, wanted, kube.endpoint(world, url.host))
  if not arrives then return nil, lost end
  return kube.connect(world, url, wanted)
end

--- The implementation that rtl.wire.use takes.
function M.new(world)
  return {
    request = function (wanted) return request(world, wanted) end,
    connect = function (wanted) return connect(world, wanted) end,
    describe = function ()
      return { name = ("rehearsal %s, seed %d"):format(world.title, world.seed),
               option = world:option(), unconfirmed = unconfirmed.list(world.sky) }
    end,
  }
end

return M
