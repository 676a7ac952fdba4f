-- rtl.native.http by itself: what a handle gives, and what misuse raises; the wire specs have the
-- rest.
local http = require "rtl.native.http"
local loop = require "rtl.native.loop"
local secret = require "rtl.native.secret"
local server = require "test.support.server"
local task = require "rtl.task"

describe("rtl.native.http", function ()
  local s

  setup(function () s = server.start() end)
  teardown(function ()
    s:stop()
    http.close_idle()
  end)

  -- One table for both of http.start's.
  local function start(path, more)
    local o = { url = s.url .. path, method = "GET", headers = {}, connect_timeout = 5,
      stream = true }
    for k, v in pairs(more or {}) do o[k] = v end
    return http.start(o, o)
  end

  it("gives head, data and end, in this order", function ()
    local h <close> = start("/size/3")
    assert.same({ "head", 200, "OK", { { "Content-Length", "3" } }, 1 }, { task.await(h) })
    assert.same({ "data", "xxx" }, { task.await(h) })
    assert.same({ "end" }, { task.await(h) })
    assert.same({ "end" }, { task.await(h) })
  end)

  it("gives an answer that is no stream when all of it is there", function ()
    local h <close> = start("/size/300000", { stream = false })
    local event, status, _, _, sendings, body = task.await(h)
    assert.same({ "head", 200, 1, 300000 }, { event, status, sendings, #body })
    assert.same({ "end" }, { task.await(h) })
  end)

  it("asks for each chunk of an upload once", function ()
    local h <close> = start("/echo", { method = "POST", body = print })
    assert.equal("want", task.await(h))
    assert.is_false(h:take())
    h:feed("one")
    assert.equal("want", task.await(h))
    h:feed(nil)
    assert.equal("head", task.await(h))
  end)

  it("closes at once, in any state, and says that it is closed", function ()
    local before = loop.live()
    for _, waits in ipairs { 0, 1, 2 } do
      local h = start("/size/100000")
      for _ = 1, waits do task.await(h) end
      h:close()
      h:close()
      assert.same({ true, "failed", "closed" }, { table.unpack({ h:take() }, 1, 3) })
      assert.error_matches(function () h:token() end, "closed")
      assert.error_matches(function () h:feed("x") end, "closed")
      loop.wait(0)
    end
    assert.equal(0, http.live())
    http.close_idle()
    assert.same(before, loop.live())
  end)

  it("frees what nobody closed", function ()
    do start("/hold") end
    collectgarbage()
    collectgarbage()
    assert.equal(0, http.live())
  end)

  it("gives bodies as secrets when asked", function ()
    local h <close> = start("/size/4", { secret_body = true })
    task.await(h)
    local _, bytes = task.await(h)
    assert.is_true(secret.is(bytes))
    assert.is_true(secret.equals(bytes, "xxxx"))
  end)

  it("keeps a body whose secret is closed while it is sent", function ()
    local body = secret.new(("k"):rep(1000))
    local h <close> = start("/echo", { method = "PUT", body = body })
    body:close()
    task.await(h)
    local _, bytes = task.await(h)
    assert.truthy(bytes:find(("k"):rep(1000), 1, true))
  end)

  it("refuses what is no header", function ()
    for _, pair in ipairs {
      { "A\r\nB", "x" }, { "", "x" }, { "A:", "x" }, { "A b", "x" }, { "A", "x\r\nB: y" },
      { "A", "x\n" }, { "A", "x\0y" }, { "A", secret.new("x\r\nB: y") }, { "A", 1 }, { "A" }, {},
      "A: x", false,
    } do
      local headers = { { "Good", "yes" }, pair }
      assert.error_matches(function () start("/echo", { headers = headers }) end,
        "header number 2")
    end
    assert.equal(0, http.live())
  end)

  it("refuses what is no option", function ()
    for field, value in pairs {
      url = 1, method = {}, body = 7, timeout = "soon", idle = -1, max_body = "big", tls = true,
      host = "a\nb",
      headers = "A: b", proxy = "http://a\0b", length = 1.5,
    } do
      assert.error_matches(function () start("/echo", { [field] = value }) end,
        "bad field '" .. field)
    end
    assert.error_matches(function () start("/echo", { tls = { ca = true } }) end, "bad field 'ca")
    assert.error_matches(function () http.start() end, "table expected")
    assert.error_matches(function () http.start({}) end, "table expected")
  end)

  it("checks headers and makes one list of them", function ()
    local agent, hidden = { "User-Agent", "rtl" }, secret.new("s")
    assert.same({ { "B", "1" }, { "A", hidden }, { "B", "2" }, agent },
      http.headers({ { "B", "1" }, { "A", hidden }, { "B", 2 } }, agent))
    assert.same({ { "user-agent", "mine" } }, http.headers({ { "user-agent", "mine" },
      { "content-length", "1" }, { "Transfer-Encoding", "chunked" } }, agent))
    assert.same({ agent }, http.headers({}, agent))
    for wrong, cases in pairs {
      ["header number 2 is no pair of a name and a value"] = { "A: b", 1, false, {}, { 1, "x" } },
      ["header A is no string or secret"] = { { "A" }, { "A", {} }, { "A", true } },
    } do
      for _, bad in ipairs(cases) do
        assert.same({ nil, wrong }, { http.headers({ { "Good", "yes" }, bad }, agent) })
      end
    end
    assert.is_nil(http.headers({ { "A", "b" }, C = "d" }, agent))
  end)

  it("finds headers by their names, however often those come", function ()
    local map, repeated = http.by_name { { "A", "1" }, { "b", "" }, { "B", "2" }, { "B", "3" } }
    assert.same({ a = "1", b = "" }, map)
    assert.same({ b = { "", "2", "3" } }, repeated)
    map, repeated = http.by_name {}
    assert.same({}, map)
    assert.is_nil(repeated)
    local many = {}
    for i = 1, 20000 do many[i] = { "X" .. i % 2, tostring(i) } end
    map, repeated = http.by_name(many)
    assert.same({ 10000, 10000 }, { #repeated.x0, #repeated.x1 })
    assert.equal("1", map.x1)
  end)

  it("says where a URL leads, also a secret one", function ()
    assert.same({ "https", "a.test", "443" }, { http.origin("https://a.test/p?q") })
    assert.same({ "http", "[::1]", "81" }, { http.origin(secret.new("http://[::1]:81/")) })
    assert.is_nil(http.origin("http://a.test:port/"))
    assert.is_nil(http.origin("http://a\0b/"))
    assert.is_nil(http.origin(""))
  end)
end)
