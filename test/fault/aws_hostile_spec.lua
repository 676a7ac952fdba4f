-- A server that answers wrongly, against the AWS client: what it does × the protocol and kind of
-- the call → the outcome, how many requests came, and how many things were made. No create takes
-- effect twice, and every failure is one clear error.
local archive = require "rtl.native.archive"
local hostile = require "test.support.hostile"
local http = require "rtl.native.http"
local task = require "rtl.task"

local answer, does, good, send = hostile.answer, hostile.does, hostile.good, hostile.send
local again, final, refused, fine = hostile.again, hostile.final, hostile.refused, hostile.fine
local CLOSE, RESET, HANG = { ["end"] = "close" }, { ["end"] = "reset" }, { ["end"] = "hang" }

-- Seconds of silence. Only what must end by them has them; a loaded machine may be as slow once.
local SHORT = { reads = 0.4, writes = 0.4 }

local server

-- ---- what the server does ----

-- One bad answer that is a text, then what follows it.
local function says(make, ending)
  return function (call)
    local text = make(call)
    return { does { send(text), ending } }
  end
end

local function ends(ending)
  return function () return { does { ending } } end
end

-- An answer with this status, head and body in the place of the good one.
local function with(status, head, body)
  return says(function () return answer(status, head, body) end)
end

local function empty(framing)
  return says(function () return answer(200, nil, "", framing) end, CLOSE)
end

local function redirects(status)
  return says(function ()
    return answer(status, ("Location: http://127.0.0.1:%d/\r\n"):format(server.stranger), "moved")
  end)
end

local function has_body(call) return call.body ~= "" end
local function without_token(call) return call.kind == "once" end
local function is_xml(call) return call.protocol:find("query") or call.protocol == "rest-xml" end
local function is_json(call) return not is_xml(call) end

local BOMB = '<!DOCTYPE l [<!ENTITY a "haha">'
do
  local before = "a"
  for i = 1, 20 do
    local name = "a" .. i
    BOMB = BOMB .. ("<!ENTITY %s \"%s\">"):format(name, ("&" .. before .. ";"):rep(10))
    before = name
  end
  BOMB = BOMB .. "]><DescribeVpcsResponse>&a20;</DescribeVpcsResponse>"
end

local LONG = ("x"):rep(1000)
local GZIP = "Content-Encoding: gzip\r\n"

