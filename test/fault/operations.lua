-- What test/fault/alloc.lua runs again and again: NAME = function () … end, one step of a module.
-- They use the native modules without tasks, close what they open, and depend on nothing outside.
local M = {}

-- Operations of which only Lua's allocations fail, and why not those of the library under them.
M.only_lua = {
  archive = "libarchive ends the process: 'Fatal Internal Error in libarchive'",
  http = "libcurl 7.88 divides by zero in curl_multi_socket_action",
  websocket = "wslay 1.1.1 loses the block that it could not queue",
}

local function native(name) return require("rtl.native." .. name) end

local DOCUMENT = [[{"a": [1, 2.5, true, null, "x\u00e9y"], "b": {"c": {}, "Key": "secret value"}}]]
local REQUEST = {
  method = "POST", url = "https://ec2.us-east-2.amazonaws.com/?a=1&b=%20", region = "us-east-2",
  service = "ec2", time = "20261201T100000Z", access_key_id = "AKIDEXAMPLE",
  secret_access_key = "wJalrXUtnFEMI", headers = { ["content-type"] = "text/plain" }, body = "x",
}

function M.clock()
  native("clock").mono()
  return native("clock").utc()
end

function M.entropy()
  return native("entropy").bytes(3000)
end

function M.loop()
  local loop = native "loop"
  local handles = {}
  -- One descriptor is watched once: the others are refused.
  for i = 1, 20 do handles[i] = loop.watch(2, "w") or false end
  loop.live()
  loop.wait(0)
  for _, handle in ipairs(handles) do
    if handle then handle:close() end
  end
end

function M.process()
  local child, stdin, stdout = native("process").spawn {
    argv = { "true" }, env = { "A=1" }, stdin = "pipe", stderr = "null", cwd = "/" }
  if not child then return nil, stdin end
  stdin:start("x")
  stdin:take()
  stdout:take()
  child:close()
  stdin:close()
  stdout:close()
end

function M.environment()
  native("process").environ()
  native("process").hostname()
  return native("process").getenv("PATH")
end

local folder
function M.file()
  local file = native "file"
  folder = folder or assert(file.temp_dir((os.getenv("TMPDIR") or "/tmp") .. "/alloc-"))
  local path = folder .. "/f"
  assert(file.replace(path, ("x"):rep(5000)))
  assert(file.read(path))
  local log = assert(file.append(folder .. "/log"))
  assert(log:append("line\n"))
  log:close()
  local lock = assert(file.lock(folder .. "/lock", "holder"))
  lock:close()
  assert(file.list(folder))
  assert(file.stat(path))
  assert(file.cwd())
  return file.read(folder .. "/none")
end

function M.terminal()
  local terminal = native "terminal"
  terminal.is_terminal(1)
  terminal.columns(1)
  return terminal.write(1000, "x")
end

function M.json()
  local json = native "json"
  local value = assert(json.decode(DOCUMENT, { secret = { "Key" } }))
  value.b.Key = nil
  json.encode(value, { pretty = true })
  return json.decode('{"a": [1, }')
end

function M.yaml()
  local yaml = native "yaml"
  local value = assert(yaml.decode("a: &x [1, 2.5, true, ~, 'q']\nb: *x\nc: |\n  text\n  more\n"))
  yaml.encode(value)
  assert(yaml.decode_all("a: 1\n---\nb: 2\n"))
  return yaml.decode("a: [1, ")
end

-- Names enough that libxml2's dictionary grows, and a text longer than its buffers.
local XML = '<?xml version="1.0" encoding="ISO-8859-1"?>'
  .. "<a b='1'><c>text &amp; more \xe9</c><?p i?>"
for i = 1, 200 do XML = XML .. ("<n%d%s/>"):format(i, i % 20 == 0 and " x='&lt;'" or "") end
XML = XML .. "<long><![CDATA[" .. ("x"):rep(20000) .. "]]></long><Key>secret</Key></a>"

local SHAPE = { kind = "structure", members = {
  { name = "C", wire_out = "c", shape = { kind = "string" } },
  { name = "Key", wire_out = "Key", shape = { kind = "secret" } },
} }

-- What memory was missing for must be refused, not left out.
function M.xml()
  local xml = native "xml"
  local node = assert(xml.decode(XML, { secret = { "Key" } }))
  assert(node[1].text == "text & more \u{e9}" and node[201].attr.x == "<", "text is left out")
  assert(#node == 203 and #node[202].text == 20000, "an element is left out")
  local out = assert(xml.read(XML, xml.plan(SHAPE, print)))
  assert(out.C == node[1].text and out.Key, "an element is left out")
  return xml.decode("<a><b></a>")
end

function M.crypto()
  local crypto = native "crypto"
  crypto.sha256_hex("x")
  crypto.hmac_sha256("key", ("x"):rep(3000))
  crypto.base64_decode(crypto.base64_encode(("x"):rep(3000)))
  crypto.unhex(crypto.hex("xyz"))
  local hasher, problem = crypto.hasher()
  if not hasher then return nil, problem end
  hasher:update("x")
  hasher:finish()
end

function M.sigv4()
  local sigv4 = native("crypto").sigv4
  sigv4.canonical_request(REQUEST)
  sigv4.sign(REQUEST)
  sigv4.presign(REQUEST)
end

function M.secret()
  local secret = native "secret"
  local s = secret.join(secret.new("abc"), "def", 1)
  s:equals("x")
  secret.reveal(s)
  tostring(s)
  s:close()
end

function M.archive()
  local archive = native "archive"
  local writer = archive.writer { gzip = true }
  writer:add("a/" .. ("long"):rep(30), ("x"):rep(3000))
  writer:finish()
  local reader, problem = archive.reader { data = writer:take() }
  if not reader then return nil, problem end
  for _ in reader:entries() do assert(reader:read()) end
  reader:close()
  assert(archive.gunzip(archive.gzip(("x"):rep(3000))))
  return archive.gunzip("no gzip")
end

function M.websocket()
  local websocket = native "websocket"
  local client = websocket.new { role = "client" }
  local server = websocket.new { role = "server" }
  client:send("text", ("hello"):rep(300))
  client:send("ping", "x")
  server:feed(client:output(("\1\2\3\4"):rep(8)))
  client:feed(server:output(""))
  client:close(1000, "bye")
  server:feed(client:output(("\1\2\3\4"):rep(8)))
  server:feed("\xff\xff\xff\xff")
end

function M.kube()
  local kube = native "kube"
  local splitter = kube.splitter("list")
  splitter:feed('{"kind":"PodList","items":[{"a":1},')
  splitter:feed('{"b":"x"}],"metadata":{}}')
  splitter:finish()
  splitter:close()
  return kube.unframe(kube.frame(0, "bytes"))
end

-- Only that it starts and is cancelled: the answer's path is test/fault/wire_cut_spec.lua's.
function M.http()
  local http = native "http"
  local handle, _, message = http.start(
    { method = "GET", headers = { { "a", "b" } } }, { url = "http://127.0.0.1:9/" })
  if not handle then return nil, message end
  native("loop").wait(0)
  handle:take()
  handle:cancel()
  handle:close()
end

return M
