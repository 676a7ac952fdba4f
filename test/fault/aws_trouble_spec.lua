-- The AWS client where the trouble is not in one answer: clocks that differ, connections that die
-- between two calls, TLS that fails, regions, pages without end, and many calls at once.
local clock = require "rtl.clock"
local err = require "rtl.err"
local hostile = require "test.support.hostile"
local http = require "rtl.native.http"
local json = require "rtl.native.json"
local task = require "rtl.task"

local answer, does, good, send = hostile.answer, hostile.does, hostile.good, hostile.send
local CLOSE, RESET, HANG = { ["end"] = "close" }, { ["end"] = "reset" }, { ["end"] = "hang" }
local DATE = "Date: " .. hostile.DATE .. "\r\n"
local HOURS = 3600

local server
setup(function () server = hostile.start() end)
teardown(function () server:stop() end)

local function call_of(op)
  for _, call in ipairs(hostile.CALLS) do
    if call.op == op then return call end
  end
end

local function well(call, head)
  return does({ send(answer(200, (head or "") .. (call.head or ""), call.body)) },
    call.kind ~= "read")
end

local function refuses(call, code, head)
  return does({ send(answer(403, head, hostile.refusal(call, code))) }, false)
end

describe("a clock that differs", function ()
  before_each(function () clock.correct(0) end)
  after_each(function () clock.correct(0) end)

  -- Refuses what was signed at the wrong time, and does all else.
  local function strict(call, code, ahead)
    local fine = well(call, DATE)
    return { clock = ahead, answers = { fine, fine, fine, fine, refuses(call, code, DATE) } }
  end

  for _, code in ipairs { "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture",
    "SignatureDoesNotMatch", "InvalidSignatureException", "AuthFailure" } do
    it("is corrected once by " .. code .. ", both ways, and stays right", function ()
      for _, call in ipairs(hostile.CALLS) do
        for _, ahead in ipairs { 3 * HOURS, -3 * HOURS, 6 * 60 } do
          clock.correct(0)
          hostile.check(server, call, strict(call, code, ahead), hostile.fine(2), "is off")
          hostile.check(server, call, strict(call, code, ahead), hostile.fine(1), "was off")
        end
      end
    end)
  end

  it("is corrected by each of many calls at once", function ()
    local names, late = {}, 0
    for i, call in ipairs(hostile.CALLS) do
      names[i] = server:script(call, strict(call, "RequestTimeTooSkewed", 3 * HOURS))
    end
    local numbers = {}
    for i in ipairs(names) do numbers[i] = i end
    task.map(numbers, function (i)
      local call = hostile.CALLS[i]
      local out, e = server:client(call, names[i]):call(call.op, call.params)
      assert.truthy(out and hostile.id_of(call, out), tostring(e))
    end)
    for _, name in ipairs(names) do late = late + server:seen(name).late end
    assert.is_true(late > 1 and late <= #names, late)
  end)

  it("is learned from good answers, and unlearned", function ()
    local call = call_of "describe_vpcs"
    local function answers(head, ahead)
      return { answers = { well(call, head) }, clock = ahead }
    end
    local function skew()
      local correction = clock.correct(0)
      clock.correct(correction)
      return correction
    end
    hostile.check(server, call, answers(DATE, 200), hostile.fine(1), "is ahead")
    assert.near(200, skew(), 30)
    hostile.check(server, call, answers(DATE, 0), hostile.fine(1), "is right")
    assert.equal(0, skew())
    -- A service that took the signature has a clock like ours, whatever its Date.
    local lie = "Date: Tue, 01 Jan 2036 00:00:00 GMT\r\n"
    hostile.check(server, call, answers(lie), hostile.fine(1), "lies")
    hostile.check(server, call, { answers = { refuses(call, "ValidationError", lie) } },
      hostile.refused "ValidationError", "lies")
    assert.equal(0, skew())
  end)

  -- What a refusal's Date says: asked this often.
  local LIES = {
    { "always ahead", { DATE }, 2, ahead = 3 * HOURS },
    { "always late", { DATE }, 2, ahead = -3 * HOURS },
    { "another each time", { "Date: Tue, 01 Jan 2036 00:00:00 GMT\r\n",
      "Date: Fri, 01 Jan 2016 00:00:00 GMT\r\n", "Date: Wed, 01 Jan 2031 00:00:00 GMT\r\n" }, 2 },
    { "of a cache", { "Age: 3\r\nDate: Tue, 01 Jan 2036 00:00:00 GMT\r\n" }, 1 },
    { "no date", { "Date: Tue, 99 Foo 2036 99:99:99 GMT\r\n", "Date: now\r\n" }, 1 },
    { "missing", { "" }, 1 },
    { "right", { DATE }, 1 },
  }
  for _, lie in ipairs(LIES) do
    it("does not make it ask for ever when the service's Date is " .. lie[1], function ()
      for _, call in ipairs(hostile.CALLS) do
        clock.correct(0)
        local answers = {}
        for i, head in ipairs(lie[2]) do
          answers[i] = refuses(call, "RequestTimeTooSkewed", head)
        end
        local e = hostile.check(server, call, { answers = answers, clock = lie.ahead },
          hostile.refused("RequestTimeTooSkewed", lie[3]), "lies")
        assert.truthy(e.hint:find("clock", 1, true))
      end
    end)
  end
end)

describe("a kept connection", function ()
  -- Two calls with one script: the first goes well and leaves the connection open.
  local function second(call, bad)
    http.close_idle()
    local name = server:script(call, { answers = { well(call), bad, well(call) } })
    local client = server:client(call, name)
    assert(client:call(call.op, call.params))
    local out, e = client:call(call.op, call.params)
    return out, e, server:seen(name)
  end

  local ways = {
    { "ends after the request", CLOSE, effect = true }, { "is reset", RESET, effect = true },
    { "ends, and nothing was done", CLOSE, effect = false },
    { "ends within an answer", CLOSE, effect = true, part = "HTTP/1.1 200 OK\r\nContent-" },
  }
  for _, way in ipairs(ways) do
    it("that " .. way[1] .. " makes no create run twice", function ()
      for _, call in ipairs(hostile.CALLS) do
        local steps = way.part and { send(way.part), way[2] } or { way[2] }
        local out, e, seen = second(call, does(steps, way.effect and call.kind ~= "read"))
        local where = call.op .. ": " .. tostring(e)
        if call.kind == "once" then
          assert.is_nil(out)
          assert.same({ "RTL-NET-008", true, 2 }, { e.code, e.sent, seen.requests }, where)
          assert.equal(way.effect and 2 or 1, seen.effects, where)
          hostile.assert_clear(e, call)
        else
          assert.equal(3, seen.requests, where)
          assert.equal(call.kind == "token" and 2 or 0, seen.effects, where)
          assert.equal(call.kind == "token" and 2 or 0, tonumber(hostile.id_of(call, out)), where)
          assert.equal(seen.tokens[2], seen.tokens[3], where)
          assert.is_true(call.kind ~= "token" or seen.tokens[1] ~= seen.tokens[2], where)
        end
      end
    end)
  end

  it("that was closed in good order is not used", function ()
    for _, call in ipairs(hostile.CALLS) do
      local out
      for i = 1, 50 do -- until the close has arrived before the next request
        http.close_idle()
        local bye = does({ send(good(call)), CLOSE }, call.kind ~= "read")
        local name = server:script(call, { answers = { bye, well(call) } })
        local client = server:client(call, name)
        assert(client:call(call.op, call.params))
        task.sleep(0.001 * i)
        local e
        out, e = client:call(call.op, call.params)
        local seen = server:seen(name)
        assert.is_true(seen.effects <= 2, call.op)
        assert.is_true(out ~= nil or e.sent, call.op)
        if out then break end
      end
      assert.is_table(out, call.op)
    end
  end)

  it("on which an answer lies that nobody asked for is not used", function ()
    for _, call in ipairs(hostile.CALLS) do
      http.close_idle()
      local name = server:script(call, { answers = { well(call) } })
      local client = server:client(call, name)
      assert(client:call(call.op, call.params))
      server:say(name, (good(call):gsub(hostile.ID, ("9"):rep(17))))
      local out, e = client:call(call.op, call.params)
      assert.not_equal(("9"):rep(17), out and hostile.id_of(call, out), call.op)
      assert.is_true(out ~= nil or e.sent, call.op)
      assert.is_true(server:seen(name).effects <= 2, call.op)
    end
  end)
end)

describe("TLS", function ()
  local TLS = { tls = true }

  for _, hello in ipairs { "close", "garbage", "half" } do
    it("is tried again when its handshake fails: " .. hello, function ()
      for _, call in ipairs(hostile.CALLS) do
        http.close_idle()
        server:hello(hello, 1)
        hostile.check(server, call, { answers = { well(call) } }, hostile.fine(1), hello, TLS)
        http.close_idle()
        server:hello(hello, 3)
        local e = hostile.check(server, call, { answers = { well(call) } },
          hostile.refused("RTL-NET-004", 0), hello, TLS)
        assert.equal(3, e.attempts)
      end
    end)
  end

  -- Where its end is not TLS' own, the end of an answer is not the answer's.
  for _, framing in ipairs { "length", "close" } do
    for _, ending in ipairs { "close", "reset", "garbage" } do
      local in_body = framing == "close" and ending == "close" and "RTL-AWS-003" or "RTL-NET-009"
      it(("that fails within an answer is a cut: %s, %s"):format(framing, ending), function ()
        for _, call in ipairs(hostile.CALLS) do
          local whole = good(call, framing)
          local cut = call.body == "" and #whole - 1 or #whole - 8
          local made = call.kind ~= "read"
          hostile.check(server, call, { answers = {
            does({ send(whole, { cut = cut }), { ["end"] = ending } }, made), well(call),
          } }, hostile.again(call.body == "" and "RTL-NET-008" or in_body), ending, TLS)
        end
      end)
    end
  end
end)

describe("a bucket elsewhere", function ()
  local head = "x-amz-bucket-region: eu-west-1\r\n"
  local rows = {
    { "list_objects_v2", 301, head, "<Error><Code>PermanentRedirect</Code><Message>m</Message>"
      .. "<Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint></Error>", "PermanentRedirect" },
    { "list_objects_v2", 307, head, "<Error><Code>TemporaryRedirect</Code></Error>",
      "TemporaryRedirect" },
    { "list_objects_v2", 400, "", "<Error><Code>AuthorizationHeaderMalformed</Code>"
      .. "<Region>eu-west-1</Region></Error>", "AuthorizationHeaderMalformed" },
    { "head_bucket", 301, head, "", "MovedPermanently" },
    { "head_bucket", 400, head, "", "BadRequest" },
  }
  for _, row in ipairs(rows) do
    it(("is an error that names its region: %s, %d"):format(row[1], row[2]), function ()
      local call = call_of "list_objects_v2"
      local elsewhere = ("Location: http://127.0.0.1:%d/\r\n"):format(server.stranger)
      local name = server:script(call, { answers = {
        does({ send(answer(row[2], elsewhere .. row[3], row[4])) }),
      } })
      local out, e = server:client(call, name):call(row[1], { Bucket = "b" })
      assert.is_nil(out)
      assert.equal(row[5], e.code)
      assert.truthy(e.hint and e.hint:find("eu-west-1", 1, true), tostring(e))
      assert.equal(1, server:seen(name).requests)
      assert.equal(0, server:strangers())
    end)
  end
end)

describe("a create", function ()
  it("may have taken effect also when only its first answer was lost", function ()
    for _, call in ipairs(hostile.CALLS) do
      if call.kind == "token" then
        local name = server:script(call, { answers = {
          does({ CLOSE }, true), refuses(call, "Throttling"), refuses(call, "ValidationError"),
        } })
        local out, e = server:client(call, name):call(call.op, call.params)
        assert.is_nil(out)
        assert.same({ "ValidationError", true }, { e.code, e.sent })
        assert.equal(1, server:seen(name).effects)
        hostile.assert_clear(e, call)
      end
    end
  end)
end)

describe("a listing", function ()
  local function page(token)
    return does({ send(answer(200, nil, json.encode {
      Parameters = { { Name = "/rtl/" .. token } }, NextToken = token,
    })) })
  end

  it("that leads back to where it was ends with an error", function ()
    local call = call_of "get_parameters_by_path"
    for _, tokens in ipairs { { "a", "a" }, { "a", "b", "a" }, { "a", "b", "c", "b" } } do
      local answers = {}
      for i, token in ipairs(tokens) do answers[i] = page(token) end
      for _, how in ipairs { "all", "pages" } do
        local name = server:script(call, { answers = answers })
        local client = server:client(call, name)
        local _, e
        if how == "all" then
          _, e = client:all(call.op, call.params)
        else
          _, e = pcall(function ()
            for each in client:pages(call.op, call.params) do assert.is_table(each) end
          end)
        end
        assert.is_true(err.has_code(e, "RTL-AWS-006"), tostring(e))
        assert.equal(#tokens, server:seen(name).requests)
      end
    end
  end)
end)

describe("a hundred calls at once", function ()
  it("are answered beside those that hang", function ()
    local calls = {}
    for i = 1, 100 do
      local call = hostile.CALLS[i % #hostile.CALLS + 1]
      local hangs = i % 10 == 0
      local script = { answers = { hangs and does({ HANG }, call.kind ~= "read") or well(call) } }
      calls[i] = { call = call, hangs = hangs, name = server:script(call, script) }
    end
    task.map(calls, function (c)
      local short = c.hangs and { reads = 0.5, writes = 0.5 } or nil
      local client = server:client(c.call, c.name, { timeouts = short })
      c.out, c.failure = client:call(c.call.op, c.call.params)
    end)
    for i, c in ipairs(calls) do
      local seen = server:seen(c.name)
      if c.hangs then
        assert.equal("RTL-NET-006", c.failure.code, i)
        assert.is_true(seen.requests <= (c.call.kind == "once" and 1 or 3), i)
        hostile.assert_clear(c.failure, c.call)
      else
        assert.truthy(hostile.id_of(c.call, c.out), i)
      end
      assert.is_true(seen.effects <= (c.call.kind == "read" and 0 or 1), i)
    end
    assert.equal(0, http.live())
  end)
end)
