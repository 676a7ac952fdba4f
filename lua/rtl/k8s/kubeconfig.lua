--- kubeconfig files: which are read, how they merge, what a context means, and its credentials.
-- Follows client-go, also in what it refuses.

local clock = require "rtl.clock"
local credentials = require "rtl.k8s.credentials"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fs = require "rtl.fs"
local process = require "rtl.process"
local secret = require "rtl.native.secret"
local yaml = require "rtl.native.yaml"

local M = {}

local function refuse(message, fields)
  fields = fields or {}
  fields.code, fields.message = fields.code or "RTL-K8S-050", message
  return nil, err.new(fields)
end

local function text(v) return type(v) == "string" and v ~= "" and v or nil end

local function list(v) return type(v) == "table" and v or {} end

-- Files ---------------------------------------------------------------------------------------

-- The variable's parts, without empty ones and repetitions.
local function listed(value)
  local out, seen = {}, {}
  for part in value:gmatch("[^:]+") do
    if not seen[part] then
      seen[part] = true
      out[#out + 1] = part
    end
  end
  return out
end

local function files_of(options)
  if options.path then return { options.path }, true end
  local variable = text(process.getenv("KUBECONFIG"))
  if variable then return listed(variable), false end
  local home = text(process.getenv("HOME"))
  return home and { fs.join(home, ".kube/config") } or {}, false
end

local function read(path)
  local bytes, problem = fs.read(path)
  if not bytes then return nil, problem end
  local config, bad = yaml.decode(bytes)
  if config == nil and bad then return nil,
    err.wrap(bad, { code = "RTL-K8S-050", doing = "read " .. path,
    message = "not YAML" }) end
  if type(config) ~= "table" then config = {} end
  return config
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- Adds one file's named entries: the first file that has a name wins the whole entry.
local function merge_entries(merged, config, field, inner, path)
  for _, entry in ipairs(list(config[field])) do
    local name, value = text(entry.name), entry[inner]
    if name then
      value = type(value) == "table" and value or {}
      local known = merged[field][name]
      if not known then
        merged[field][name] = { value = value, path = path }
      elseif not same(known.value, value) and known.path ~= path then
        table.insert(merged.warnings, ("%s %q is in %s and, differently, in %s: the first is used")
          :format(inner, name, known.path, path))
      end
    end
  end
end

local function merge(merged, config, path)
  merge_entries(merged, config, "clusters", "cluster", path)
  merge_entries(merged, config, "users", "user", path)
  merge_entries(merged, config, "contexts", "context", path)
  merged.current = merged.current or text(config["current-context"])
end

local function load_files(options)
  local paths, must_exist = files_of(options)
  local merged = { clusters = {}, users = {}, contexts = {}, warnings = {}, read = {} }
  for _, path in ipairs(paths) do
    if must_exist or fs.exists(path) then
      local config, problem = read(path)
      if not config then return nil, problem end
      merge(merged, config, path)
      table.insert(merged.read, path)
    end
  end
  if #merged.read == 0 then
    return refuse("no kubeconfig: none of " .. (table.concat(paths, ", ")) .. " is there",
      { hint = "give one by path, or set KUBECONFIG" })
  end
  return merged
end

-- Material ------------------------------------------------------------------------------------

local function beside(path, file)
  if file:sub(1, 1) == "/" then return file end
  return fs.join(fs.dirname(path), file)
end

-- NAME-data (base64) or the file that NAME names. Both at once are refused.
local function material(entry, name, where, hide)
  local data, file = text(entry.value[name .. "-data"]), text(entry.value[name])
  if data and file then
    return refuse(where .. " has both " .. name .. " and " .. name .. "-data")
  end
  if data then
    local bytes, problem = crypto.base64_decode(data)
    if not bytes then
      return refuse(name .. "-data of " .. where .. " is no base64", { cause = problem })
    end
    return hide and secret.new(bytes) or bytes
  end
  if not file then return nil end
  local bytes, problem = fs.read(beside(entry.path, file))
  if not bytes then
    return refuse(name .. " of " .. where .. " can't be read", { cause = problem })
  end
  return hide and secret.new(bytes) or bytes
end

local function cluster_settings(out, entry, where)
  local cluster = entry.value
  if not text(cluster.server) then return refuse(where .. " has no server") end
  local ca, problem = material(entry, "certificate-authority", where)
  if problem then return nil, problem end
  if ca and cluster["insecure-skip-tls-verify"] == true then
    return refuse(where .. " has a certificate authority and insecure-skip-tls-verify")
  end
  local proxy = text(cluster["proxy-url"])
  if proxy and not proxy:match("^https?://.") and not proxy:match("^socks5h?://.") then
    return refuse("proxy-url of " .. where .. " is no http, https or socks5 URL")
  end
  out.server, out.ca, out.proxy = cluster.server, ca, proxy
  out.server_name = text(cluster["tls-server-name"])
  out.insecure = cluster["insecure-skip-tls-verify"] == true or nil
  return true
end

local function impersonation(user, where)
  local as = { user = text(user.as), uid = text(user["as-uid"]), groups = user["as-groups"],
    extra = user["as-user-extra"] }
  if as.user then return as end
  if as.uid or #list(as.groups) > 0 or next(list(as.extra)) ~= nil then
    return refuse(where .. " has as-uid, as-groups or as-user-extra without as")
  end
end

local function basic(user, where)
  if not text(user.username) then return nil end
  if text(user.token) or text(user.tokenFile) then
    return refuse(where .. " has a token and a user name")
  end
  return secret.join("Basic ", crypto.base64_encode(secret.join(user.username, ":", user.password
    or "")))
end

-- tokenFile wins over token and is read again now and then: such tokens rotate.
local function token_source(entry)
  local file = text(entry.value.tokenFile)
  if file then return credentials.token_file(beside(entry.path, file)) end
  local token = text(entry.value.token)
  return token and secret.new(token)
end

local function user_settings(out, entry, where, cluster)
  local user = entry.value
  local cert, no_cert = material(entry, "client-certificate", where)
  if no_cert then return nil, no_cert end
  local key, no_key = material(entry, "client-key", where, true)
  if no_key then return nil, no_key end
  if (cert == nil) ~= (key == nil) then
    return refuse(where .. " needs both client certificate and key")
  end
  local as, wrong_as = impersonation(user, where)
  if wrong_as then return nil, wrong_as end
  local basic_header, wrong_basic = basic(user, where)
  if wrong_basic then return nil, wrong_basic end
  out.cert, out.key, out.as, out.basic, out.token = cert, key, as, basic_header, token_source(entry)
  if type(user.exec) ~= "table" then
    if type(user["auth-provider"]) == "table" then
      return refuse(where .. " uses an auth-provider: these are no longer supported")
    end
    return true
  end
  if type(user["auth-provider"]) == "table" then
    return refuse(where .. " has exec and auth-provider")
  end
  local ok, problem = credentials.check(user.exec, where)
  if not ok then return nil, problem end
  if not (cert or out.token or basic_header) then
    return credentials.plugin(out, user.exec,
      { where = where, cluster = cluster, path = entry.path })
  end
  return true
end

--- Reads a kubeconfig: { client = options of k8s.client, about = { context, cluster, user, files,
-- warnings } } | nil, err. `options`: path (one file that must exist), context (else the current
-- one).
function M.load(options)
  local merged, problem = load_files(options)
  if not merged then return nil, problem end
  local name = options.context or merged.current
  if not name then
    return refuse("no context is chosen",
      { hint = "name one, or set current-context in the kubeconfig" })
  end
  local context = merged.contexts[name]
  if not context then
    return refuse(("no context %q in %s"):format(name, table.concat(merged.read, ", ")))
  end
  local cluster_name, user_name = text(context.value.cluster), text(context.value.user)
  local cluster, user = merged.clusters[cluster_name], merged.users[user_name]
  if not cluster then return refuse(("context %q names no known cluster"):format(name)) end
  if not user then return refuse(("context %q names no known user"):format(name)) end
  local namespace = text(context.value.namespace)
  if namespace and not namespace:match("^[%l%d][%l%d-]*$") then
    return refuse(("context %q: %q is no namespace"):format(name, namespace))
  end
  local out = { namespace = namespace }
  local ok, wrong = cluster_settings(out, cluster, ("cluster %q"):format(cluster_name))
  if not ok then return nil, wrong end
  ok, wrong = user_settings(out, user, ("user %q"):format(user_name), cluster)
  if not ok then return nil, wrong end
  table.insert(merged.warnings, out.warning)
  return { client = out, about = { context = name, cluster = cluster_name, user = user_name,
    files = merged.read, warnings = merged.warnings, loaded = clock.utc() } }
end

return M
