-- rtl.wire on its native implementation, against real servers on the loopback.
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local http = require "rtl.native.http"
local json = require "rtl.native.json"
local process = require "rtl.process"
local proxies = require "rtl.wire.proxy"
local secret = require "rtl.native.secret"
local server = require "test.support.server"
local task = require "rtl.task"
local wire = require "rtl.wire"

local s -- the plain server

local function get(path, more)
  local req = { url = s.url .. path }
  for k, v in pairs(more or {}) do req[k] = v end
  return wire.request(req)
end

local function echo(more)
  local res = assert(get("/echo", more))
  assert.equal(200, res.status)
  return assert(json.decode(res.body))
end

local function header(seen, name)
  for _, pair in ipairs(seen.headers) do
    if pair[1]:lower() == name then return pair[2] end
  end
end

local function count(name)
  return tonumber(assert(get("/count/" .. name)).body)
end

setup(function () s = server.start() end)
teardown(function ()
  s:stop()
  http.close_idle()
end)

describe("a request", function ()
  it("sends method, headers and body, and nothing unasked", function ()
    local seen = echo { method = "post", body = "a\0b", headers = { ["X-B"] = "2", ["X-A"] = "" } }
    assert.equal("POST", seen.method)
    assert.equal("a\0b", seen.body)
    local names = {}
    for i, pair in ipairs(seen.headers) do names[i] = pair[1] end
    assert.same({ "Host", "X-A", "X-B", "User-Agent", "Content-Length" }, names)
    assert.equal("", header(seen, "x-a"))
    assert.truthy(header(seen, "user-agent"):match("^rtl/%d"))
  end)

  it("keeps the order and the repeats of a header list", function ()
    local seen = echo { headers = { { "X-B", "1" }, { "X-A", "2" }, { "X-B", 3 } } }
    local got = {}
    for _, pair in ipairs(seen.headers) do
      if pair[1]:match("^X") then got[#got + 1] = pair[1] .. pair[2] end
    end
    assert.same({ "X-B1", "X-A2", "X-B3" }, got)
  end)

  it("gives each method its framing", function ()
    for method, length in pairs {
      GET = false, DELETE = false, POST = "0", PUT = "0", PATCH = "0",
    } do
      local seen = echo { method = method }
      assert.same({ method, length }, { seen.method, header(seen, "content-length") or false })
    end
    assert.equal("DELETE", echo({ method = "DELETE", body = "{}" }).method)
    assert.equal("", assert(get("/echo", { method = "HEAD" })).body)
  end)

  it("sends the path as it stands", function ()
    local res = assert(get("/nothing/../a%2Fb//c?q=%20;x"))
    assert.equal(404, res.status)
    assert.equal("none", res.body)
    assert.equal("/echo?a=../b", echo().target .. "?a=../b")
  end)

  it("takes its body from a function, chunked or with a length", function ()
    for _, length in ipairs { 12, false } do
      local chunks = { "abc", "", "def", ("x"):rep(6) }
      local seen = echo {
        method = "PUT", length = length or nil,
        body = function () return table.remove(chunks, 1) end,
      }
      assert.equal("abcdefxxxxxx", seen.body)
      assert.equal(length and "none" or "chunked", header(seen, "transfer-encoding") or "none")
    end
  end)

  it("lets the body function wait, and passes its error on", function ()
    local left = 3
    local seen = echo { method = "PUT", body = function ()
      left = left - 1
      task.sleep(0.001)
      return left >= 0 and "z" or nil
    end }
    assert.equal("zzz", seen.body)
    assert.error_matches(function ()
      get("/echo", { method = "PUT", body = function () error("no more disk") end })
    end, "no more disk")
    assert.equal(0, http.live())
  end)

  it("carries secrets in URL, headers and body without a Lua string", function ()
    local key = secret.new("hunter2")
    local seen = echo { headers = { Authorization = secret.join("Bearer ", key) } }
    assert.equal("Bearer hunter2", header(seen, "authorization"))
    assert.equal("hunter2", echo({ method = "PUT", body = key }).body)
    local res = assert(wire.request { url = secret.join(s.url, "/echo?sig=", key) })
    assert.truthy(res.body:find("sig=hunter2", 1, true))
    local _, e = wire.request { url = secret.join("http://127.0.0.1:1/?sig=", key) }
    assert.equal("RTL-NET-002", e.code)
    assert.is_nil(tostring(e):find("hunter2", 1, true))
  end)

  it("gives the body as a secret when asked, however many pieces it has", function ()
    local res = assert(get("/stream/300?chunk=10", { secret_body = true }))
    assert.is_true(secret.is(res.body))
    assert.is_true(secret.equals(res.body, ("y"):rep(3000)))
    assert.is_true(secret.is(assert(get("/size/0", { secret_body = true })).body))
  end)

  it("gives status, reason and headers", function ()
    local res = assert(get(server.raw("HTTP/1.1 418 I'm a teapot\r\nA:1\r\na: 2 \r\nB:\r\n"
      .. "Long: x\r\n  y\r\nContent-Length: 2\r\n\r\nno")))
    assert.same({ 418, "I'm a teapot", "no" }, { res.status, res.reason, res.body })
    assert.same({ a = "1, 2", b = "", long = "x y", ["content-length"] = "2" }, res.headers)
    assert.same({ "A", "1" }, res.header_list[1])
  end)

  it("does not follow redirects", function ()
    local res = assert(get(server.raw("HTTP/1.1 302 Found\r\nLocation: /size/3\r\n"
      .. "Content-Length: 0\r\n\r\n")))
    assert.same({ 302, "/size/3" }, { res.status, res.headers.location })
  end)

  it("skips interim answers and trailers", function ()
    local res = assert(get(server.raw("HTTP/1.1 100 Continue\r\nX: early\r\n\r\n"
      .. "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      .. "2\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n")))
    assert.same({ 200, "hi" }, { res.status, res.body })
    assert.same({ ["transfer-encoding"] = "chunked" }, res.headers)
  end)

  it("takes HTTP/1.0 and bodies that end with the connection", function ()
    for _, head in ipairs { "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200\n\n" } do
      assert.equal("body", assert(get(server.raw(head .. "body", "close"))).body)
    end
  end)

  it("has no body where there is none", function ()
    for _, status in ipairs { "204 No Content", "304 Not Modified" } do
      assert.equal("", assert(get(server.raw("HTTP/1.1 " .. status .. "\r\n\r\n"))).body)
    end
  end)

  it("decodes gzip only when asked, and then says nothing of it", function ()
    local packed = crypto.base64_decode("H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA=")
    local path = server.raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
      .. #packed .. "\r\n\r\n" .. packed)
    local res = assert(get(path))
    assert.equal(packed, res.body)
    assert.equal("gzip", res.headers["content-encoding"])
    res = assert(get(path, { gzip = true }))
    assert.equal(("a"):rep(1000), res.body)
    assert.is_nil(res.headers["content-encoding"] or res.headers["content-length"])
    assert.equal("gzip", header(echo { gzip = true }, "accept-encoding"))
    local _, e = get(path, { gzip = true, max_body = 500 })
    assert.equal("RTL-NET-011", e.code)
  end)

  it("raises for misuse", function ()
    for _, bad in ipairs {
      1, {}, { url = 1 }, { url = "http://a", body = {} }, { url = "http://a", headers = { a = {} } },
      { url = "http://a", headers = { "a: b" } }, { url = "http://a", timeout = "x" },
      { url = "http://a", idle = -1 }, { url = "http://a", tls = 1 },
      { url = "http://a", tls = { ca = 1 } }, { url = "http://a", length = 1.5 },
    } do
      assert.error_matches(function () wire.request(bad) end, "bad argument #1 to 'request'")
    end
  end)

  it("reuses its connection, and runs many at once", function ()
    http.close_idle()
    assert.equal(1, echo().served)
    assert.equal(2, echo().served)
    local results = task.map(table.pack(("x"):rep(60):byte(1, -1)), function (_, i)
      return #assert(get("/size/" .. i * 100)).body
    end, 20)
    for i = 1, 60 do assert.equal(i * 100, results[i]) end
    assert.equal(0, http.live())
  end)
end)

describe("a stream", function ()
  it("is read piece by piece to its end", function ()
    local res <close> = assert(get("/stream/20?chunk=50000", { stream = true }))
    local size, pieces = 0, 0
    for bytes in function () return res:read() end do
      size, pieces = size + #bytes, pieces + 1
    end
    assert.equal(1000000, size)
    assert.is_true(pieces > 1)
    assert.is_nil(res:read())
  end)

  it("holds a fast server while nobody reads", function ()
    local before = count("streamed")
    local res <close> = assert(get("/stream/4000?chunk=65536&then=hang", { stream = true }))
    local sent, last = -1, -2
    while sent ~= last do -- until the server can send no more
      last = sent
      for _ = 1, 20 do
        task.sleep(0.005)
        sent = count("streamed") - before
      end
    end
    assert.is_true(sent < 40 << 20, sent .. " of 250 MB went out to a reader that reads nothing")
    local got = 0
    while got <= sent do got = got + #assert(res:read()) end
    assert.is_true(count("streamed") - before > sent)
  end)

  it("ends at once when closed, also under its reader", function ()
    local res = assert(get("/hold-head", { stream = true }))
    res:close()
    assert.is_nil(res:read())
    res = assert(get("/stream/1?then=hang", { stream = true, idle = false }))
    assert(res:read())
    task.group(function (g)
      local reader = g:spawn(function () return res:read() end)
      task.yield()
      res:close()
      local bytes, e = reader:join()
      assert.is_nil(bytes)
      assert.equal("RTL-NET-015", e.code)
    end)
    assert.equal(0, http.live())
  end)

  it("is closed by a deadline or a failure around it", function ()
    local result, e = task.deadline(0.05, function ()
      local res <close> = assert(get("/stream/1?then=hang", { stream = true }))
      while res:read() do end
    end)
    assert.is_nil(result)
    assert.equal("RTL-TASK-001", e.code)
    assert.equal(0, http.live())
  end)
end)

describe("a request that is cancelled", function ()
  local states = {
    ["while the name is looked up"] = { url = "http://slow.invalid/" },
    ["while it connects"] = { url = "http://127.0.0.1:1/" },
    ["while it waits for the answer"] = { path = "/hold" },
    ["inside of the answer's head"] = { raw = "HTTP/1.1 200 OK\r\nA:" },
    ["inside of the body"] = { raw = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc" },
    ["while it sends"] = { path = "/hold", method = "PUT",
      body = function () return ("x"):rep(100000) end },
  }
  for name, state in pairs(states) do
    it("ends at once " .. name, function ()
      task.group(function (g)
        local url = state.url or s.url .. (state.path or server.raw(state.raw, "hang"))
        local t = g:spawn(function ()
          return wire.request { url = url, method = state.method, body = state.body }
        end)
        for _ = 1, state.url and 1 or 20 do task.sleep(0.001) end
        t:cancel()
        t:join()
      end)
      assert.equal(0, http.live())
    end)
  end
end)

describe("an answer that is wrong", function ()
  local HUGE = ("h"):rep(90000)
  local table_of = {
    { "is no HTTP", "hello, this is not HTTP\r\n\r\n", "close", "RTL-NET-010" },
    { "is SSH", "SSH-2.0-OpenSSH_9.2\r\n", "close", "RTL-NET-010" },
    { "has a garbled status", "HTTP/1.1 abc OK\r\n\r\n", "close", "RTL-NET-010" },
    { "is empty", "", "close", "RTL-NET-008" },
    { "ends in its head", "HTTP/1.1 200 OK\r\nContent-Le", "close", "RTL-NET-008" },
    { "ends in its body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "close", "RTL-NET-009" },
    { "is reset in its body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "reset", "RTL-NET-009" },
    { "is reset", "", "reset", "RTL-NET-008" },
    { "lacks its last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
      "close", "RTL-NET-009" },
    { "has a chunk that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc",
      "close", "RTL-NET-009" },
    { "has a chunk without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      .. "ffffffffffffffffff\r\nabc", "close", "RTL-NET-009" },
    { "is no gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
      "keep", "RTL-NET-010" },
    { "has headers without end", "HTTP/1.1 200 OK\r\n" .. ("A: " .. HUGE .. "\r\n"):rep(4), "hang",
      "RTL-NET-011" },
    { "has interim answers without end", ("HTTP/1.1 100 Continue\r\n\r\n"):rep(20000), "hang",
      "RTL-NET-011" },
    { "has a huge header line", "HTTP/1.1 200 OK\r\nA: " .. HUGE .. HUGE .. HUGE .. HUGE, "hang",
      "RTL-NET-011" },
    { "is larger than allowed", "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" .. ("x"):rep(1001),
      "keep", "RTL-NET-011" },
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
    assert.equal(200, echo() and 200)
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
      local e = fails { url = url, connect_timeout = 5 }
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
    local e = fails { url = s.url .. "/hold", timeout = 0.05 }
    assert.same({ "RTL-NET-007", true }, { e.code, e.sent })
    e = fails { url = s.url .. "/hold", idle = 0.05 }
    assert.same({ "RTL-NET-006", true }, { e.code, e.sent })
    e = fails { url = s.url .. "/drip/100?pause=0.01", timeout = 0.1, idle = 5 }
    assert.equal("RTL-NET-007", e.code)
  end)

  it("is not idle while bytes come, or while the reader is slow", function ()
    assert.equal(8, #assert(get("/drip/8?pause=0.05", { idle = 0.3 })).body)
    local res <close> = assert(get("/stream/100", { stream = true, idle = 0.05 }))
    task.sleep(0.2)
    local size = 0
    for bytes in function () return (assert(res:read() or "") ~= "" or nil) and res:read() end do
      size = size + #bytes
    end
    assert.is_true(size > 0)
  end)
end)

describe("a request that is sent once", function ()
  local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  it("is not repeated on a kept connection that died", function ()
    for _, body in ipairs { "some body", "", false } do
      http.close_idle()
      local name = "once" .. tostring(body):sub(1, 4)
      assert(get(server.raw(OK, "die-next")))
      local res, e = get("/echo?name=" .. name, { method = "POST", body = body or nil, once = true })
      assert.is_nil(res)
      assert.same({ "RTL-NET-008", true, false }, { e.code, e.sent, e.retryable })
      assert.equal(1, count(name))
    end
  end)

  it("goes out on a new connection when the kept one was closed before", function ()
    http.close_idle()
    assert(get(server.raw(OK, "close")))
    task.sleep(0.02)
    assert(get("/echo?name=fresh", { method = "POST", body = "x", once = true }))
    assert.equal(1, count("fresh"))
  end)

  it("is told from one that may be repeated", function ()
    http.close_idle()
    assert(get(server.raw(OK, "die-next")))
    local seen = json.decode(assert(get("/echo?name=twice", { method = "POST", body = "again" })).body)
    assert.equal("again", seen.body)
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

describe("TLS", function ()
  local dir, tls, mutual, other, expired

  local function pem(name) return assert(fs.read(fs.join(dir, name))) end
  local function start(name, ...)
    return server.start("--cert", fs.join(dir, name .. ".pem"), "--key",
      fs.join(dir, name .. ".key"), ...)
  end

  setup(function ()
    dir = assert(fs.temp_dir("rtl-wire-"))
    server.certificates(dir)
    tls, other, expired = start("server"), start("other"), start("expired")
    mutual = start("server", "--client-ca", fs.join(dir, "ca.pem"))
  end)
  teardown(function ()
    for _, each in ipairs { tls, mutual, other, expired } do each:stop() end
    http.close_idle()
    fs.remove_tree(dir)
  end)

  local function try(which, options, host)
    return wire.request {
      url = ("https://%s:%d/echo"):format(host or "127.0.0.1", which.port), tls = options,
    }
  end
  local function code_of(...)
    local res, e = try(...)
    return res and res.status or e.code, e
  end

  it("trusts a CA from memory or a file, and only it", function ()
    assert.equal(200, code_of(tls, { ca = pem "ca.pem" }))
    assert.equal(200, code_of(tls, { ca_file = fs.join(dir, "ca.pem") }))
    assert.equal(200, code_of(tls, { ca = pem "ca.pem" }, "localhost"))
    assert.equal("RTL-NET-003", code_of(tls, nil))
    assert.equal("RTL-NET-003", code_of(tls, { ca = pem "other.pem" }))
    assert.is_false(select(2, code_of(tls, nil)).sent)
  end)

  it("does not reuse a connection that another trust made", function ()
    assert.equal(200, code_of(tls, { ca = pem "ca.pem" }))
    assert.equal("RTL-NET-003", code_of(tls, nil))
    assert.equal(200, code_of(tls, { insecure = true }))
  end)

  it("checks the name", function ()
    assert.equal("RTL-NET-003", code_of(other, { ca = pem "ca.pem" }))
    local options = { ca = pem "ca.pem", server_name = "elsewhere.test" }
    local res = assert(try(other, options))
    local seen = json.decode(res.body)
    assert.equal("127.0.0.1:" .. other.port, header(seen, "host"))
    options.server_name = "wrong.test"
    assert.equal("RTL-NET-003", code_of(other, options))
  end)

  it("refuses an expired certificate", function ()
    assert.equal("RTL-NET-003", code_of(expired, { ca = pem "ca.pem" }))
  end)

  it("verifies nothing only when told so", function ()
    assert.equal(200, code_of(other, { insecure = true }))
    assert.equal(200, code_of(expired, { insecure = true }))
  end)

  it("shows its own certificate when it has one", function ()
    local options = { ca = pem "ca.pem", cert = pem "client.pem", key = secret.new(pem "client.key") }
    assert.equal(200, code_of(mutual, options))
    local res, e = try(mutual, { ca = pem "ca.pem" })
    assert.is_nil(res)
    assert.truthy(e.code:match("^RTL%-NET%-00[48]$"), tostring(e))
    http.close_idle()
    options.key = pem "server.key"
    assert.equal("RTL-NET-004", code_of(mutual, options))
    options.cert, options.key = "no PEM", "no PEM"
    assert.equal("RTL-NET-004", code_of(mutual, options))
    assert.truthy(code_of(tls, { ca = "no PEM" }):match("^RTL%-NET%-00[34]$"))
  end)

  it("is not spoken to a plain port, nor plain to a TLS port", function ()
    local e = select(2, wire.request { url = "https://127.0.0.1:" .. s.port .. "/reset-at-once",
      tls = { insecure = true }, connect_timeout = 0.3 })
    assert.truthy(e.code:match("^RTL%-NET%-00[45]$"), tostring(e))
    e = select(2, wire.request { url = "http://127.0.0.1:" .. tls.port .. "/echo" })
    assert.truthy(e.code:match("^RTL%-NET%-0[01][80]$"), tostring(e))
  end)

  describe("and a byte stream", function ()
    local function open(which, path)
      local stream = assert(wire.connect {
        url = "https://127.0.0.1:" .. which.port, tls = { ca = pem "ca.pem" },
      })
      if path then assert(stream:write("GET " .. path .. " HTTP/1.1\r\nHost: x\r\n\r\n")) end
      return stream
    end

    it("carries bytes both ways until the other side closes", function ()
      local stream <close> = open(tls, server.raw("hello", "close"))
      assert.equal("hello", stream:read())
      assert.is_nil(stream:read())
      assert.is_nil(select(2, stream:read()))
    end)

    it("reads in the pieces asked for, without losing what TLS holds", function ()
      local stream <close> = open(tls, server.raw(("0123456789"):rep(1000), "hang"))
      local got = {}
      while #table.concat(got) < 10000 do
        got[#got + 1] = assert(stream:read(7))
        assert.is_true(#got[#got] <= 7)
      end
      assert.equal(("0123456789"):rep(1000), table.concat(got))
    end)

    it("keeps the order of several writers, and large writes whole", function ()
      local stream <close> = open(tls)
      local parts = { "POST /echo HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n" }
      for i = 1, 3 do parts[i + 1] = (tostring(i)):rep(1000000) end
      task.group(function (g)
        for _, part in ipairs(parts) do g:spawn(function () assert(stream:write(part)) end) end
        g:spawn(function ()
          local got = ""
          while not got:find("333\"", -20, true) do got = got .. assert(stream:read()) end
          local body = got:match('"body": "(%d+)"')
          assert.is_true(body == table.concat(parts, "", 2))
        end)
      end)
    end)

    it("lives while other requests look for dead connections", function ()
      local stream <close> = open(tls, server.raw("waiting", "hang"))
      for _ = 1, 3 do
        assert.equal(200, code_of(tls, { ca = pem "ca.pem" }))
        http.close_idle()
        task.sleep(0.01)
      end
      assert.equal("waiting", stream:read())
    end)

    it("ends at once when closed, under its reader too", function ()
      local stream = open(tls, "/hold")
      task.group(function (g)
        local reader = g:spawn(function () return stream:read() end)
        task.yield()
        stream:close()
        stream:close()
        local bytes, e = reader:join()
        assert.same({ nil, "RTL-NET-015" }, { bytes, e.code })
      end)
      assert.equal("RTL-NET-015", select(2, stream:write("x")).code)
    end)

    it("can be read again after a deadline", function ()
      local stream <close> = open(tls, "/hold")
      local bytes, e = task.deadline(0.02, stream.read, stream)
      assert.same({ nil, "RTL-TASK-001" }, { bytes, e.code })
      bytes, e = task.deadline(0.02, stream.read, stream)
      assert.same({ nil, "RTL-TASK-001" }, { bytes, e.code })
    end)

    it("says when the connection is reset, or never stood", function ()
      local stream <close> = open(tls, "/reset-at-once")
      local bytes, e = stream:read()
      assert.same({ nil, "RTL-NET-008" }, { bytes, e and e.code })
      bytes, e = wire.connect { url = "https://127.0.0.1:" .. other.port,
        tls = { ca = pem "ca.pem" } }
      assert.same({ nil, "RTL-NET-003" }, { bytes, e.code })
      bytes, e = wire.connect { url = "http://127.0.0.1:1" }
      assert.same({ nil, "RTL-NET-002" }, { bytes, e.code })
    end)

    it("works without TLS too", function ()
      local stream <close> = assert(wire.connect { url = s.url })
      assert(stream:write(secret.new("GET /size/1 HTTP/1.1\r\n\r\n")))
      assert.truthy(stream:read():match("^HTTP/1.1 200"))
    end)
  end)

  describe("and a proxy", function ()
    local proxy, locked
    setup(function () proxy, locked = server.start("--proxy"), server.start("--proxy", "--login", "u:p w") end)
    teardown(function ()
      proxy:stop()
      locked:stop()
      http.close_idle()
    end)

    local function through(proxy_url, url, more)
      local req = { url = url, proxy = proxy_url, tls = { ca = pem "ca.pem" } }
      for k, v in pairs(more or {}) do req[k] = v end
      return wire.request(req)
    end

    it("is asked for plain requests, and tunnels TLS", function ()
      local res = assert(through(proxy.url, "http://only.proxy.test/x"))
      assert.equal("http://only.proxy.test/x", json.decode(res.body).proxied)
      res = assert(through(proxy.url, ("https://127.0.0.1:%d/echo"):format(tls.port)))
      assert.equal(200, res.status)
      assert.is_nil(res.headers["x-from"])
      res = assert(through(proxy.url, ("https://elsewhere.test:%d/echo"):format(other.port)))
      assert.equal(200, res.status)
    end)

    it("wants its login", function ()
      local url = ("https://127.0.0.1:%d/echo"):format(tls.port)
      local res, e = through(locked.url, url)
      assert.is_nil(res)
      assert.same({ "RTL-NET-012", false }, { e.code, e.sent })
      local with = secret.new((locked.url:gsub("//", "//u:p%%20w@")))
      assert.equal(200, assert(through(with, url)).status)
    end)

    it("carries byte streams", function ()
      local stream <close> = assert(wire.connect { proxy = proxy.url,
        url = "https://127.0.0.1:" .. tls.port, tls = { ca = pem "ca.pem" } })
      assert(stream:write("GET " .. server.raw("hi", "close") .. " HTTP/1.1\r\n\r\n"))
      assert.equal("hi", stream:read())
    end)

    it("is an error of its own when it is not there", function ()
      local _, e = through("http://127.0.0.1:1", "https://a.test/")
      assert.equal("RTL-NET-002", e.code)
      _, e = through("http://no-such-proxy.invalid:1", "https://a.test/")
      assert.equal("RTL-NET-012", e.code)
    end)

    it("comes from the environment, as rtl.process gives it", function ()
      local env = { HTTP_PROXY = proxy.url }
      local former = process.use { getenv = function (name) return env[name] end }
      local _ <close> = setmetatable({}, { __close = function () process.use(former) end })
      local res = assert(wire.request { url = "http://only.proxy.test/y" })
      assert.equal("http://only.proxy.test/y", json.decode(res.body).proxied)
      env.NO_PROXY = ".proxy.test"
      assert.equal("RTL-NET-001", select(2, wire.request { url = "http://only.proxy.test/y" }).code)
      env.NO_PROXY = nil
      assert.equal("RTL-NET-001",
        select(2, wire.request { url = "http://only.proxy.test/y", proxy = false }).code)
    end)
  end)
end)

describe("the environment's proxy", function ()
  local function choose(env, scheme, host, port)
    return proxies.choose(scheme, host, port, function (name) return env[name] end)
  end

  it("goes by scheme, small letters first", function ()
    local env = { http_proxy = "h", HTTPS_PROXY = "S", https_proxy = "s", ALL_PROXY = "a" }
    assert.equal("h", choose(env, "http", "x.test", 80))
    assert.equal("s", choose(env, "https", "x.test", 443))
    assert.equal("a", choose({ ALL_PROXY = "a" }, "https", "x.test", 443))
    assert.is_nil(choose({ HTTPS_PROXY = "" }, "https", "x.test", 443))
  end)

  it("leaves out what NO_PROXY covers, and what is near", function ()
    for _, case in ipairs {
      { "*", "x.test", true }, { "x.test", "x.test", true }, { "x.test", "a.x.test", true },
      { ".x.test", "a.x.test", true }, { "*.x.test", "a.x.test", true }, { "x.test", "ax.test", false },
      { "X.TEST", "x.test", true }, { "a, x.test b", "x.test", true }, { "x.test:444", "x.test", false },
      { "x.test:443", "x.test", true }, { "10.0.0.0/8", "10.9.8.7", true },
      { "10.0.0.0/8", "11.9.8.7", false }, { "10.1.2.3", "10.1.2.3", true },
      { "10.0.0.0/40", "10.1.2.3", false }, { "", "x.test", false }, { "x", "169.254.169.254", true },
      { "x", "127.0.0.1", true }, { "x", "localhost", true }, { "x", "[::1]", true },
      { "x", "[fd00:ec2::254]", true }, { "x", "[2001:db8::1]", false },
    } do
      local env = { https_proxy = "p", no_proxy = case[1] }
      assert.equal(not case[3] and "p" or nil, choose(env, "https", case[2], 443), case[1] .. " " .. case[2])
    end
  end)
end)

describe("another implementation", function ()
  local former
  local function use(impl)
    former = wire.use(impl)
  end
  after_each(function () wire.use(former) end)

  it("gets normalised requests and answers in bytes or pieces", function ()
    local seen
    use { request = function (req)
      seen = req
      local left = { "a", "b" }
      return req.url == "http://whole/" and { status = 200, headers = { { "A", "1" } }, body = "whole" }
        or { status = 201, headers = {}, read = function () return table.remove(left, 1) end }
    end }
    local res = assert(wire.request { url = "http://whole/", headers = { b = "2", a = "1" } })
    assert.same({ "whole", "1" }, { res.body, res.headers.a })
    assert.same({ "a", "b", "User-Agent" }, { seen.headers[1][1], seen.headers[2][1], seen.headers[3][1] })
    assert.same({ "GET", 60, 10 }, { seen.method, seen.idle, seen.connect_timeout })
    assert.equal("ab", assert(wire.request { url = "http://pieces/" }).body)
    res = assert(wire.request { url = "http://whole/", stream = true })
    assert.same({ "whole" }, { res:read(), res:read() })
  end)

  it("says who it is", function ()
    use { request = function () end, describe = function ()
      return { name = "a world", unconfirmed = { "x" } }
    end }
    assert.same({ name = "a world", unconfirmed = { "x" } }, wire.describe())
    wire.use(wire.native)
    assert.same({ name = "native", unconfirmed = {} }, wire.describe())
    assert.error_matches(function () wire.use {} end, "bad argument #1")
  end)
end)
