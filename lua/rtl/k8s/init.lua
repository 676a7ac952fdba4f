--- Kubernetes: a client for one API server. See rtl.k8s.kubeconfig for how a kubeconfig becomes
-- one.

local copy = require "rtl.k8s.copy"
local discovery = require "rtl.k8s.discovery"
local exec = require "rtl.k8s.exec"
local kubeconfig = require "rtl.k8s.kubeconfig"
local logs = require "rtl.k8s.logs"
local objects = require "rtl.k8s.objects"
local request = require "rtl.k8s.request"
local waiting = require "rtl.k8s.wait"
local watches = require "rtl.k8s.watch"

local M = { ready = waiting.ready, condition = waiting.condition }

local Client = { __name = "rtl.k8s.client" }
Client.__index = Client

--- Makes a client. `options`: server (URL), ca (PEM), token (string, secret, or function (anew) →
-- secret[, expiry in UTC seconds] | nil, err: asked again shortly before the expiry and once after
-- a 401), cert and key (PEM), server_name, insecure, proxy, namespace ("default"), as = { user,
-- uid, groups, extra } (impersonation), user_agent.
function M.client(options)
  if type(options) ~= "table" or type(options.server) ~= "string" then
    error("bad argument #1 to 'client' (table with server expected)", 2)
  end
  return setmetatable({ options = options, server = (options.server:gsub("/+$", "")),
    namespace = options.namespace or "default", kinds = {}, named = {} }, Client)
end

--- A client from a kubeconfig: `{ path =, context = }`; without path $KUBECONFIG (a list), else
-- ~/.kube/config. `client.kubeconfig` says which context, cluster and user, and any warnings.
function M.from_kubeconfig(options)
  local settings, problem = kubeconfig.load(options or {})
  if not settings then return nil, problem end
  local client = M.client(settings.client)
  client.kubeconfig = settings.about
  return client
end

--- The server's version: { gitVersion, major, minor, … } | nil, err.
function Client:version()
  return request.call(self, { path = "/version", doing = "ask " .. self.server
    .. " for its version" })
end

--- All kinds of the server: { resources = array of { group, version, kind, plural, namespaced … },
-- partial = { group/version → err } } | nil, err. `options`: refresh.
function Client:discover(options)
  if options and options.refresh then discovery.forget(self) end
  if self.discovered then return self.discovered end
  local all, problem = discovery.all(self)
  self.discovered = all
  return all, problem
end

--- Forgets what was discovered (after a CRD has come or gone).
function Client:forget() discovery.forget(self) end

--- The API versions served ("v1", "apps/v1", "apps/v1/Deployment", …), as charts ask for them.
function Client:api_versions()
  local all, problem = self:discover()
  if not all then return nil, problem end
  local seen, out = {}, {}
  local function add(text)
    if not seen[text] then
      seen[text] = true
      out[#out + 1] = text
    end
  end
  for _, entry in ipairs(all.resources) do
    add(entry.api_version)
    add(entry.api_version .. "/" .. entry.kind)
  end
  table.sort(out)
  return out
end

--- A request of one's own: decoded JSON, response | nil, err. `options`: method, path, query =
-- { {name, value}… }, body, content_type, accept, retry ("again" or "once").
function Client:raw(options)
  options.doing = options.doing or (options.method or "GET") .. " " .. options.path
  return request.call(self, options)
end

-- What the other files do, as methods; their comments say how.
Client.resolve = discovery.resolve
Client.get, Client.list, Client.apply = objects.get, objects.list, objects.apply
Client.create, Client.replace, Client.patch = objects.create, objects.replace, objects.patch
Client.delete = objects.delete
Client.wait = waiting.wait
Client.logs = logs.logs
Client.exec = exec.exec
Client.cp_to, Client.cp_tree_to, Client.cp_from = copy.to, copy.tree_to, copy.from

--- Watches a kind: `for event in client:watch("Pod", options) do`; leaving the loop ends the
-- connection. An error that can't heal is raised; to get it as nil, err call `watch:next()`
-- instead. See rtl.k8s.watch for the options.
function Client:watch(kind, options)
  local watch, problem = watches.open(self, kind, options)
  if not watch then error(problem, 2) end
  return watch, nil, nil, watch
end

return M
