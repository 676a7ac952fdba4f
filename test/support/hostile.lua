--- AWS calls against test/support/hostile_server.py: one call of each protocol and kind, its good
-- answer, and the bytes of bad ones.

local aws = require "rtl.aws"
local clock = require "rtl.clock"
local credentials = require "rtl.aws.credentials"
local crypto = require "rtl.native.crypto"
local entropy = require "rtl.entropy"
local fs = require "rtl.fs"
local http = require "rtl.native.http"
local json = require "rtl.native.json"
local assert = require "luassert"
local peer = require "test.support.peer"
local support = require "test.support.server"
local wire = require "rtl.wire"

local M = {}

M.KEYS = { access_key_id = "AKIDEXAMPLE", secret_access_key = "hostile/test+secret",
  session_token = "a-session-token" }
M.ID, M.DATE = "IDIDIDIDIDIDIDIDI", "DATEDATEDATEDATEDATEDATEDATED"

-- ---- the calls ----

local function ec2(name, inner)
  return ('<%sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r-1</requestId>'
    .. "%s</%sResponse>"):format(name, inner, name)
end

local function query(name, inner)
  return ("<%sResponse><%sResult>%s</%sResult><ResponseMetadata><RequestId>r-1</RequestId>"
    .. "</ResponseMetadata></%sResponse>"):format(name, name, inner, name, name)
end

--- The calls: protocol, kind ("read", "token": a create that is told from another by its token,
-- "once": a create without one), what is called, the body of its good answer, where the thing's id
-- stands in it (as path of keys), and for a token how a request shows it.
M.CALLS = {
  { protocol = "ec2query", kind = "read", service = "ec2", op = "describe_vpcs",
    body = ec2("DescribeVpcs", "<vpcSet><item><vpcId>vpc-" .. M.ID .. "</vpcId></item></vpcSet>"),
    path = { "Vpcs", 1, "VpcId" }, prefix = "vpc-" },
  { protocol = "ec2query", kind = "token", service = "ec2", op = "create_route_table",
    params = { VpcId = "vpc-1" }, token = "ClientToken=([^&]+)",
    body = ec2("CreateRouteTable",
      "<routeTable><routeTableId>rtb-" .. M.ID .. "</routeTableId></routeTable>"),
    path = { "RouteTable", "RouteTableId" }, prefix = "rtb-" },
  { protocol = "ec2query", kind = "once", service = "ec2", op = "create_vpc",
    params = { CidrBlock = "10.0.0.0/16" },
    body = ec2("CreateVpc", "<vpc><vpcId>vpc-" .. M.ID .. "</vpcId></vpc>"),
    path = { "Vpc", "VpcId" }, prefix = "vpc-" },
  { protocol = "awsquery", kind = "read", service = "iam", op = "list_roles",
    body = query("ListRoles", "<IsTruncated>false</IsTruncated><Roles><member><RoleId>AROA" .. M.ID
      .. "</RoleId></member></Roles>"),
    path = { "Roles", 1, "RoleId" }, prefix = "AROA" },
  { protocol = "awsquery", kind = "once", service = "iam", op = "create_role",
    params = { RoleName = "r", AssumeRolePolicyDocument = { Version = "2012-10-17" } },
    body = query("CreateRole", "<Role><RoleId>AROA" .. M.ID .. "</RoleId></Role>"),
    path = { "Role", "RoleId" }, prefix = "AROA" },
  { protocol = "json", kind = "read", service = "ssm", op = "get_parameters_by_path",
    params = { Path = "/rtl" }, body = '{"Parameters":[{"Name":"/rtl/' .. M.ID .. '"}]}',
    path = { "Parameters", 1, "Name" }, prefix = "/rtl/" },
  { protocol = "json", kind = "once", service = "ssm", op = "put_parameter",
    params = { Name = "/rtl/lock", Value = "v", Type = "String" },
    body = '{"Version":1,"Tier":"' .. M.ID .. '"}', path = { "Tier" }, prefix = "" },
  { protocol = "rest-json", kind = "read", service = "eks", op = "list_clusters",
    body = '{"clusters":["c-' .. M.ID .. '"]}', path = { "clusters", 1 }, prefix = "c-" },
  { protocol = "rest-json", kind = "token", service = "eks", op = "create_access_entry",
    params = { clusterName = "c", principalArn = "arn:aws:iam::123456789012:role/r" },
    token = '"clientRequestToken":"([^"]+)"',
    body = '{"accessEntry":{"accessEntryArn":"arn:' .. M.ID .. '"}}',
    path = { "accessEntry", "accessEntryArn" }, prefix = "arn:" },
  { protocol = "rest-json", kind = "once", service = "resource_groups", op = "create_group",
    params = { Name = "g" }, body = '{"Group":{"GroupArn":"arn:' .. M.ID .. '","Name":"g"}}',
    path = { "Group", "GroupArn" }, prefix = "arn:" },
  { protocol = "rest-xml", kind = "read", service = "s3", op = "list_objects_v2",
    params = { Bucket = "b" },
    body = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k-" .. M.ID
      .. "</Key></Contents></ListBucketResult>",
    path = { "Contents", 1, "Key" }, prefix = "k-" },
  { protocol = "rest-xml", kind = "once", service = "s3", op = "create_bucket",
    params = { Bucket = "b" }, head = "Location: /b-" .. M.ID .. "\r\n", body = "",
    path = { "Location" }, prefix = "/b-" },
}

