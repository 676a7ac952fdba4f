--- Servers for specs: test/support/wire_server.py on a port of its own, and certificates.
local fs = require "rtl.fs"
local peer = require "test.support.peer"
local process = require "rtl.process"
local crypto = require "rtl.native.crypto"
local wire = require "rtl.wire"

local M = {}

local methods = {}
local mt = { __index = methods }

--- Asks it for a path; `more`: what else rtl.wire.request is told.
function methods:get(path, more)
  local req = { url = self.url .. path }
  for key, value in pairs(more or {}) do req[key] = value end
  return wire.request(req)
end

--- How often it has executed a request that was called `name`.
function methods:count(name)
  return tonumber(assert(self:get("/count/" .. name)).body)
end

--- Starts a server with further words of its command line; returns { port, url }.
function M.start(...)
  local program = peer.start { "python3", "-u", "test/support/wire_server.py", ... }
  local port = math.tointeger(tonumber(program:line():match("%d+")))
  local s = setmetatable({ program = program, port = port }, mt)
  s.url = "http://127.0.0.1:" .. port
  return s
end

--- Ends it; idempotent.
function methods:stop()
  self.program:stop()
end

--- The path that makes the server answer exactly `bytes`; `then_` says what follows.
function M.raw(bytes, then_)
  return "/raw/" .. crypto.base64url_encode(bytes) .. "?then=" .. (then_ or "keep")
end

local function openssl(dir, ...)
  local result = assert(process.run { argv = { "openssl", ... }, cwd = dir })
  assert(result.status == 0, result.stderr)
end

-- A certificate NAME.pem with NAME.key, signed by the CA in ca.pem.
local function certificate(dir, name, common_name, extension, ...)
  fs.write(fs.join(dir, name .. ".ext"), extension)
  openssl(dir, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
    name .. ".key", "-out", name .. ".csr", "-subj", "/CN=" .. common_name)
  openssl(dir, "x509", "-req", "-in", name .. ".csr", "-CA", "ca.pem", "-CAkey", "ca.key",
    "-CAcreateserial", "-out", name .. ".pem", "-extfile", name .. ".ext", ...)
end

--- Makes in `dir`: ca, server (localhost and 127.0.0.1), other (elsewhere.test), client, expired.
function M.certificates(dir)
  openssl(dir, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test CA", "-days", "30")
  local here = "subjectAltName=DNS:localhost,IP:127.0.0.1"
  certificate(dir, "server", "server", here, "-days", "30")
  certificate(dir, "other", "other", "subjectAltName=DNS:elsewhere.test", "-days", "30")
  certificate(dir, "client", "client", "extendedKeyUsage=clientAuth", "-days", "30")
  certificate(dir, "expired", "expired", here, "-days", "-1")
end

return M
