-- Every byte of an answer cut: whatever was cut is an error that says how far it came, and never an
-- answer; nothing stays open.
local crypto = require "rtl.native.crypto"
local http = require "rtl.native.http"
local server = require "test.support.server"
local task = require "rtl.task"
local websocket = require "rtl.websocket"
local wire = require "rtl.wire"

local s
setup(function () s = server.start() end)
teardown(function ()
  s:stop()
  http.close_idle()
end)

local HEADS = {
  ["with a length"] = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 20\r\n\r\n",
  ["in chunks"] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
  ["after an interim answer"] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n"
    .. "Content-Length: 5\r\n\r\n",
  ["packed"] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 29\r\n\r\n",
}
local BODIES = {
  ["with a length"] = ("b"):rep(20),
  ["in chunks"] = "3\r\nabc\r\na;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
  ["after an interim answer"] = "12345",
  ["packed"] = crypto.base64_decode("H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA="),
}

local function path_of(bytes, cut, how)
  return ("/raw/%s?then=%s&cut=%d"):format(crypto.base64url_encode(bytes), how, cut)
end

-- In tasks, 32 at once: each cut is a connection of its own.
local function for_each_cut(bytes, f)
  local cuts = {}
  for i = 1, #bytes do cuts[i] = i - 1 end
  task.map(cuts, f, 32)
  assert.equal(0, http.live())
end

describe("an answer", function ()
  for name, head in pairs(HEADS) do
    local bytes = head .. BODIES[name]
    for _, how in ipairs { "close", "reset" } do
      it(name .. " is never taken for whole when cut by " .. how, function ()
        assert(wire.request { url = s.url .. path_of(bytes, #bytes, "keep"), gzip = true })
        for_each_cut(bytes, function (cut)
          local res, e = wire.request {
            url = s.url .. path_of(bytes, cut, how), gzip = true, idle = 5, once = true,
          }
          if res and name == "in chunks" and cut == #bytes - 1 then
            return assert.equal("abc0123456789", res.body) -- only the last line feed is missing
          end
          assert.is_nil(res, "cut at " .. cut)
          local in_head = cut < #head
          local expected = in_head and "RTL-NET-008" or "RTL-NET-009"
          assert.same({ expected, true }, { e.code, e.sent }, cut .. " " .. tostring(e))
        end)
      end)
    end
  end
end)

describe("a streamed answer", function ()
  it("gives what came before the cut, then the error", function ()
    local head, body = HEADS["with a length"], BODIES["with a length"]
    for cut = #head, #head + #body - 1 do
      local res <close> = assert(wire.request {
        url = s.url .. path_of(head .. body, cut, "close"), stream = true,
      })
      local got, bytes, e = "", res:read()
      while bytes do
        got = got .. bytes
        bytes, e = res:read()
      end
      assert.same({ body:sub(1, cut - #head), "RTL-NET-009" }, { got, e and e.code })
    end
  end)
end)

describe("a byte stream", function ()
  it("gives what came before the end", function ()
    local bytes = "0123456789"
    for_each_cut(bytes, function (cut)
      local stream <close> = assert(wire.connect { url = s.url })
      assert(stream:write("GET " .. path_of(bytes, cut, "close") .. " HTTP/1.1\r\n\r\n"))
      local got = ""
      for part in function () return stream:read() end do got = got .. part end
      assert.equal(bytes:sub(1, cut), got)
    end)
  end)
end)

-- The upgrade's key changes the answer, so the bytes are cut on a stream of our own.
describe("a WebSocket", function ()
  local function cut_stream(bytes, cut)
    local at = 0
    return {
      read = function ()
        if at >= cut then return nil end
        at = at + 1
        return bytes:sub(at, at)
      end,
      write = function () return true end,
      close = function () end,
    }
  end

  local FRAMES = "\x82\x05first\x01\x01a\x89\x01p\x80\x01b\x88\x05\x03\xe8bye"
  local WHOLE = { 7, 16, 23 } -- where the first message, the second and the close are complete

  it("is never in good order without its close frame", function ()
    for cut = 0, #FRAMES do
      local ws = websocket.over(cut_stream(FRAMES, cut), { role = "client" })
      local got, bytes, e = 0, ws:receive()
      while bytes do
        got = got + 1
        bytes, e = ws:receive()
      end
      assert.equal(cut < WHOLE[1] and 0 or cut < WHOLE[2] and 1 or 2, got)
      assert.equal(cut < WHOLE[3] and "RTL-NET-022" or nil, e and e.code)
      assert.equal(cut >= WHOLE[3] and 1000 or nil, ws.close_code)
    end
  end)

  it("refuses an upgrade that was cut", function ()
    local answer = "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      .. "Sec-WebSocket-Accept: x\r\n\r\n"
    for cut = 0, #answer - 1 do
      local former = wire.use {
        request = function () end,
        connect = function () return cut_stream(answer, cut) end,
      }
      local ws, e = websocket.open { url = "ws://a.test/" }
      wire.use(former)
      assert.same({ nil, "RTL-NET-008" }, { ws, e.code })
    end
  end)
end)
