-- Recording the wire and playing it back.
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local record = require "rtl.record"
local secret = require "rtl.native.secret"
local wire = require "rtl.wire"

-- An implementation that answers by path.
local function network()
  local n = 0
  return {
    request = function (req)
      if type(req.body) == "function" then
        local parts = {}
        for chunk in req.body do parts[#parts + 1] = chunk end
        return { status = 200, headers = {}, body = table.concat(parts) }
      end
      n = n + 1
      if req.url:find("/fail") then
        return err.fail { code = "RTL-NET-008", message = "lost", sent = true, retryable = true }
      end
      if req.url:find("/stream") then
        local left = { "a", "b\xff", "c" }
        return { status = 200, headers = {}, read = function ()
          local bytes = table.remove(left, 1)
          if bytes or not req.url:find("broken") then return bytes end
          return err.fail { code = "RTL-NET-009", message = "cut", sent = true }
        end }
      end
      return { status = 200 + n, reason = "Fine", headers = { { "Set-Cookie", "sess=1" } },
        body = req.secret_body and secret.new("password") or "body " .. n }
    end,
  }
end

describe("a recording", function ()
  local dir, path, former, recorder

  before_each(function ()
    dir = assert(fs.temp_dir("rtl-record-"))
    path = fs.join(dir, "wire.ndjson")
    recorder = assert(record.recorder(network(), path))
    former = wire.use(recorder)
  end)
  after_each(function ()
    recorder.close()
    wire.use(former)
    fs.remove_tree(dir)
  end)

  local function lines()
    local list = {}
    for line in assert(fs.read(path)):gmatch("[^\n]+") do list[#list + 1] = line end
    return list
  end

  local function play()
    local player = assert(record.player(path))
    wire.use(player)
    return player
  end

  it("plays back what was recorded, equal requests in their order", function ()
    local function both()
      local got = {}
      for i = 1, 2 do
        local res = assert(wire.request {
          url = "http://a.test/x?b=2&a=1", method = "POST", body = "q",
        })
        got[i] = { res.status, res.reason, res.body, res.headers }
      end
      return got
    end
    local first = both()
    first[1][4], first[2][4] = { ["set-cookie"] = "<secret>" }, { ["set-cookie"] = "<secret>" }
    local player = play()
    assert.same({ "POST http://a.test/x?b=2&a=1", "POST http://a.test/x?b=2&a=1" }, player.left())
    assert.same(first, both())
    assert.same({}, player.left())
    local res, e = wire.request { url = "http://a.test/x?b=2&a=1", method = "POST", body = "q" }
    assert.same({ nil, "RTL-NET-030", false }, { res, e.code, e.sent })
  end)

  it("matches by method, URL and body, not by time, signature or chance", function ()
    local function key(url, body, method)
      return record.key { method = method or "GET", url = url, body = body }
    end
    assert.equal(key("http://a/?a=1&b=2"), key("http://a/?b=2&a=1"))
    assert.equal(key("http://a/?a=1&X-Amz-Signature=f00&X-Amz-Date=20261201T000000Z"),
      key("http://a/?a=1&X-Amz-Signature=ba4&X-Amz-Date=20261202T000000Z"))
    assert.equal(key("http://a/", "t=123e4567-e89b-42d3-a456-426614174000&at=2026-12-01T10:00:00Z"),
      key("http://a/", "t=99999999-e89b-42d3-a456-426614174000&at=2026-12-02T10:00:00.5Z"))
    assert.not_equal(key("http://a/", "x"), key("http://a/", "y"))
    assert.not_equal(key("http://a/1"), key("http://a/2"))
    assert.not_equal(key("http://a/"), key("http://a/", nil, "PUT"))
  end)

  it("holds no secret", function ()
    local token = secret.new("hunter2")
    assert(wire.request {
      url = "http://a.test/?X-Amz-Signature=hunter2&x=1", method = "PUT", body = token,
      headers = { Authorization = "Bearer hunter2", ["X-Token"] = token },
    })
    assert(wire.request { url = "http://a.test/credentials", secret_body = true })
    assert.is_nil(assert(fs.read(path)):find("hunter2", 1, true))
    assert.is_nil(assert(fs.read(path)):find("password", 1, true))
    assert.is_nil(assert(fs.read(path)):find("sess=1", 1, true))
    play()
    local res = assert(wire.request { url = "http://a.test/credentials", secret_body = true })
    assert.is_true(secret.is(res.body))
  end)

  it("hands each line to the redaction that it is given", function ()
    local other = fs.join(dir, "redacted.ndjson")
    local impl = assert(record.recorder(network(), other, function (text)
      return (text:gsub("hunter2", "<known>"))
    end))
    wire.use(impl)
    assert(wire.request { url = "http://a.test/hunter2" })
    impl.close()
    assert.is_nil(assert(fs.read(other)):find("hunter2", 1, true))
  end)

  it("keeps errors, streams, bytes that are no text, and bodies from functions", function ()
    local chunks = { "one", "two" }
    local function run()
      local _, e = wire.request { url = "http://a.test/fail" }
      local res = assert(wire.request { url = "http://a.test/stream" })
      local _, broken = wire.request { url = "http://a.test/stream/broken" }
      local left = table.move(chunks, 1, 2, 1, {})
      local sent = assert(wire.request { url = "http://a.test/up", method = "PUT",
        body = function () return table.remove(left, 1) end })
      return { e.code, e.sent, res.body, broken.code, sent.body }
    end
    local first = run()
    assert.same({ "RTL-NET-008", true, "ab\xffc", "RTL-NET-009", "onetwo" }, first)
    play()
    assert.same(first, run())
  end)

  it("marks a body that was not read to its end", function ()
    local res = assert(wire.request { url = "http://a.test/stream", stream = true })
    res:read()
    res:close()
    local exchange = json.decode(lines()[1])
    assert.same({ "a", true }, { exchange.answer.body, exchange.answer.cut })
  end)

  it("refuses byte streams, broken files and files that are not there", function ()
    local player = play()
    assert.equal("recording " .. path, wire.describe().name)
    assert.equal("RTL-NET-030", select(2, wire.connect { url = "https://a.test" }).code)
    assert.truthy(player)
    for text, code in pairs { ["{}\n"] = "RTL-NET-031", ["no json\n"] = "RTL-DATA-001" } do
      assert(fs.write(path, text))
      local none, e = record.player(path)
      assert.same({ nil, code }, { none, e.code })
    end
    local none, e = record.player(fs.join(dir, "none"))
    assert.same({ nil, "RTL-FS-001" }, { none, e.code })
  end)
end)
