-- Every byte of an AWS answer cut, in each framing: a call that may be repeated is, and gets the
-- thing that was made; one without a token is "outcome unknown" and is not sent again. No part of
-- an answer is ever taken for the whole.
-- RTL_TEST_SLOW=1 cuts at each byte, the quick form at each 13th and around the ends of the head.
local hostile = require "test.support.hostile"
local http = require "rtl.native.http"
local task = require "rtl.task"

local STRIDE = os.getenv("RTL_TEST_SLOW") and 1 or 13
local NEAR = 3

local server
setup(function () server = hostile.start() end)
teardown(function () server:stop() end)

-- The lengths to cut to, in order; the whole is none of them.
local function cuts_of(whole, head)
  local cuts = {}
  for cut = 0, #whole - 1 do
    local near = math.abs(cut - head) <= NEAR or cut >= #whole - NEAR
    if near or cut % STRIDE == 0 then cuts[#cuts + 1] = cut end
  end
  return cuts
end

-- What has come when nothing that matters is missing: the line end after the last chunk, or the
-- body of an answer that says nothing there.
local function is_whole(call, framing, whole, head, cut)
  if framing == "chunks" then return cut >= #whole - 1 end
  return framing == "close" and call.body == "" and cut >= head
end

-- A reset may overtake bytes that were sent before it.
local function is_expected(code, framing, head, cut, ending)
  if ending == "reset" then return code == "RTL-NET-008" or code == "RTL-NET-009" end
  if cut < head then return code == "RTL-NET-008" end
  if framing ~= "close" then return code == "RTL-NET-009" end
  return code == "RTL-AWS-003" -- only what is in it can tell
end

local function check_cut(call, framing, whole, head, cut)
  local settled = is_whole(call, framing, whole, head, cut)
  local ending = (settled or cut % 2 == 0) and "close" or "reset"
  local name = server:script(call, { answers = {
    hostile.does({ hostile.send(whole, { cut = cut }), { ["end"] = ending } }, call.kind ~= "read"),
    hostile.does({ hostile.send(hostile.good(call)) }, call.kind ~= "read"),
  } })
  local out, e = server:client(call, name):call(call.op, call.params)
  local seen = server:seen(name)
  local where = ("%s %s cut to %d of %d: %s"):format(call.op, framing, cut, #whole,
    tostring(e or ""))
  assert.equal((settled or call.kind == "once") and 1 or 2, seen.requests, where)
  assert.is_true(call.kind == "read" or seen.effects == 1, where)
  if call.kind == "once" and not settled then
    assert.is_nil(out, where)
    assert.is_true(is_expected(e.code, framing, head, cut, ending), where)
    assert.is_true(e.sent, where)
    hostile.assert_clear(e, call)
  else
    local id = hostile.id_of(call, assert(out, where))
    assert.equal(call.kind == "read" and 0 or 1, tonumber(id), where)
  end
end

describe("an answer cut anywhere", function ()
  for _, framing in ipairs { "length", "chunks", "close" } do
    for _, call in ipairs(hostile.CALLS) do
      it(("is not taken for whole: %s %s, %s"):format(call.protocol, call.kind, framing),
        function ()
          local whole = hostile.good(call, framing)
          local head = select(2, whole:find("\r\n\r\n", 1, true))
          task.map(cuts_of(whole, head), function (cut)
            check_cut(call, framing, whole, head, cut)
          end, 16)
          assert.equal(0, http.live())
        end)
    end
  end
end)
