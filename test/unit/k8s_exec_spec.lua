-- exec, logs and cp against a scripted API server that speaks real WebSocket frames.
local api = require "test.support.apiserver"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local k8s = require "rtl.k8s"
local kube = require "rtl.native.kube"
local process = require "rtl.process"
local secret = require "rtl.native.secret"
local task = require "rtl.task"

local EXEC = "GET /api/v1/namespaces/ns/pods/p/exec"
local SUCCESS = '{"metadata":{},"status":"Success"}'

local s

local function start(routes, options)
  s = api.start(routes)
  options = options or {}
  options.server = "https://c.test"
  return k8s.client(options)
end

local function exit(code)
  return json.encode(api.status(500, "NonZeroExitCode", "command terminated",
    { details = { causes = {
    { reason = "ExitCode", message = tostring(code) } } } }))
end

-- A pod that sends these messages and closes; false drops the connection instead.
local function says(...)
  local messages = { ... }
  return { exec = function (ws)
    for _, message in ipairs(messages) do
      if message == false then return ws:abort() end
      ws:send(message)
    end
    ws:close()
  end }
end

-- What comes on stdin until its half-close (v5).
local function read_stdin(ws)
  local parts = {}
  while true do
    local message = ws:receive()
    if not message then break end
    local channel, bytes = kube.unframe(message)
    if channel == 255 then break end
    parts[#parts + 1] = bytes
  end
  return table.concat(parts)
end

local function run(c, more)
  local options = { namespace = "ns", pod = "p", argv = { "true" } }
  for key, value in pairs(more or {}) do options[key] = value end
  return c:exec(options)
end

after_each(function ()
  if s then s:stop() end
  s = nil
end)

describe("exec", function ()
  it("asks for the command word by word and both protocols", function ()
    local c = start({ [EXEC] = says("\1", "\1out", "\2err", "\1more", "\3" .. SUCCESS) },
      { token = secret.new "t" })
    local r = assert(run(c, { container = "ray-head", argv = { "sh", "-c", "a b+c&d=é" } }))
    assert.same({ code = 0, stdout = "outmore", stderr = "err" }, r)
    assert.same({ { "container", "ray-head" }, { "command", "sh" }, { "command", "-c" },
      { "command", "a b+c&d=é" }, { "stdout", "true" }, { "stderr", "true" } },
      s.log[1].query_list)
    assert.equal("v5.channel.k8s.io, v4.channel.k8s.io", s.log[1].headers["sec-websocket-protocol"])
    assert.equal("Bearer t", s.log[1].headers.authorization)
  end)

  it("gives the command's exit code", function ()
    local c = start { [EXEC] = says("\3" .. exit(42)) }
    assert.equal(42, assert(run(c)).code)
  end)

  it("does not take a closed connection for success", function ()
    for _, ending in ipairs { { "\1part" }, { "\1part", false } } do
      local c = start { [EXEC] = says(table.unpack(ending)) }
      local r, problem = run(c)
      assert.is_nil(r)
      assert.equal("RTL-K8S-030", problem.code)
      assert.is_true(problem.sent)
      assert.equal("part", problem.stdout)
      s:stop()
      s = nil
    end
  end)

  it("tells a command that could not be run from one that failed", function ()
    local c = start { [EXEC] = says("\3" .. json.encode(api.status(500, "InternalError",
      "no such file"))) }
    local r, problem = run(c)
    assert.is_nil(r)
    assert.equal("RTL-K8S-031", problem.code)
    assert.equal("no such file", problem.message)
  end)

  it("takes output that comes after the status, and a status in pieces", function ()
    local c = start { [EXEC] = says("\3" .. SUCCESS:sub(1, 9), "\3" .. SUCCESS:sub(10), "\1late") }
    assert.equal("late", assert(run(c)).stdout)
  end)

  it("does not wait for ever when the server forgets to close", function ()
    local c = start { [EXEC] = { exec = function (ws)
      ws:send("\3" .. SUCCESS)
      ws:receive()
    end } }
    assert.equal(0, assert(run(c)).code)
    assert.is_true(clock.mono() <= 20)
  end)

  it("sends stdin in pieces and half-closes it with v5", function ()
    local got
    local c = start { [EXEC] = { exec = function (ws)
      got = read_stdin(ws)
      ws:send("\1" .. #got)
      ws:send("\3" .. SUCCESS)
      ws:close()
    end } }
    local text = ("x"):rep(100000) .. "end"
    assert.equal("100003", assert(run(c, { stdin = text })).stdout)
    assert.equal(text, got)
    assert.equal("true", s.log[1].query.stdin)
    local parts = { "a", "b" }
    local function piece() return table.remove(parts, 1) end
    assert.equal("2", assert(run(c, { stdin = piece })).stdout)
  end)

  it("falls back to v4, where stdin has no end", function ()
    local frames = {}
    local c = start { [EXEC] = function (_, count)
      if count == 1 then return { 500, "unknown scheme: ws" } end
      return { exec = function (ws)
        frames[1] = ws:receive()
        ws:send("\3" .. SUCCESS)
        ws:close()
        frames[2] = ws:receive()
      end }
    end }
    assert.equal(0, assert(run(c, { stdin = "in" })).code)
    assert.same({ "\0in" }, frames)
    assert.equal("v4.channel.k8s.io", s.log[2].headers["sec-websocket-protocol"])
  end)

  it("acts on the protocol that the server echoes", function ()
    local c = start { [EXEC] = { protocol = "v4.channel.k8s.io", exec = function (ws)
      local message = ws:receive()
      ws:send("\1" .. message:sub(2))
      ws:send("\3" .. SUCCESS)
      ws:close()
      assert(ws:receive() == nil)
    end } }
    assert.equal("in", assert(run(c, { stdin = "in" })).stdout)
  end)

  it("does not take a real refusal for an old server", function ()
    local c = start { [EXEC] = { 403, api.status(403, "Forbidden", "pods is forbidden") } }
    local _, problem = run(c)
    assert.equal("Forbidden", problem.code)
    assert.matches("create on pods/exec", problem.hint)
    assert.equal(1, #s.log)
    s.routes[EXEC] = { 404, api.status(404, "NotFound", "pods not found") }
    _, problem = run(c)
    assert.equal("NotFound", problem.code)
  end)

  it("gets a new token after a 401", function ()
    local count = 0
    local c = start({ [EXEC] = function (request)
      if request.headers.authorization == "Bearer 1" then return { 401, "Unauthorized" } end
      return says("\3" .. SUCCESS)
    end }, { token = function ()
      count = count + 1
      return secret.new(tostring(count))
    end })
    assert.equal(0, assert(run(c)).code)
    assert.equal(2, count)
  end)

  it("pings a quiet connection every ten seconds", function ()
    local pings = 0
    local c = start { [EXEC] = { exec = function (ws)
      local receive = ws.receive
      task.group(function (g)
        local reader = g:spawn(function () receive(ws) end)
        for _ = 1, 30 do task.sleep(10) end
        pings = ws.last_seen or 0
        ws:send("\3" .. SUCCESS)
        ws:close()
        reader:cancel("done")
      end)
    end } }
    assert.equal(0, assert(run(c)).code)
    assert.is_true(clock.mono() >= 300)
    assert.is_true(pings >= 285)
  end)

  it("stops waiting when its time is over", function ()
    local c = start { [EXEC] = { exec = function (ws) ws:receive() end } }
    local r, problem = run(c, { timeout = 60 })
    assert.is_nil(r)
    assert.equal("RTL-K8S-032", problem.code)
    assert.equal(60, clock.mono())
  end)

  it("hands output over as it comes", function ()
    local seen = {}
    local c = start { [EXEC] = says("\1a", "\2e", "\1b", "\3" .. SUCCESS) }
    local r = assert(run(c, { on_stdout = function (bytes) seen[#seen + 1] = bytes end }))
    assert.same({ "a", "b" }, seen)
    assert.same({ code = 0, stdout = "", stderr = "e" }, r)
  end)

  it("cut at any byte is never taken for success, and loses nothing it reports", function ()
    local c = start { [EXEC] = says("\1out", "\2err", "\3" .. SUCCESS) }
    assert(run(c))
    local whole = s.passed
    for count = 0, whole do
      s.cut_after = count
      local r, problem = run(c)
      if r then
        assert.same({ code = 0, stdout = "out", stderr = "err" }, r)
      else
        assert.matches("^RTL%-", problem.code)
        assert.is_true(count < whole)
      end
    end
  end)

  it("keeps no more output than it may", function ()
    local c = start { [EXEC] = says("\1" .. ("x"):rep(11), "\3" .. SUCCESS) }
    local r, problem = run(c, { limit = 10 })
    assert.is_nil(r)
    assert.equal("RTL-K8S-033", problem.code)
  end)

  it("lets an error of the one who takes the output through", function ()
    local c = start { [EXEC] = says("\1x", "\3" .. SUCCESS) }
    local ok, e = pcall(run, c, { on_stdout = function () error("mine", 0) end })
    assert.is_false(ok)
    assert.matches("^mine", tostring(e))
  end)

  it("refuses misuse", function ()
    local c = start {}
    assert.error_matches(function () c:exec { pod = "p" } end, "argv expected")
    assert.error_matches(function () c:exec {} end, "pod expected")
  end)
end)

describe("logs", function ()
  local LOG = "GET /api/v1/namespaces/ns/pods/p/log"
  local function cut()
    return nil, err.new { code = "RTL-NET-009", message = "cut", retryable = true, sent = true }
  end

  it("are read whole or handed over", function ()
    local c = start { [LOG] = { 200, stream = { "one\n", "two\n" } } }
    assert.equal("one\ntwo\n", assert(c:logs("ns", "p", { container = "c", tail = 5 })))
    assert.same({ container = "c", tailLines = "5" }, s.log[1].query)
    local seen = {}
    assert.is_true(c:logs("ns", "p", { on_bytes = function (b) seen[#seen + 1] = b end }))
    assert.same({ "one\n", "two\n" }, seen)
    s.routes[LOG] = { 200, stream = { "one\n", cut } }
    local text, problem = c:logs("ns", "p")
    assert.is_nil(text)
    assert.equal("RTL-NET-009", problem.code)
  end)

  it("are followed across broken connections, each line once", function ()
    local t = "2026-12-01T10:00:0"
    local c = start { [LOG] = function (_, count)
      if count == 1 then
        return { 200, stream = { t .. "1Z a\n" .. t, "2.5Z b\n" .. t .. "2.500Z c\n" .. t
          .. "2.5Z d", cut } }
      elseif count == 2 then
        return { 200, stream = { t .. "2.5Z b\n", t .. "2.5Z c\n" .. t .. "2.5Z d\n", cut } }
      end
      return { 200, stream = { t .. "2.5Z b\n" .. t .. "2.5Z c\n" .. t .. "2.5Z d\n" .. t
        .. "2.51Z e\n",
        t .. "3Z end" } }
    end }
    local seen = {}
    assert.is_true(c:logs("ns", "p", { follow = true, tail = 9,
      on_bytes = function (b) seen[#seen + 1] = b end }))
    assert.equal("a\nb\nc\nd\ne\nend\n", table.concat(seen))
    assert.same({ follow = "true", timestamps = "true", tailLines = "9" }, s.log[1].query)
    assert.same({ follow = "true", timestamps = "true", sinceTime = t .. "2.500Z" }, s.log[2].query)
  end)

  it("that can't be followed are not followed for ever", function ()
    local c = start { [LOG] = { 200, stream = { cut } } }
    local _, problem = c:logs("ns", "p", { follow = true, on_bytes = print })
    assert.equal("RTL-NET-009", problem.code)
    assert.equal(6, #s.log)
    s.routes[LOG] = { 404, api.status(404, "NotFound", "gone") }
    _, problem = c:logs("ns", "p", { follow = true, on_bytes = print })
    assert.equal("NotFound", problem.code)
    assert.error_matches(function () c:logs("ns", "p", { follow = true }) end,
      "follow needs on_bytes")
  end)
end)

-- A pod with files that runs what rtl.k8s.copy sends. `harm(bytes)` spoils what is read.
local function pod_with(files, harm)
  return { exec = function (ws, request)
    local argv = {}
    for _, pair in ipairs(request.query_list) do
      if pair[1] == "command" then argv[#argv + 1] = pair[2] end
    end
    local name, out, code = argv[5], "", 0
    if argv[3]:find("head -c \"$2\" >", 1, true) then
      local bytes = read_stdin(ws):sub(1, tonumber(argv[6]))
      if harm then bytes = harm(bytes) end
      if crypto.sha256_hex(bytes) == argv[7] then files[name] = bytes else code = 9 end
    elseif argv[3]:find("wc -c", 1, true) then
      if files[name] then
        out = #files[name] .. "\n" .. crypto.sha256_hex(files[name]) .. "  -\n"
      else
        code = 3
      end
    else
      out = files[name]:sub(tonumber(argv[6]), tonumber(argv[6]) + tonumber(argv[7]) - 1)
      if harm then out = harm(out) end
    end
    for at = 1, #out, 1 << 20 do ws:send("\1" .. out:sub(at, at + (1 << 20) - 1)) end
    ws:send("\3" .. (code == 0 and SUCCESS or exit(code)))
    ws:close()
  end }
end

describe("cp", function ()
  local function where(more)
    more.namespace, more.pod = "ns", "p"
    return more
  end

  it("puts bytes and a file into a pod and checks them there", function ()
    local files = {}
    local c = start { [EXEC] = pod_with(files) }
    local bytes = ("\0\1\2x"):rep(30000)
    local r = assert(c:cp_to(where { bytes = bytes, to = "/tmp/a b" }))
    assert.equal(#bytes, r.size)
    assert.equal(bytes, files["/tmp/a b"])
    assert(c:cp_to(where { path = "LICENSE", to = "/l" }))
    assert.equal(assert(fs.read("LICENSE")), files["/l"])
  end)

  it("never reports a short copy as done", function ()
    local c = start { [EXEC] = pod_with({}, function (bytes) return bytes:sub(1, -31) end) }
    local r, problem = c:cp_to(where { bytes = ("x"):rep(200), to = "/a" })
    assert.is_nil(r)
    assert.equal("RTL-K8S-040", problem.code)
    s:stop()
    c = start { [EXEC] = pod_with({ ["/f"] = ("x"):rep(200) },
      function (bytes) return bytes:sub(1, 10) end) }
    r, problem = c:cp_from(where { from = "/f" })
    assert.is_nil(r)
    assert.equal("RTL-K8S-040", problem.code)
    assert.matches("short by 170 bytes", problem.message)
  end)

  it("gets a file in ranges, goes on after a cut, and notices a change", function ()
    local content = ("0123456789abcdef"):rep(1 << 19)
    local cut = true
    local files = { ["/f"] = content }
    local c = start { [EXEC] = pod_with(files, function (bytes)
      if not cut then return bytes end
      cut = false
      return bytes:sub(1, 1000)
    end) }
    assert.equal(content, assert(c:cp_from(where { from = "/f" })))
    s:stop()
    c = start { [EXEC] = pod_with(files, function (bytes) return bytes:gsub("f", "F") end) }
    local _, problem = c:cp_from(where { from = "/f" })
    assert.equal("RTL-K8S-040", problem.code)
    _, problem = c:cp_from(where { from = "/none" })
    assert.equal("RTL-K8S-041", problem.code)
  end)
end)

-- A pod whose commands run here.
local here = { exec = function (ws, request)
  local argv = {}
  for _, pair in ipairs(request.query_list) do
    if pair[1] == "command" then argv[#argv + 1] = pair[2] end
  end
  local r = assert(process.run { argv = argv, stdin = request.query.stdin and read_stdin(ws) })
  if r.stdout ~= "" then ws:send("\1" .. r.stdout) end
  if r.stderr ~= "" then ws:send("\2" .. r.stderr) end
  ws:send("\3" .. (r.status == 0 and SUCCESS or exit(r.status)))
  ws:close()
end }

describe("the scripts of cp", function ()
  local dir
  before_each(function () dir = assert(fs.temp_dir()) end)
  after_each(function () fs.remove_tree(dir) end)

  local function at(more)
    more.namespace, more.pod = "ns", "p"
    return more
  end

  it("put, check and get a file", function ()
    local c = start { [EXEC] = here }
    local target = fs.join(dir, "it's here")
    assert(c:cp_to(at { bytes = "a\0b\n", to = target, mode = "0600" }))
    assert.equal("a\0b\n", assert(fs.read(target)))
    assert.equal(384, assert(fs.stat(target)).mode & 511)
    assert.same({ "it's here" }, assert(fs.list(dir)))
    assert.equal("a\0b\n", assert(c:cp_from(at { from = target })))
    assert(c:cp_to(at { bytes = "x", to = fs.join(dir, "new/folder/x") }))
    assert.equal("x", assert(fs.read(fs.join(dir, "new/folder/x"))))
    assert(c:cp_to(at { bytes = "", to = target }))
    assert.equal("", assert(c:cp_from(at { from = target })))
    local r, problem = c:cp_to(at { bytes = "x", to = target .. "/below" })
    assert.is_nil(r)
    assert.equal("RTL-K8S-040", problem.code)
    r, problem = c:cp_from(at { from = dir })
    assert.is_nil(r)
    assert.equal("RTL-K8S-041", problem.code)
  end)

  it("put a folder", function ()
    local c = start { [EXEC] = here }
    local source, target = fs.join(dir, "from"), fs.join(dir, "to/deep")
    assert(fs.mkdirs(fs.join(source, "sub")))
    assert(fs.write(fs.join(source, "a.sh"), "#!/bin/sh\n", 493))
    assert(fs.write(fs.join(source, "sub/b"), "b"))
    local r = assert(c:cp_tree_to(at { path = source, to = target }))
    assert.equal(2, r.files)
    assert.equal("b", assert(fs.read(fs.join(target, "sub/b"))))
    assert.equal(493, assert(fs.stat(fs.join(target, "a.sh"))).mode & 511)
    assert(c:cp_tree_to(at { files = { { name = "c", data = "c" } }, to = target }))
    assert.equal("c", assert(fs.read(fs.join(target, "c"))))
    assert.is_nil(c:cp_tree_to(at { path = fs.join(dir, "none"), to = target }))
  end)
end)
