--- The Kubernetes API servers of a world: by endpoint, with their tokens.

local answer = require "rtl.rehearse.kube.answer"
local api = require "rtl.rehearse.kube.api"
local auth = require "rtl.rehearse.kube.auth"
local err = require "rtl.err"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"
local sky = require "rtl.rehearse.weather.cluster"

local M = {}

--- The cluster that answers at a host name; nil if none does.
function M.endpoint(world, host)
  return world.clusters[host]
end

local function wrong_authority(kube, request)
  local ca = request.tls and request.tls.ca
  if request.tls and request.tls.insecure then return nil end
  if ca and secret.reveal(ca) == kube.authority then return nil end
  return err.fail { code = "RTL-NET-003", name = "certificate", sent = false, retryable = false,
    message = "SSL certificate problem: unable to get local issuer certificate",
    doing = (request.method or "connect") .. " https://" .. kube.host }
end

local function encoded(reply)
  if type(reply.body) == "table" then
    reply.body = json.encode(reply.body) .. "\n"
    reply.content_type = reply.content_type or "application/json"
  end
  return reply
end

--- Answers an HTTP request to a cluster: { status, headers, body | read, close } or nil, err.
function M.answer(world, request)
  local kube = world.clusters[request.url.host]
  local refused, e = wrong_authority(kube, request)
  if e then return refused, e end
  local denied = auth.check(world, kube, request.headers.authorization) or sky.refusal(world)
  if denied then return encoded(denied) end
  local call = { method = request.method, path = request.url.path, query = request.url.query,
                 accept = request.headers.accept }
  if request.method == "GET" then return encoded(api.read(kube, call)) end
  call.content_type, call.body = request.headers["content-type"], request.body
  local args = { c = kube.host, m = call.method, p = call.path, q = call.query,
                 t = call.content_type, b = call.body }
  local does = api.changes(call) and world.change or world.perform
  return encoded(does(world, "kube", args))
end

--- Gives a stream to a cluster for an upgrade (exec): { read, write, close } or nil, err.
function M.connect(world, url, request)
  local kube = world.clusters[url.host]
  local refused, e = wrong_authority(kube, request)
  if e then return refused, e end
  return require "rtl.rehearse.kube.stream".open(world, kube)
end

local function write(world, args)
  local kube = world.clusters[args.c]
  if not kube then return answer.failure(404, "no such cluster") end
  return api.write(kube, { method = args.m, path = args.p, query = args.q, content_type = args.t,
                           body = args.b or "" })
end

--- Prepares a new world.
function M.open(world)
  world.clusters = {}
  world.performers.kube = write
  world.performers.exec = function (w, args)
    return require "rtl.rehearse.kube.exec".perform(w, args)
  end
end

return M
