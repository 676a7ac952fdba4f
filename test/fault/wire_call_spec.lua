-- The n-th request of a deploy goes wrong in each way: the run gets over it, or ends with an error
-- that says so and the same run again gets through. In the end stands the same cloud, and the
-- teardown leaves nothing.
--
-- RTL_TEST_SLOW=1 (`make fault`) takes every 7th request, the quick form some of them.

local err = require "rtl.err"
local played = require "test.support.played"

local DEPLOY, TEARDOWN = "recipes/deploy.lua", "recipes/teardown.lua"
local STRIDE = os.getenv("RTL_TEST_SLOW") and 7 or 61

-- An error as the native wire makes it.
local function lost(code, name, req, sent)
  return nil, err.new { code = code, name = name, message = name, sent = sent,
    retryable = not (sent and req.once), doing = req.method .. " " .. tostring(req.url) }
end

local function answer(status, body, kind)
  return { status = status, reason = "", body = body,
    headers = { { "Content-Type", kind }, { "Content-Length", tostring(#body) } } }
end

local function is_aws(req) return tostring(req.url):find("amazonaws%.com") end

local function is_kube(req) return tostring(req.url):find("%.eks%.amazonaws%.com") end

local function refusal(req, status, code)
  if is_kube(req) or not is_aws(req) then
    return answer(status, ([[{"kind":"Status","apiVersion":"v1","status":"Failure",]]
      .. [["reason":"%s","message":"%s","code":%d}]]):format(code, code, status),
      "application/json")
  end
  return answer(status, ("<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error>"
    .. "</Errors><RequestID>r</RequestID></Response>"):format(code, code), "text/xml")
end

-- Each way: function (request of the world, req) → what the wire gives.
local WAYS = {
  ["no connection"] = function (_, req) return lost("RTL-NET-002", "connect", req, false) end,
  ["a reset before its effect"] = function (_, req)
    return lost("RTL-NET-008", "lost", req, true)
  end,
  ["a reset after its effect"] = function (request, req)
    request(req)
    return lost("RTL-NET-008", "lost", req, true)
  end,
  ["no answer in time"] = function (request, req)
    request(req)
    return lost("RTL-NET-006", "idle", req, true)
  end,
  ["a 500"] = function (_, req) return refusal(req, 500, "InternalError") end,
  ["a 503"] = function (_, req) return refusal(req, 503, "ServiceUnavailable") end,
  ["throttling"] = function (_, req)
    return refusal(req, is_kube(req) and 429 or 503, "RequestLimitExceeded")
  end,
}

local NAMES = {}
for name in pairs(WAYS) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

describe("the n-th request of a deploy", function ()
  local wanted, requests

  -- A deploy whose request number `n` goes wrong; then, if need be, again; then the teardown.
  local function play(n, way)
    local count, hit = 0, nil
    local world, _ <close> = played.fresh("calm", function (impl)
      return setmetatable({ request = function (req)
        count = count + 1
        if count ~= n then return impl.request(req) end
        hit = req.method .. " " .. tostring(req.url):sub(1, 80)
        return WAYS[way](impl.request, req)
      end }, { __index = impl })
    end)
    local name, outcome = played.run(DEPLOY)
    local first, total = name, count
    if not name then
      if not outcome.code then return "an error without a code: " .. tostring(outcome) end
      name, outcome = played.run(DEPLOY)
    end
    local where = ("%s at %d (%s): "):format(way, n, tostring(hit))
    if name ~= "done" then return where .. tostring(name) .. " " .. tostring(outcome) end
    if outcome.verdict.verdict ~= "EFA" then return where .. outcome.verdict.verdict end
    world:advance(world.now_us + 120 * 1000000)
    local stands = played.list(world)
    local difference = wanted and played.difference(wanted, stands)
    if difference then return where .. "another cloud\n  " .. difference end
    name, outcome = played.run(TEARDOWN)
    world:advance(world.now_us + 120 * 1000000)
    difference = name and played.difference({}, played.list(world))
    if name ~= "done" or difference then
      return where .. "teardown " .. tostring(name or outcome) .. " " .. tostring(difference)
    end
    return nil, { first = first, requests = total, stands = stands }
  end

  setup(function ()
    local wrong, facts = play(0, NAMES[1])
    assert(not wrong, wrong)
    wanted, requests = facts.stands, facts.requests
    assert.is_true(requests > 200)
  end)

  for i, way in ipairs(NAMES) do
    it("can get " .. way, function ()
      local wrong, tried, got_over = {}, 0, 0
      for n = 1 + 8 * (i - 1), requests, STRIDE do
        local text, facts = play(n, way)
        wrong[#wrong + 1], tried = text, tried + 1
        if facts and facts.first then got_over = got_over + 1 end
      end
      print(("%s: %d of %d requests, got over %d at once"):format(way, tried, requests, got_over))
      assert.equal(0, #wrong, table.concat(wrong, "\n"))
    end)
  end
end)
