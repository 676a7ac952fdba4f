--- Credentials that come from elsewhere: token files and exec plugins of a kubeconfig.

local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local process = require "rtl.process"
local secret = require "rtl.native.secret"

local M = {}

local FILE_LIFE = 60
local VERSIONS = { ["client.authentication.k8s.io/v1"] = true,
  ["client.authentication.k8s.io/v1beta1"] = true }

--- A token function that reads a file, again once a minute.
function M.token_file(path)
  return function ()
    local bytes, problem = fs.read(path)
    if not bytes then return nil, problem end
    return secret.new(bytes:match("^%s*(.-)%s*$")), clock.utc() + FILE_LIFE + 120
  end
end

local function refuse(message, fields)
  fields = fields or {}
  fields.code, fields.message = fields.code or "RTL-K8S-051", message
  return nil, err.new(fields)
end

--- Whether the exec part of a user is what client-go accepts: true | nil, err.
function M.check(plugin, where)
  if type(plugin.command) ~= "string" or plugin.command == "" then
    return refuse("exec of " .. where .. " has no command")
  end
  if not VERSIONS[plugin.apiVersion] then
    return refuse("exec of " .. where .. " has no usable apiVersion: "
      .. tostring(plugin.apiVersion))
  end
  for _, pair in ipairs(type(plugin.env) == "table" and plugin.env or {}) do
    if type(pair.name) ~= "string" or pair.name == "" then
      return refuse("exec of " .. where .. " has an env entry without a name")
    end
  end
  return true
end

local function cluster_info(context)
  local cluster = context.cluster.value
  local config
  for _, extension in ipairs(type(cluster.extensions) == "table" and cluster.extensions or {}) do
    if extension.name == "client.authentication.k8s.io/exec" then config = extension.extension end
  end
  local ca = cluster["certificate-authority-data"]
  local file = cluster["certificate-authority"]
  if not ca and type(file) == "string" then
    local path = file:sub(1, 1) == "/" and file or fs.join(fs.dirname(context.cluster.path), file)
    local bytes = fs.read(path)
    ca = bytes and crypto.base64_encode(bytes)
  end
  return { server = cluster.server, ["tls-server-name"] = cluster["tls-server-name"],
    ["insecure-skip-tls-verify"] = cluster["insecure-skip-tls-verify"] == true or nil,
    ["certificate-authority-data"] = ca, ["proxy-url"] = cluster["proxy-url"], config = config }
end

local function environment(plugin, context, interactive)
  local env = {}
  for _, line in ipairs(process.environ()) do
    local name, value = line:match("^([^=]+)=(.*)$")
    if name then env[name] = value end
  end
  for _, pair in ipairs(type(plugin.env) == "table" and plugin.env or {}) do
    env[pair.name] = tostring(pair.value)
  end
  env.KUBERNETES_EXEC_INFO = json.encode { apiVersion = plugin.apiVersion, kind = "ExecCredential",
    spec = { interactive = interactive,
      cluster = plugin.provideClusterInfo == true and cluster_info(context) or nil } }
  return env
end

-- A command with a slash is beside the kubeconfig; a bare name is looked for on PATH.
local function command_of(plugin, context)
  local command = plugin.command
  if command:find("/", 1, true) and command:sub(1, 1) ~= "/" then
    return fs.join(fs.dirname(context.path), command)
  end
  return command
end

local function run(plugin, context)
  local argv = { command_of(plugin, context) }
  for _, word in ipairs(type(plugin.args) == "table" and plugin.args or {}) do
    argv[#argv + 1] = tostring(word)
  end
  local what = "run " .. argv[1] .. " for " .. context.where
  if plugin.interactiveMode == "Always" then
    return refuse("the plugin wants a terminal (interactiveMode Always)", { doing = what })
  end
  local r, problem = process.run { argv = argv, env = environment(plugin, context, false),
    timeout = 60 }
  if not r then
    return refuse("it can't be started", { cause = problem, doing = what,
      hint = plugin.installHint })
  end
  if r.status ~= 0 then
    return refuse("it failed: " .. ((r.stderr or ""):match("[^\n]*") or ""), { doing = what,
      hint = plugin.installHint })
  end
  return r.stdout, what
end

local function expiry(status)
  if type(status.expirationTimestamp) ~= "string" then return nil end
  return clock.parse_iso(status.expirationTimestamp)
end

-- What the plugin printed, with its secrets hidden: status | nil, err.
local function answer(plugin, context, out)
  local stdout, what = run(plugin, context)
  if not stdout then return nil, what end
  local value = json.decode(stdout, { secret = { "token", "clientKeyData" } })
  if type(value) ~= "table" or value.kind ~= "ExecCredential" or type(value.status) ~= "table" then
    return refuse("it printed no ExecCredential with a status", { doing = what })
  end
  if value.apiVersion ~= plugin.apiVersion then
    -- kubectl refuses these; the token is as good, so only say it.
    out.warning = ("the plugin of %s answers %s though the kubeconfig says %s: update the file")
      :format(context.where, tostring(value.apiVersion), plugin.apiVersion)
  end
  local status = value.status
  if not status.token and not (status.clientCertificateData and status.clientKeyData) then
    return refuse("its answer holds neither a token nor a certificate with key", { doing = what })
  end
  return status
end

--- Puts the credentials of an exec plugin into client options `out`: a token function that runs the
-- plugin anew when needed, or certificate and key. True | nil, err.
function M.plugin(out, plugin, context)
  local first, problem = answer(plugin, context, out)
  if not first then return nil, problem end
  out.cert, out.key = first.clientCertificateData, first.clientKeyData
  if not first.token then return true end
  out.token = function (anew)
    local status = first
    first = nil
    if not status or anew then
      local trouble
      status, trouble = answer(plugin, context, out)
      if not status then return nil, trouble end
    end
    return status.token, expiry(status)
  end
  return true
end

return M