--- The body in which a service of the call's protocol refuses with `code`.
function M.refusal(call, code)
  local xml = "<Error><Code>%s</Code><Message>no</Message>%s</Error>"
  if call.protocol == "ec2query" then
    return "<Response><Errors>" .. xml:format(code, "") .. "</Errors><RequestID>r-1</RequestID>"
      .. "</Response>"
  elseif call.protocol == "awsquery" then
    return "<ErrorResponse>" .. xml:format(code, "") .. "<RequestId>r-1</RequestId></ErrorResponse>"
  elseif call.protocol == "rest-xml" then
    return xml:format(code, "<RequestId>r-1</RequestId>")
  end
  return json.encode { __type = code, message = "no" }
end

-- ---- answers ----

--- A whole answer. `head` is further header lines, each ended; `framing`: "length" (default),
-- "chunks" or "close" (the connection's end is the body's).
function M.answer(status, head, body, framing)
  local lines = ("HTTP/1.1 %d Said\r\n%s"):format(status, head or "")
  if framing == "close" then return lines .. "\r\n" .. body end
  if framing ~= "chunks" then
    return ("%sContent-Length: %d\r\n\r\n%s"):format(lines, #body, body)
  end
  local parts = { lines .. "Transfer-Encoding: chunked\r\n\r\n" }
  for _, part in ipairs { body:sub(1, 9), body:sub(10) } do -- the id is in one piece
    if part ~= "" then parts[#parts + 1] = ("%x\r\n%s\r\n"):format(#part, part) end
  end
  return table.concat(parts) .. "0\r\n\r\n"
end

--- The call's good answer.
function M.good(call, framing)
  return M.answer(200, call.head, call.body, framing)
end

--- A step that sends bytes; `more` are its further fields.
function M.send(bytes, more)
  local step = more or {}
  step.send = crypto.base64_encode(bytes)
  return step
end

--- An answer of a script: steps, and whether the request takes effect (it does, unless told
-- otherwise).
function M.does(steps, effect)
  return { steps = steps, effect = effect ~= false }
end

-- ---- the server ----

local server = {}
server.__index = server

-- Makes waits between attempts nothing (chance is 0; tokens still differ). Returns the former.
local function impatient()
  local serial = 0
  return entropy.use { bytes = function (n)
    serial = serial + 1
    return n == 8 and ("\0"):rep(8) or (("%016d"):format(serial)):rep(n // 16 + 1):sub(1, n)
  end }
end

--- Starts the server. Until its stop(), waits between attempts take no time.
function M.start()
  local dir = fs.temp_dir()
  support.certificates(dir)
  local program = peer.start { "python3", "-u", "test/support/hostile_server.py",
    "--cert", fs.join(dir, "server.pem"), "--key", fs.join(dir, "server.key") }
  local ports = json.decode(program:line())
  return setmetatable({
    program = program, scripts = 0, stranger = ports.stranger,
    url = "http://127.0.0.1:" .. ports.port, control = "http://127.0.0.1:" .. ports.control,
    tls_url = "https://localhost:" .. ports.tls,
    ca_file = fs.join(dir, "ca.pem"), dir = dir, former = impatient(),
  }, server)
end

--- Ends it, and undoes what it and its calls changed.
function server:stop()
  self.program:stop()
  fs.remove_tree(self.dir)
  entropy.use(self.former)
  clock.correct(0)
  http.close_idle()
end

local function ask(self, path, body)
  local res = assert(wire.native.request {
    method = "POST", url = self.control .. "/_hostile/" .. path, body = body, connect_timeout = 10,
    headers = {}, tls = {}, once = false, gzip = false, secret_body = false,
    max_headers = 1 << 16, proxy = false,
  })
  return json.decode(res.body)
end

--- Puts a script {answers =, clock =} for a call; returns the script's name.
function server:script(call, script)
  self.scripts = self.scripts + 1
  local name = "s" .. self.scripts
  script.token = call.token
  ask(self, "script/" .. name, json.encode(script))
  return name
end

--- What was seen of a script: {requests, effects, tokens, connections, late, sent}.
function server:seen(name) return ask(self, "seen/" .. name) end

--- Writes `bytes` on the connection that a script was last asked on.
function server:say(name, bytes) ask(self, "say/" .. name, bytes) end

--- The next `times` TLS handshakes are "close", "garbage" or "half".
function server:hello(what, times)
  ask(self, "hello", json.encode { ["do"] = what, times = times })
end

--- How many connections were made to the listener that nobody has a reason to call.
function server:strangers() return ask(self, "strangers").strangers end

--- A client for a call and a script. options: tls = true, timeouts (seconds, as rtl.aws.client).
function server:client(call, name, options)
  options = options or {}
  return aws.client(call.service, {
    region = "us-east-1", credentials = credentials.static(M.KEYS),
    endpoint = (options.tls and self.tls_url or self.url) .. "/" .. name,
    tls = options.tls and { ca_file = self.ca_file } or nil, timeouts = options.timeouts,
  })
end

-- ---- what is expected ----

--- One clear error: a code that is explained or the service's own, what was being done, and nothing
-- that a terminal would act upon.
function M.assert_clear(e, call)
  local text = tostring(e)
  assert.is_true(not text:find "%c" and not text:find "\xC2[\x80-\x9F]" and #text < 5000, text)
  assert.truthy(e.doing and e.doing:find("^[%w-]+:%u%w+"), text)
  local area = e.code:match "^RTL%-(%u+)%-"
  assert.truthy(not area or require("rtl.codes." .. area:lower())[e.code], text)
  local warned = tostring(e.hint):find "may have taken effect" ~= nil
  assert.equal(call.kind ~= "read" and e.sent or false, warned, text)
end

--- The thing's id in a good answer, or nil.
function M.id_of(call, out)
  for _, key in ipairs(call.path) do
    if type(out) ~= "table" then return nil end
    out = out[key]
  end
  return type(out) == "string" and out:match("^" .. call.prefix:gsub("%p", "%%%0") .. "(%d+)$")
end

--- Outcomes by kind of call: {"ok" or a code, requests =, effects =, sent =}. The next answer is
-- good, and asking for it is right: a read changes nothing, and a token makes the second request
-- the same as the first. Without a token it is "outcome unknown".
function M.again(code)
  return {
    read = { "ok", requests = 2 }, token = { "ok", requests = 2, effects = 1 },
    once = { code, requests = 1, effects = 1, sent = true },
  }
end

--- No later answer would be better; what may have taken effect says so.
function M.final(code)
  local made = { code, requests = 1, effects = 1, sent = true }
  return { read = { code, requests = 1 }, token = made, once = made }
end

--- Refused before anything was done: nothing was made, however often it was asked (once).
function M.refused(code, requests)
  local expected = { code, requests = requests or 1, effects = 0, sent = false }
  return { read = expected, token = expected, once = expected }
end

--- All went well, with the first request that the server took.
function M.fine(requests)
  return {
    read = { "ok", requests = requests or 1 },
    token = { "ok", requests = requests or 1, effects = 1 },
    once = { "ok", requests = requests or 1, effects = 1 },
  }
end

--- Calls once with a script and compares what came of it with the outcome for the call's kind. With
-- short time-outs a good answer may be late, too, and is asked for once more.
function M.check(from, call, script, outcomes, title, options)
  local expected = outcomes[call.kind]
  local name = from:script(call, script)
  local out, e = from:client(call, name, options):call(call.op, call.params)
  local seen = from:seen(name)
  local where = ("%s %s that %s: %s"):format(call.protocol, call.kind, title, tostring(e or "ok"))
  local more = options and options.timeouts and call.kind ~= "once" and seen.requests == 3
  assert.same({ expected[1], expected.requests + (more and 1 or 0) },
    { out and "ok" or e.code, seen.requests }, where)
  if call.kind ~= "read" then assert.equal(expected.effects, seen.effects, where) end
  if expected.sent ~= nil then assert.equal(expected.sent, e.sent or false, where) end
  if e then M.assert_clear(e, call) end
  local id = out and M.id_of(call, out)
  assert.equal(expected[1] == "ok" and (call.kind == "read" and 0 or 1) or nil, tonumber(id), where)
  for _, token in ipairs(seen.tokens) do assert.equal(seen.tokens[1], token, where) end
  return e
end

return M
