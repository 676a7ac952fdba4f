--- A Kubernetes client that changes nothing: it tells the objects that would be applied. What was
-- applied is found again; so is what really stands, where there is a cluster.

local array = require "rtl.array"
local err = require "rtl.err"

local M = {}

-- What every cluster is born with.
local BORN = { ["Namespace/default"] = true, ["Namespace/kube-system"] = true,
  ["Namespace/kube-public"] = true, ["Namespace/kube-node-lease"] = true }

local client = {}
client.__index = client

local function absent(kind, name)
  return err.fail { code = "NotFound", status = 404, message = ("%s %s is not made yet")
    :format(kind, name) }
end

-- The object as the server would give it back: with an id, and a definition established.
local function answered(self, object)
  local live, metadata = {}, { uid = self.placeholder "uid" }
  for key, value in pairs(object) do live[key] = value end
  for key, value in pairs(object.metadata) do metadata[key] = value end
  live.metadata = metadata
  if object.kind == "CustomResourceDefinition" then
    live.status = { conditions = array { { type = "Established", status = "True" } } }
  end
  return live
end

local function key_of(kind, name)
  return (kind:match "[^/]+$") .. "/" .. name
end

--- As rtl.k8s' clients have them; see there.
function client:apply(object)
  self.told(object)
  local live = answered(self, object)
  self.applied[key_of(object.kind, object.metadata.name)] = live
  return live
end

client.create = client.apply

function client:get(kind, name, options)
  local key = key_of(kind, name)
  if self.applied[key] then return self.applied[key] end
  if self.live then return self.live:get(kind, name, options) end
  if BORN[key] then return { kind = kind, metadata = { name = name } } end
  return absent(kind, name)
end

function client:list(kind, options)
  if self.live then return self.live:list(kind, options) end
  return { items = array {} }
end

function client:version()
  if self.live then return self.live:version() end
  return { gitVersion = self.server_version }
end

function client.patch() return {} end
function client.delete() return true end
function client.discover() return true end

--- new{told=, placeholder=, live=, server_version=, applied=} → client. `told(object)` is called
-- for each object that would be applied; `placeholder(field)` gives the text that stands for what
-- the server would choose; `live` is the client of a cluster that stands, else `server_version`
-- ("v1.36.0") the one that charts are rendered for; clients that share the table `applied` find
-- each other's objects.
function M.new(options)
  return setmetatable({ told = options.told, placeholder = options.placeholder,
    live = options.live, server_version = options.server_version,
    applied = options.applied or {} }, client)
end

return M