local ROWS = {
  { "answers well", ends(nil), fine(), good_first = true },
  { "closes without an answer", ends(CLOSE), again "RTL-NET-008" },
  { "resets without an answer", ends(RESET), again "RTL-NET-008" },
  { "never answers", ends(HANG), again "RTL-NET-006", timeouts = SHORT },
  { "stalls in its head", says(function () return "HTTP/1.1 200 OK\r\nContent-" end, HANG),
    again "RTL-NET-006", timeouts = SHORT },
  { "stalls in its body", says(function () return answer(200, nil, "x"):sub(1, -2) end, HANG),
    again "RTL-NET-006", timeouts = SHORT },
  { "drips for longer than a call may take", function (call)
      return { does { send(good(call), { pause = 0.05 }) } }
    end, again "RTL-NET-007", timeouts = { all = 0.6 } },
  { "drips, but comes to its end", function (call)
      return { does { send(good(call), { pause = 0.0002 }) } }
    end, fine() },

  { "speaks another protocol", says(function () return "SSH-2.0-OpenSSH_9.2\r\n" end, CLOSE),
    final "RTL-NET-010" },
  { "has no status", says(function () return "HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n" end,
    CLOSE), final "RTL-NET-010" },
  { "says a length beyond its end", says(function (call)
      return (good(call):gsub("(Content%-Length: )(%d+)", function (name, size)
        return name .. size + 10
      end))
    end, CLOSE), again "RTL-NET-009" },
  { "says a length short of its end", says(function (call)
      return (good(call):gsub("(Content%-Length: )(%d+)", function (name, size)
        return name .. size - 10
      end))
    end), again "RTL-AWS-003", only = has_body },
  { "says two lengths", says(function (call)
      return (good(call):gsub("\r\n\r\n", "\r\nContent-Length: 3\r\n\r\n", 1))
    end, CLOSE), again "RTL-AWS-003", only = has_body },
  { "says a length that is none", says(function (call)
      return (good(call):gsub("(Content%-Length: )(%d+)", "%1many"))
    end, CLOSE), final "RTL-NET-010" },

  { "sends a header without end", says(function ()
      return "HTTP/1.1 200 OK\r\nA: " .. LONG:rep(400)
    end, HANG), final "RTL-NET-011" },
  { "sends headers without end", function ()
      return { does { send "HTTP/1.1 200 OK\r\n", send("A: " .. LONG .. "\r\n", { times = -1 }) } }
    end, final "RTL-NET-011" },
  { "sends interim answers without end", function ()
      return { does { send("HTTP/1.1 100 Continue\r\n\r\n", { times = -1 }) } }
    end, final "RTL-NET-011" },
  { "sends many headers", says(function (call)
      return (good(call):gsub("\r\n", "\r\n" .. ("a:\r\n"):rep(50000), 1))
    end), fine(), only = without_token },
  { "sends interim answers first", says(function (call)
      return "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" .. good(call)
    end), fine() },
  { "switches protocols unasked", says(function ()
      return "HTTP/1.1 101 Switching\r\nUpgrade: other\r\n\r\nhello"
    end, CLOSE), final "RTL-AWS-003" },
  { "sends a body without end", function ()
      return { does { send(answer(200, nil, "", "close")),
        send(("z"):rep(1 << 20), { times = -1 }) } }
    end, final "RTL-NET-011", only = without_token },
  { "sends chunks without end", function ()
      return { does { send "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        send("100000\r\n" .. ("z"):rep(1 << 20) .. "\r\n", { times = -1 }) } }
    end, final "RTL-NET-011", only = without_token },

  { "answers with nothing", with(200, nil, ""), again "RTL-AWS-003", only = has_body },
  { "answers with nothing and ends", empty "close", again "RTL-AWS-003", only = has_body },
  { "says that there is nothing", with(204, nil, ""), again "RTL-AWS-003", only = has_body },
  { "calls its answer a page", says(function (call)
      return answer(200, (call.head or "") .. "Content-Type: text/html\r\n", call.body)
    end), fine() },
  { "answers with no XML", with(200, nil, "<a><b></a>"), again "RTL-AWS-003",
    only = function (call) return is_xml(call) and has_body(call) end },
  { "answers with no UTF-8", with(200, nil, "<\xff\xfe/>"), again "RTL-AWS-003", only = has_body },
  { "answers with no JSON", with(200, nil, '{"a":'), again "RTL-AWS-003", only = is_json },
  { "answers with a list", with(200, nil, "[]"), final "RTL-AWS-003", only = is_json },
  { "answers with null", with(200, nil, "null"), final "RTL-AWS-003", only = is_json },
  { "answers with a web page", with(200, "Content-Type: text/html\r\n",
      "<!DOCTYPE html><html><body>Log in<br></body></html>"), final "RTL-AWS-003",
    only = has_body },
  { "answers with a well-formed page", with(200, "Content-Type: text/html\r\n",
      "<html><body>Log in</body></html>"), final "RTL-AWS-003",
    only = function (call) return is_xml(call) and has_body(call) end },
  { "answers another operation", with(200, nil, "<OtherResponse><vpcSet/></OtherResponse>"),
    final "RTL-AWS-003", only = function (call) return call.protocol:find("query") ~= nil end },
  { "answers without its result", says(function (call)
      local name = call.body:match "^<(%w+)Response"
      return answer(200, nil, ("<%sResponse></%sResponse>"):format(name, name))
    end), final "RTL-AWS-003", only = function (call) return call.protocol == "awsquery" end },
  { "says 200 to a refusal", says(function (call)
      return answer(200, nil, hostile.refusal(call, "AccessDenied"))
    end), final "RTL-AWS-003",
    only = function (call) return is_xml(call) and has_body(call) end },

  { "sends a bomb of entities", with(200, nil, BOMB), again "RTL-AWS-003",
    only = function (call) return is_xml(call) and has_body(call) end },
  { "names a file as entity", with(200, nil,
      '<!DOCTYPE l [<!ENTITY e SYSTEM "file:///etc/passwd">]><DescribeVpcsResponse>&e;'
      .. "</DescribeVpcsResponse>"), again "RTL-AWS-003",
    only = function (call) return is_xml(call) and has_body(call) end },
  { "nests elements without end", with(200, nil, ("<a>"):rep(100000)), again "RTL-AWS-003",
    only = function (call) return is_xml(call) and has_body(call) end },
  { "nests lists without end", with(200, nil, ("["):rep(100000)), again "RTL-AWS-003",
    only = is_json },

  { "packs half of it", says(function (call)
      local packed = archive.gzip(call.body)
      return answer(200, GZIP .. (call.head or ""), packed:sub(1, #packed // 2))
    end), again "RTL-AWS-003", only = has_body },
  { "packs half a head", says(function (call)
      return answer(200, GZIP .. (call.head or ""), archive.gzip(call.body):sub(1, 5))
    end), again "RTL-AWS-003", only = has_body },
  { "packs with more behind", says(function (call)
      return answer(200, GZIP .. (call.head or ""), archive.gzip(call.body) .. "more")
    end), final "RTL-NET-010", only = has_body },
  { "says gzip of what is none", with(200, GZIP, "not packed"), final "RTL-NET-010" },
  { "says a packing that nobody asked for", with(200, "Content-Encoding: br\r\n", "zz"),
    final "RTL-NET-010" },
  { "packs many times", with(200, "Content-Encoding: gzip, gzip, gzip\r\n", "zz"),
    final "RTL-NET-010" },
  { "packs its chunks", with(200, "Transfer-Encoding: gzip, chunked\r\n", "zz"),
    final "RTL-NET-010" },

  { "sends elsewhere for good", redirects(301), refused "RTL-AWS-003", no_effect = true },
  { "sends elsewhere for now", redirects(307), refused "RTL-AWS-003", no_effect = true },
  { "says to look elsewhere", redirects(303), refused "RTL-AWS-003", no_effect = true },
  { "refuses", says(function (call)
      return answer(400, nil, hostile.refusal(call, "ValidationError"))
    end), refused "ValidationError", no_effect = true },
  { "is barred by a page", with(403, "Content-Type: text/html\r\n", "<html>no<br></html>"),
    refused "RTL-AWS-003", no_effect = true },
  { "refuses in colours", says(function (call)
      return answer(400, "x-amzn-requestid: \27[31m\r\n", (hostile.refusal(call, "Odd")
        :gsub("no", is_xml(call) and "&#x9b;\n" .. LONG or "\\u001b[2J\\u009b" .. LONG)))
    end), refused "Odd", no_effect = true },
  { "refuses with a code that is none", says(function (call)
      return answer(400, nil, hostile.refusal(call, "so sorry"))
    end), refused "RTL-AWS-003", no_effect = true },
  { "fails with nothing", with(502, nil, ""), again "RTL-AWS-003" },
  { "fails as nobody does", with(999, nil, ""), final "RTL-AWS-003" },
  { "fails with a page", with(503, "Content-Type: text/html\r\n", "<html>busy<br></html>"),
    again "RTL-AWS-003" },
  { "fails in its own words", says(function (call)
      return answer(500, nil, hostile.refusal(call, "InternalFailure"))
    end), again "InternalFailure" },
  { "asks for patience", says(function (call)
      return answer(400, nil, hostile.refusal(call, "Throttling"))
    end), fine(2), no_effect = true },
}

local function script_of(row, call)
  local answers = row.good_first and {} or row[2](call)
  for _, bad in ipairs(answers) do
    bad.effect = not row.no_effect and call.kind ~= "read"
  end
  answers[#answers + 1] = does({ send(good(call)) }, call.kind ~= "read")
  return { answers = answers }
end

setup(function () server = hostile.start() end)
teardown(function () server:stop() end)

describe("a server that", function ()
  for _, row in ipairs(ROWS) do
    it(row[1], function ()
      local cases = {}
      for _, call in ipairs(hostile.CALLS) do
        if not row.only or row.only(call) then cases[#cases + 1] = call end
      end
      task.map(cases, function (call)
        hostile.check(server, call, script_of(row, call), row[3], row[1], row)
      end)
      assert.equal(0, http.live())
      assert.equal(0, server:strangers())
    end)
  end
end)
