--- Weather over a Kubernetes cluster: its API server's bad moments, its watches, its pods.

local answer = require "rtl.rehearse.kube.answer"
local chance = require "rtl.rehearse.chance"
local json = require "rtl.native.json"
local weather = require "rtl.rehearse.weather"

local M = {}

local ILL = {
  { 429, "the server has received too many requests and has asked us to try again later",
    "TooManyRequests" },
  { 500, "etcdserver: request timed out", "InternalError" },
  { 503, "apiserver is shutting down", "ServiceUnavailable" },
  { 504, "request did not complete within requested timeout", "Timeout" },
}

--- What the API server answers instead of doing what it is asked: an answer, or nil.
function M.refusal(world)
  if not weather.hits_call(world, "api-errors") then return nil end
  local row = ILL[1 + math.floor(#ILL * chance.unit(world.seed, "api ill", world.runs,
                                                    world.calls_made))]
  local reply = answer.failure(row[1], row[2], { reason = row[3] })
  if row[1] == 429 then reply.headers = { { "Retry-After", "1" } } end
  return reply
end

local GONE = { kind = "Status", apiVersion = "v1", metadata = {}, status = "Failure", code = 410,
               reason = "Expired", message = "too old resource version: 1 (2)" }

--- What a watch that begins now is told first (bytes), or nil.
function M.watch_begins(world)
  if not weather.hits_call(world, "watch-gone") then return nil end
  return json.encode { type = "ERROR", object = GONE } .. "\n"
end

--- Seconds after which a watch that begins now ends though nobody asked it to; nil: never.
function M.watch_ends(world)
  if not weather.hits_call(world, "watch-cut") then return nil end
  return chance.between(1, 25, world.seed, "watch cut", world.runs, world.calls_made)
end

--- Whether the servers of all watches are gone at this moment.
function M.watches_down(world)
  return weather.blows(world, "api-restart") ~= nil
end

--- Whether the stream that runs a command now breaks off before its answer.
function M.stream_breaks(world)
  return weather.hits_call(world, "exec-cut") ~= nil
end

--- Seconds for which the images of a pod that comes to its node now can't be pulled; nil: they can.
function M.pull_fails(world)
  local struck = world:strikes "image-back-off" or world:strikes "no-image"
  return struck and struck.seconds
end

local function is_ray(pod, kind)
  return (pod.metadata.labels or {})["ray.io/node-type"] == kind
end

--- How a pod whose containers start now comes to a bad end: { seconds, reason, message, code }, or
-- nil.
function M.end_of(world, pod)
  local struck
  if is_ray(pod, "head") then struck = world:strikes "lost-head" end
  if is_ray(pod, "worker") then struck = world:strikes "lost-worker" end
  if struck then return { seconds = struck.seconds, reason = "OOMKilled", code = 137 } end
  struck = world:strikes "evicted-pod"
  if not struck then return nil end
  return { seconds = struck.seconds, reason = "Evicted", code = 137, pod_reason = "Evicted",
           message = "The node was low on resource: ephemeral-storage." }
end

return M
