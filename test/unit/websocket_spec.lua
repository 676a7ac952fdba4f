-- The WebSocket codec, and rtl.websocket against a server that is not built on it.
local codec = require "rtl.native.websocket"
local entropy = require "rtl.entropy"
local http = require "rtl.native.http"
local secret = require "rtl.native.secret"
local server = require "test.support.server"
local task = require "rtl.task"
local websocket = require "rtl.websocket"
local wire = require "rtl.wire"

local function output(c)
  return c:output(entropy.bytes(c:mask_bytes()))
end

-- A frame as a server would send it; first is the first byte (FIN, RSV, opcode).
local function frame(first, payload)
  assert(#payload < 126)
  return string.char(first, #payload) .. payload
end

describe("the codec", function ()
  local client, peer

  before_each(function ()
    client, peer = codec.new { role = "client" }, codec.new { role = "server" }
  end)

  it("carries messages of all sizes both ways", function ()
    for _, size in ipairs { 0, 1, 125, 126, 127, 65535, 65536, 300000 } do
      local text = ("m"):rep(size)
      for _, pair in ipairs { { client, peer }, { peer, client } } do
        assert(pair[1]:send("binary", text))
        local events = pair[2]:feed(output(pair[1]))
        assert.equal(1, #events)
        assert.is_true(events[1].kind == "binary" and events[1].data == text)
      end
    end
  end)

  it("masks as a client, with the bytes that it is given", function ()
    client:send("text", "\0\0\0\0\0")
    assert.equal(4, client:mask_bytes())
    assert.equal("\x81\x85abcdabcda", client:output("abcd"))
    peer:send("text", "plain")
    assert.equal(0, peer:mask_bytes())
    assert.equal("\x81\x05plain", peer:output())
    client:send("text", "x")
    assert.error_matches(function () client:output("abc") end, "mask_bytes")
  end)

  it("takes bytes in any pieces, and several messages at once", function ()
    client:send("text", "one")
    client:send("binary", "two")
    client:send("ping", "three")
    local bytes = output(client)
    local all = {}
    for i = 1, #bytes do
      for _, event in ipairs(peer:feed(bytes:sub(i, i))) do
        all[#all + 1] = event.kind .. " " .. event.data
      end
    end
    assert.same({ "ping three", "text one", "binary two" }, all) -- pings overtake
    assert.equal(3, #codec.new { role = "server" }:feed(bytes))
  end)

  it("joins fragments, also with a ping between", function ()
    local events = client:feed(frame(0x01, "a\xc3") .. frame(0x89, "p") .. frame(0x00, "\xa4")
      .. frame(0x80, "c"))
    assert.same({ { kind = "ping", data = "p" }, { kind = "text", data = "aäc" } }, events)
    assert.same({ { kind = "pong", data = "p" } }, peer:feed(output(client)))
  end)

  it("answers a ping and a close by itself", function ()
    peer:send("ping", "hi")
    peer:close(1001, "gone")
    local events = client:feed(output(peer))
    assert.same({ kind = "ping", data = "hi" }, events[1])
    assert.same({ kind = "close", code = 1001, reason = "gone" }, events[2])
    assert.is_false(client:finished())
    local answers = peer:feed(output(client))
    assert.equal("close", answers[#answers].kind)
    assert.is_true(client:finished())
    assert.is_true(peer:finished())
    assert.same({ nil, "closed" }, { client:send("text", "late") })
  end)

  it("closes after what is queued, not before", function ()
    client:send("text", "first")
    client:close(1000, "done")
    assert.same({ nil, "closed" }, { client:send("text", "late") })
    local events = peer:feed(output(client))
    assert.same({ "text", "close" }, { events[1].kind, events[2].kind })
    assert.same({ nil, "closed" }, { client:close(1000) })
    assert.equal("", output(client))
  end)

  it("closes without a code", function ()
    client:close()
    local events = peer:feed(output(client))
    assert.same({ { kind = "close", reason = "" } }, events)
  end)

  it("limits control frames and reasons", function ()
    assert.same({ nil, "protocol" }, { client:send("ping", ("x"):rep(126)) })
    assert.error_matches(function () client:close(1000, ("x"):rep(124)) end, "123")
    assert.error_matches(function () client:close(999) end, "1000")
    assert.error_matches(function () client:send("nonsense", "x") end, "invalid option")
    assert.error_matches(function () client:send("text", {}) end, "string or secret")
    assert.error_matches(function () codec.new { role = "both" } end, "invalid option")
  end)

  it("sends secrets", function ()
    client:send("text", secret.new("hush"))
    assert.equal("hush", peer:feed(output(client))[1].data)
  end)

  local hostile = {
    { "a masked frame to a client", "\x82\x81abcdx", "protocol" },
    { "a reserved bit", frame(0xC2, "x"), "protocol" },
    { "an unknown opcode", frame(0x83, "x"), "protocol" },
    { "a continuation of nothing", frame(0x80, "x"), "protocol" },
    { "a message inside of a message", frame(0x01, "x") .. frame(0x81, "y"), "protocol" },
    { "a fragmented ping", frame(0x09, "x"), "protocol" },
    { "a long ping", "\x89\x7e\0\x80" .. ("x"):rep(128), "protocol" },
    { "a length that is not shortest", "\x82\x7e\0\x05hello", "protocol" },
    { "a length with its top bit set", "\x82\x7f\xff\0\0\0\0\0\0\0", "protocol" },
    { "text that is no UTF-8", frame(0x81, "\xff"), "utf8" },
    { "text that ends in a character", frame(0x81, "a\xc3"), "utf8" },
    { "a surrogate", frame(0x81, "\xed\xa0\x80"), "utf8" },
    { "a message above the limit", frame(0x82, ("x"):rep(101)), "too_large" },
    { "fragments above the limit", frame(0x02, ("x"):rep(99)) .. frame(0x80, "xx"), "too_large" },
    { "a length of terabytes", "\x82\x7f\0\0\xff\0\0\0\0\0x", "too_large" },
    { "a close with a bad code", frame(0x88, "\x03\xee"), "protocol" },
  }
  for _, case in ipairs(hostile) do
    it("refuses " .. case[1], function ()
      for _, step in ipairs { 1, 1000 } do
        local c = codec.new { role = "client", max_message = 100 }
        assert.equal("good", c:feed(frame(0x82, "good"))[1].data)
        for i = 1, #case[2], step do
          assert.same({}, c:feed(case[2]:sub(i, i + step - 1)))
        end
        local sent = codec.new { role = "server" }:feed(output(c))
        assert.same({ "close", case[3] }, { sent[#sent].kind, c:refusal() })
        assert.same({}, c:feed(frame(0x82, "more")))
      end
    end)
  end

  it("takes a close that holds one byte as one without a code", function ()
    assert.equal("close", client:feed(frame(0x88, "x"))[1].kind)
    assert.is_nil(client:refusal())
  end)

  it("refuses a frame without a mask as a server", function ()
    assert.same({}, peer:feed(frame(0x82, "x")))
    peer:output()
    assert.equal("protocol", peer:refusal())
  end)
end)

describe("rtl.websocket", function ()
  local s

  setup(function () s = server.start() end)
  teardown(function ()
    s:stop()
    http.close_idle()
  end)

  local function open(path, more)
    local options = { url = s.url:gsub("^http", "ws") .. "/websocket" .. path }
    for k, v in pairs(more or {}) do options[k] = v end
    return websocket.open(options)
  end

  it("knows RFC 6455's own key", function ()
    assert.equal("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", websocket.accept_key("dGhlIHNhbXBsZSBub25jZQ=="))
  end)

  it("sends and receives, and closes in good order", function ()
    local ws <close> = assert(open("", { protocols = { "v5", "v4" }, headers = { A = "b" } }))
    assert.equal("v5", ws.protocol)
    assert(ws:send("bytes\0"))
    assert.same({ "bytes\0", "binary" }, { ws:receive() })
    assert(ws:send("text", "text"))
    assert.same({ "text", "text" }, { ws:receive() })
    local big = ("b"):rep(1000000)
    task.group(function (g)
      g:spawn(function () assert(ws:send(big)) end)
      assert.is_true(ws:receive() == big)
    end)
    assert.is_true(ws:close(1000, "bye"))
    assert.same({ 1000, "bye" }, { ws.close_code, ws.close_reason })
    assert.is_nil(ws:receive())
    assert.equal("RTL-NET-015", select(2, ws:send("late")).code)
    assert.equal("RTL-NET-015", select(2, ws:ping()).code)
    assert.is_true(ws:close())
  end)

  it("masks each frame anew", function ()
    local ws <close> = assert(open(""))
    for _ = 1, 20 do
      ws:send("x")
      ws:receive()
    end
    ws:send("masks?")
    assert.equal("21", ws:receive())
  end)

  it("reads what came behind the 101 in the same read", function ()
    local ws <close> = assert(open("/behind"))
    assert.same({ "one", "binary" }, { ws:receive() })
    assert.same({ "two", "text" }, { ws:receive() })
    assert.same({ "", "binary" }, { ws:receive() })
  end)

  it("skips an interim answer", function ()
    local ws <close> = assert(open("/interim"))
    ws:send("x")
    assert.equal("x", ws:receive())
  end)

  it("joins fragments and answers pings meanwhile", function ()
    local ws <close> = assert(open("/fragments"))
    assert.equal("a", ws:receive():sub(1, 1))
    ws:abort()
    local pinged <close> = assert(open("/ping"))
    assert.equal("pong:hi", pinged:receive())
  end)

  it("notes when something last came", function ()
    local ws <close> = assert(open(""))
    local before = ws.last_seen
    assert(ws:ping("x"))
    assert(ws:send("after"))
    assert.equal("after", ws:receive())
    assert.is_true(ws.last_seen > before)
  end)

  it("gives the code of the other side's close", function ()
    local ws <close> = assert(open("/close"))
    assert.equal("last", ws:receive())
    assert.is_nil(ws:receive())
    assert.is_nil(select(2, ws:receive()))
    assert.same({ 4321, "because" }, { ws.close_code, ws.close_reason })
  end)

  it("tells an end without a close from one with", function ()
    local ws <close> = assert(open("/noclose"))
    assert.equal("bye", ws:receive())
    local bytes, e = ws:receive()
    assert.same({ nil, "RTL-NET-022", true }, { bytes, e.code, e.sent })
    assert.equal(e, select(2, ws:receive()))
    local cut <close> = assert(open("/cut"))
    assert.equal("RTL-NET-022", select(2, cut:receive()).code)
  end)

  it("refuses what the protocol forbids", function ()
    for path, code in pairs {
      ["/masked"] = "RTL-NET-021", ["/reserved"] = "RTL-NET-021", ["/badutf8"] = "RTL-NET-021",
      ["/large"] = "RTL-NET-023",
    } do
      local ws <close> = assert(open(path, { max_message = 1000 }))
      local bytes, e = ws:receive()
      assert.same({ nil, code }, { bytes, e.code }, path)
    end
  end)

  it("says why an upgrade was refused", function ()
    local ws, e = open("/403")
    assert.same({ nil, "RTL-NET-020", 403, "not me" }, { ws, e.code, e.status, e.body })
    assert.truthy(tostring(e):find("open ws://127.0.0.1", 1, true))
    ws, e = open("/chunked")
    assert.same({ nil, 400, "bad" }, { ws, e.status, e.body })
    for path, code in pairs {
      ["/badkey"] = "RTL-NET-020", ["/protocol"] = "RTL-NET-020", ["/garbage"] = "RTL-NET-010",
    } do
      ws, e = open(path, { protocols = { "v5" } })
      assert.same({ nil, code }, { ws, e.code }, path)
    end
    ws, e = websocket.open { url = s.url .. "/reset-at-once" }
    assert.same({ nil, "RTL-NET-008" }, { ws, e.code })
    ws, e = websocket.open { url = s.url .. "/hold", timeout = 0.05 }
    assert.same({ nil, "RTL-NET-007" }, { ws, e.code })
    ws, e = websocket.open { url = "ws://127.0.0.1:1/" }
    assert.same({ nil, "RTL-NET-002", false }, { ws, e.code, e.sent })
  end)

  it("raises for misuse", function ()
    assert.error_matches(function () websocket.open {} end, "bad argument #1 to 'open'")
    for _, headers in ipairs { { ["A\r\nB"] = "x" }, { A = "x\r\nB: y" } } do
      assert.error_matches(function () open("", { headers = headers }) end, "bad argument")
    end
  end)

  it("carries secrets in its headers", function ()
    local headers = { { "Authorization", secret.new("Bearer t") } }
    local ws <close> = assert(open("", { headers = headers }))
    ws:send("x")
    assert.equal("x", ws:receive())
  end)

  it("goes on after a deadline while it received", function ()
    local ws <close> = assert(open(""))
    assert.is_nil(task.deadline(0.02, ws.receive, ws))
    assert(ws:send("still there"))
    assert.equal("still there", ws:receive())
    assert.is_nil(task.deadline(0.02, ws.receive, ws))
    assert.is_true(ws:close(1000))
    assert.equal(1000, ws.close_code)
  end)

  it("closes under its reader, and gives up on a deaf server", function ()
    local ws = assert(open(""))
    task.group(function (g)
      local reader = g:spawn(function () return table.pack(ws:receive()) end)
      task.yield()
      ws:close(1000)
      assert.same({ n = 1 }, reader:join())
    end)
    local deaf <close> = assert(open("/deaf"))
    assert.is_nil(task.deadline(0.05, deaf.receive, deaf))
    assert.is_nil((task.deadline(0.05, deaf.close, deaf)))
  end)

  it("speaks to itself: the server's role on any stream", function ()
    local there, back = task.queue(), task.queue()
    local function stream(from, to)
      return {
        read = function () return from:get() end,
        write = function (_, bytes) to:put(bytes) return true end,
        close = function () to:close() end,
      }
    end
    local a = websocket.over(stream(back, there), { role = "client" })
    local b = websocket.over(stream(there, back), { role = "server" })
    task.group(function (g)
      g:spawn(function ()
        for bytes, kind in function () return b:receive() end do b:send(bytes, kind) end
      end)
      a:send("ping-pong", "text")
      assert.same({ "ping-pong", "text" }, { a:receive() })
      a:close(1000)
    end)
    assert.equal(1000, b.close_code)
  end)

  it("runs over whatever carries out the wire's connections", function ()
    local asked
    local former = wire.use { request = function () end, connect = function (req)
      asked = req.url
      return nil, "no"
    end }
    pcall(websocket.open, { url = "wss://a.test/x" })
    wire.use(former)
    assert.equal("wss://a.test/x", asked)
  end)
end)
