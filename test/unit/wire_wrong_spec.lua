-- rtl.wire on its native implementation: what goes wrong, and what `once` keeps.
local err = require "rtl.err"
local http = require "rtl.native.http"
local json = require "rtl.native.json"
local server = require "test.support.server"
local task = require "rtl.task"
local wire = require "rtl.wire"

local s -- the plain server

local function get(path, more) return s:get(path, more) end

local function count(name) return s:count(name) end

-- A busy machine may keep either side from running for longer than the time that is tested: then
-- it is tried again with all times doubled. Returns what `try(unit)` (seconds) gave, if anything.
local function in_time(try)
  for i = 0, 8 do
    local got = try(0.05 * 2 ^ i)
    if got then return got end
  end
end

setup(function () s = server.start() end)
teardown(function ()
  s:stop()
  http.close_idle()
end)

describe("an answer that is wrong", function ()
  local NINE = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
  local HUGE = ("h"):rep(90000)
  local table_of = {
    { "is no HTTP", "hello, this is not HTTP\r\n\r\n", "close", "RTL-NET-010" },
    { "is SSH", "SSH-2.0-OpenSSH_9.2\r\n", "close", "RTL-NET-010" },
    { "has a garbled status", "HTTP/1.1 abc OK\r\n\r\n", "close", "RTL-NET-010" },
    { "is empty", "", "close", "RTL-NET-008" },
    { "ends in its head", "HTTP/1.1 200 OK\r\nContent-Le", "close", "RTL-NET-008" },
    { "ends in its body", NINE .. "abc", "close", "RTL-NET-009" },
    { "is reset in its body", NINE .. "abc", "reset", "RTL-NET-009" },
    { "is reset", "", "reset", "RTL-NET-008" },
    { "lacks its last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
      "close", "RTL-NET-009" },
    { "has a chunk that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc",
      "close", "RTL-NET-009" },
    { "has a chunk without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      .. "ffffffffffffffffff\r\nabc", "close", "RTL-NET-009" },
    { "is no gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
      "keep", "RTL-NET-010" },
    { "is packed as nobody asked for", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n"
      .. "Content-Length: 3\r\n\r\nabc", "keep", "RTL-NET-010" },
    { "is packed twice", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\ncontent-encoding: gzip\r\n"
      .. "Content-Length: 3\r\n\r\nabc", "keep", "RTL-NET-010" },
    { "packs its chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,chunked\r\n\r\n"
      .. "0\r\n\r\n", "keep", "RTL-NET-010" },
    { "has headers without end", "HTTP/1.1 200 OK\r\n" .. ("A: " .. HUGE .. "\r\n"):rep(4), "hang",
      "RTL-NET-011" },
    { "has interim answers without end", ("HTTP/1.1 100 Continue\r\n\r\n"):rep(20000), "hang",
      "RTL-NET-011" },
    { "has a huge header line", "HTTP/1.1 200 OK\r\nA: " .. HUGE .. HUGE .. HUGE .. HUGE, "hang",
      "RTL-NET-011" },
    { "is larger than allowed", "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"
      .. ("x"):rep(1001), "keep", "RTL-NET-011" },
    { "says a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc", "close",
      "RTL-NET-010" },
  }
  for _, case in ipairs(table_of) do
    it("is an error when it " .. case[1], function ()
      local res, e = get("/raw/?then=" .. case[3], {
        method = "POST", body = case[2], max_body = 1000, gzip = true, idle = 5,
      })
      assert.is_nil(res)
      assert.equal(case[4], e.code, tostring(e))
      assert.is_true(e.sent)
      assert.truthy(tostring(e):find("POST http://127.0.0.1", 1, true))
      assert.equal(0, http.live())
    end)
  end

  it("takes a body that is longer than said as far as it was said", function ()
    local res = assert(get(server.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabcd", "close")))
    assert.equal("ab", res.body)
    assert.equal(200, assert(get("/echo")).status)
  end)

  it("swells no further than it may", function ()
    local res, e = get("/bomb/80", { gzip = true })
    assert.same({ nil, "RTL-NET-011" }, { res, e.code })
    for _, most in ipairs { 1000, 300000, 700000, (1 << 20) - 1 } do -- in one piece, or paused
      res, e = get("/bomb/1", { gzip = true, max_body = most })
      assert.same({ nil, "RTL-NET-011" }, { res, e.code }, most)
    end
    assert.equal(1 << 20, #assert(get("/bomb/1", { gzip = true, max_body = 1 << 20 })).body)
    local swollen <close> = assert(get("/bomb/40", { gzip = true, stream = true }))
    local size, bytes = 0, ""
    while bytes do
      size = size + #bytes
      bytes, e = swollen:read()
    end
    assert.same({ 40 << 20 }, { size, e })
  end)

  it("tells what was read before the body broke off", function ()
    local res <close> = assert(get(server.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
      "close"), { stream = true }))
    assert.equal("abc", res:read())
    local bytes, e = res:read()
    assert.is_nil(bytes)
    assert.equal("RTL-NET-009", e.code)
    assert.equal(e, select(2, res:read()))
  end)
end)

describe("what is not reached", function ()
  local function fails(req)
    local res, e = wire.request(req)
    assert.is_nil(res)
    assert.is_true(err.is(e))
    return e
  end

  it("has a code, and was not sent", function ()
    for url, code in pairs {
      ["http://no-such-host.invalid/"] = "RTL-NET-001",
      ["http://127.0.0.1:1/"] = "RTL-NET-002",
      ["ftp://127.0.0.1/"] = "RTL-NET-014",
      ["http://"] = "RTL-NET-014",
      ["http://user:pw@127.0.0.1/"] = "RTL-NET-014",
      ["file:///etc/passwd"] = "RTL-NET-014",
      ["http://127.0.0.1:99999/"] = "RTL-NET-014",
    } do
      local e = fails { url = url, proxy = false, connect_timeout = 60 } -- for far name servers
      assert.same({ code, false }, { e.code, e.sent }, url)
    end
  end)

  it("ends after the connect time-out", function ()
    local mute = server.start("--mute")
    local e = fails { url = "https://127.0.0.1:" .. mute.port .. "/", connect_timeout = 0.1 }
    mute:stop()
    assert.same({ "RTL-NET-005", false }, { e.code, e.sent })
  end)

  it("ends after its time-out, and after the idle time-out", function ()
    for limit, code in pairs { timeout = "RTL-NET-007", idle = "RTL-NET-006" } do
      local sent = in_time(function (unit)
        local e = fails { url = s.url .. "/hold", [limit] = unit }
        return e.sent and e
      end)
      assert.equal(code, sent and sent.code)
    end
    local e = fails { url = s.url .. "/drip/100?pause=0.01", timeout = 0.1, idle = 5 }
    assert.equal("RTL-NET-007", e.code)
  end)

  it("is not idle while bytes come", function ()
    assert.equal(24, in_time(function (unit)
      local res, e = get(("/drip/24?pause=%g"):format(unit / 2), { idle = unit * 10 })
      assert.is_true(res ~= nil or e.code == "RTL-NET-006")
      return res and #res.body
    end))
  end)

  it("is not idle while the reader is slow", function ()
    assert.equal(100 * 65536, in_time(function (unit)
      local res <close> = get("/stream/100", { stream = true, idle = unit * 2 })
      if not res then return nil end
      task.sleep(unit * 4)
      local size = 0
      for bytes in function () return res:read() end do size = size + #bytes end
      return size == 100 * 65536 and size
    end))
  end)
end)

describe("a request that is sent once", function ()
  local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  it("is not repeated on a kept connection that died", function ()
    for _, body in ipairs { "some body", "", false } do
      http.close_idle()
      local name = "once" .. tostring(body):sub(1, 4)
      assert(get(server.raw(OK, "die-next")))
      local res, e = get("/echo?name=" .. name, {
        method = "POST", body = body or nil, once = true,
      })
      assert.is_nil(res)
      assert.same({ "RTL-NET-008", true, false }, { e.code, e.sent, e.retryable })
      assert.equal(1, count(name))
    end
  end)

  it("goes out on a new connection when the kept one was closed before", function ()
    local res
    for i = 1, 50 do -- until the close has arrived before the next request
      http.close_idle()
      assert(get(server.raw(OK, "close")))
      task.sleep(0.001 * i)
      res = get("/echo?name=fresh" .. i, { method = "POST", body = "x", once = true })
      assert.is_true(count("fresh" .. i) <= 1)
      if res then break end
    end
    assert.equal(200, res and res.status)
  end)

  it("is told from one that may be repeated", function ()
    http.close_idle()
    assert(get(server.raw(OK, "die-next")))
    local res = assert(get("/echo?name=twice", { method = "POST", body = "again" }))
    assert.equal("again", json.decode(res.body).body)
    assert.is_true(res.repeated)
    assert.is_false(assert(get("/echo")).repeated)
    assert.equal(2, count("twice"))
  end)

  it("can't be repeated when its body was a function", function ()
    http.close_idle()
    assert(get(server.raw(OK, "die-next")))
    local parts = { "a", "b" }
    local res, e = get("/echo?name=flow", { method = "POST", length = 2,
      body = function () return table.remove(parts, 1) end })
    assert.is_nil(res)
    assert.same({ "RTL-NET-008", true }, { e.code, e.sent })
    assert.equal(1, count("flow"))
  end)
end)
