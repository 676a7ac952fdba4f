-- rtl.wire over TLS and through proxies: trust, names, client certificates, byte streams.
local fs = require "rtl.fs"
local http = require "rtl.native.http"
local json = require "rtl.native.json"
local process = require "rtl.process"
local proxies = require "rtl.wire.proxy"
local secret = require "rtl.native.secret"
local server = require "test.support.server"
local task = require "rtl.task"
local wire = require "rtl.wire"

local function header(seen, name)
  for _, pair in ipairs(seen.headers) do
    if pair[1]:lower() == name then return pair[2] end
  end
end

local s -- the plain server

setup(function () s = server.start() end)
teardown(function ()
  s:stop()
  http.close_idle()
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
    assert.not_equal(200, code_of(tls, { ca = "" }))
  end)

  it("takes the roots that SSL_CERT_FILE names", function ()
    local former = process.use { getenv = function (name)
      return name == "SSL_CERT_FILE" and fs.join(dir, "ca.pem") or nil
    end }
    local code = code_of(tls, nil)
    process.use(former)
    assert.equal(200, code)
  end)

  it("says of a file that holds no roots what it should be, and does not try again", function ()
    assert(fs.write(fs.join(dir, "junk.pem"), "no certificate"))
    for _, name in ipairs { "nothing.pem", "junk.pem", "" } do
      local code, e = code_of(tls, { ca_file = fs.join(dir, name) })
      assert.same({ "RTL-NET-003", false }, { code, e.retryable })
      assert.truthy(e.message:find(fs.join(dir, name), 1, true))
      assert.matches("AWS_CA_BUNDLE", e.hint, 1, true)
    end
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
    local code, e = code_of(expired, { ca = pem "ca.pem" })
    assert.equal("RTL-NET-003", code)
    assert.truthy(tostring(e):find("expired", 1, true))
  end)

  it("verifies nothing only when told so", function ()
    assert.equal(200, code_of(other, { insecure = true }))
    assert.equal(200, code_of(expired, { insecure = true }))
  end)

  it("shows its own certificate when it has one", function ()
    local key = secret.new(pem "client.key")
    local options = { ca = pem "ca.pem", cert = pem "client.pem", key = key }
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
    setup(function ()
      proxy, locked = server.start("--proxy"), server.start("--proxy", "--login", "u:p w")
    end)
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

    it("is asked again for a tunnel that it could not make just now, and no more often", function ()
      for status, retryable in pairs { [403] = false, [407] = false, [502] = true, [503] = true } do
        local _, e = through(proxy.url, ("https://refused-%d.test/"):format(status))
        assert.same({ "RTL-NET-012", retryable, false }, { e.code, e.retryable, e.sent })
        assert.truthy(e.message:find(tostring(status), 1, true))
        assert.truthy(e.hint:find(proxy.url:match "//(.*)", 1, true))
      end
    end)

    it("may speak TLS itself, and is trusted by the file of roots", function ()
      local over_tls = start("server", "--proxy")
      local _ <close> = setmetatable({}, { __close = function () over_tls:stop() end })
      local url = ("https://127.0.0.1:%d/echo"):format(tls.port)
      local function code(trust)
        local res, e = wire.request { url = url, tls = trust,
          proxy = "https://127.0.0.1:" .. over_tls.port }
        return res and res.status or e.code
      end
      assert.equal(200, code { ca_file = fs.join(dir, "ca.pem") })
      assert.equal("RTL-NET-003", code { ca_file = fs.join(dir, "other.pem") })
      assert.equal("RTL-NET-003", code { ca = pem "ca.pem" })
      assert.equal("RTL-NET-003", code { insecure = true })
    end)

    it("is never shown with its login", function ()
      for _, login in ipairs { "u:hush@", "u:hu@sh@", "u:hu/sh@", "u:hush%zz@" } do
        for _, place in ipairs { "127.0.0.1:1", "127.0.0.1:99999", "no-such-proxy.invalid:1" } do
          for _, scheme in ipairs { "http://", "foo://", "" } do
            local whole = scheme .. login .. place
            for _, text in ipairs { whole, secret.new(whole) } do
              local res, e = through(text, "https://a.test/")
              assert.is_nil(res)
              assert.is_nil((tostring(e) .. e.message .. e.hint):find "sh[@%%]")
              assert.truthy(e.hint:find(place, 1, true))
            end
          end
        end
      end
      local _, e = through("foo://127.0.0.1:1", "https://a.test/")
      assert.same({ "RTL-NET-012", false }, { e.code, e.retryable })
      assert.truthy(e.message:find("scheme is 'foo'", 1, true))
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

  it("is the setting's, whatever the environment says, but not where none may be", function ()
    local former = proxies.use "http://own:3128"
    local env = { HTTPS_PROXY = "s", NO_PROXY = "in.test" }
    local found = { choose(env, "https", "x.test", 443) or "none",
      choose({}, "http", "x.test", 80) or "none", choose(env, "https", "a.in.test", 443) or "none",
      choose(env, "http", "169.254.169.254", 80) or "none" }
    proxies.use(former)
    assert.same({ "http://own:3128", "http://own:3128", "none", "none" }, found)
    assert.equal("s", choose(env, "https", "x.test", 443))
  end)

  it("leaves out what NO_PROXY covers, and what is near", function ()
    for _, case in ipairs {
      { "*", "x.test", true }, { "x.test", "x.test", true }, { "x.test", "a.x.test", true },
      { ".x.test", "a.x.test", true }, { "*.x.test", "a.x.test", true },
      { "x.test", "ax.test", false },
      { "X.TEST", "x.test", true }, { "a, x.test b", "x.test", true },
      { "x.test:444", "x.test", false },
      { "x.test:443", "x.test", true }, { "10.0.0.0/8", "10.9.8.7", true },
      { "10.0.0.0/8", "11.9.8.7", false }, { "10.1.2.3", "10.1.2.3", true },
      { "10.0.0.0/40", "10.1.2.3", false }, { "", "x.test", false },
      { "x.test.", "x.test", true }, { "x.test", "a.x.test.", true }, { ".", "x.test", false },
      { "[2001:db8::1]", "[2001:db8::1]", true }, { "2001:DB8::1", "[2001:db8::1]", true },
      { "[2001:db8::1]:443", "[2001:db8::1]", true },
      { "[2001:db8::1]:80", "[2001:db8::1]", false },
      { "x", "169.254.169.254", true },
      { "x", "127.0.0.1", true }, { "x", "localhost", true }, { "x", "[::1]", true },
      { "x", "[fd00:ec2::254]", true }, { "x", "[2001:db8::1]", false },
    } do
      local env = { https_proxy = "p", no_proxy = case[1] }
      local chosen = choose(env, "https", case[2], 443)
      assert.equal(case[3], chosen == nil, case[1] .. " " .. case[2])
    end
  end)
end)
