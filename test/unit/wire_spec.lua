-- rtl.wire on its native implementation, against real servers on the loopback: what goes well.
local crypto = require "rtl.native.crypto"
local fs = require "rtl.fs"
local http = require "rtl.native.http"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"
local server = require "test.support.server"
local task = require "rtl.task"
local wire = require "rtl.wire"

local s -- the plain server

local function get(path, more) return s:get(path, more) end

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

local function count(name) return s:count(name) end

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
    local heads = { "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200\n\n" }
    for _, head in ipairs(heads) do
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
      1, {}, { url = 1 }, { url = "http://a", body = {} },
      { url = "http://a", headers = { a = {} } },
      { url = "http://a", headers = { "a: b" } }, { url = "http://a", timeout = "x" },
      { url = "http://a", idle = -1 }, { url = "http://a", tls = 1 },
      { url = "http://a", tls = { ca = 1 } }, { url = "http://a", length = 1.5 },
    } do
      assert.error_matches(function () wire.request(bad) end, "bad argument #1 to 'request'")
    end
  end)

  it("leaves nothing of a request to the next one", function ()
    local plain = echo()
    echo { method = "PUT", body = "b", gzip = true, once = true, headers = { A = "1" } }
    assert.equal("", assert(get("/echo", { method = "HEAD" })).body)
    local left = 2
    echo { method = "POST", body = function ()
      left = left - 1
      return left > 0 and "c" or nil
    end }
    local seen = echo()
    for _, part in ipairs { "method", "headers", "body" } do
      assert.same(plain[part], seen[part])
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
    local MOST = 40 << 20
    local before = count "streamed"
    local res <close> = assert(get("/stream/4000?chunk=65536&then=hang", { stream = true }))
    local sent, stalls = 0, count "stalled"
    -- Until the server has tried in vain, from before the first of two looks until the second.
    while sent < MOST do
      local now, tries = count "streamed" - before, count "stalled"
      if now == sent and tries > stalls + 1 then break end
      if now ~= sent then sent, stalls = now, tries end
      task.sleep(0.005)
    end
    assert.is_true(sent < MOST, "250 MB go out to a reader that reads nothing")
    repeat assert(res:read(), "the server is held for ever") until count "streamed" - before > sent
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
  local mute, chunks
  setup(function () mute = server.start("--mute") end)
  teardown(function () mute:stop() end)
  before_each(function () chunks = 0 end)

  local function endless()
    chunks = chunks + 1
    return ("x"):rep(100000)
  end

  -- `name`: what the server calls a request that it has read.
  local states = {
    ["while the name is looked up"] = { url = "http://slow.invalid/" },
    ["while it connects"] = { url = "http://127.0.0.1:1/" },
    ["while TLS is agreed on"] = { mute = true },
    ["while it waits for the answer"] = { name = "waits", path = "/hold?" },
    ["inside of the answer's head"] = { name = "head",
      path = server.raw("HTTP/1.1 200 OK\r\nA:", "hang") .. "&" },
    ["inside of the body"] = { name = "body",
      path = server.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "hang") .. "&" },
    ["while it sends"] = { path = "/hold?", method = "PUT", body = endless },
  }

  local function url_of(state)
    if state.mute then return "https://127.0.0.1:" .. mute.port end
    return state.url or ("%s%sname=%s"):format(s.url, state.path, state.name or "")
  end

  local function is_reached(state)
    if state.name then return count(state.name) > 0 end
    return not state.body or chunks > 20
  end

  local function descriptors()
    http.close_idle()
    return #fs.list("/proc/self/fd")
  end

  -- libcurl's resolver is a thread: cancelled, it is left alone and ends when the lookup does, for
  -- which the C library takes half a minute where no name server answers.
  local function wait_for_resolver(before)
    for _ = 1, 12000 do
      if descriptors() <= before then break end
      task.sleep(0.005)
    end
  end

  for name, state in pairs(states) do
    it("ends at once " .. name, function ()
      local before = descriptors()
      task.group(function (g)
        local t = g:spawn(wire.request, { url = url_of(state), proxy = false, method = state.method,
          body = state.body })
        repeat task.sleep(0.001) until is_reached(state)
        t:cancel()
        t:join()
      end)
      assert.equal(0, http.live())
      if state.url then wait_for_resolver(before) end
    end)
  end
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
      if req.url == "http://whole/" then
        return { status = 200, headers = { { "A", "1" } }, body = "whole" }
      end
      return { status = 201, headers = {}, read = function () return table.remove(left, 1) end }
    end }
    local res = assert(wire.request { url = "http://whole/", headers = { b = "2", a = "1" } })
    assert.same({ "whole", "1" }, { res.body, res.headers.a })
    for i, name in ipairs { "a", "b", "User-Agent" } do assert.equal(name, seen.headers[i][1]) end
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
