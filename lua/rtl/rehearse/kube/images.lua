--- Container images: how large they are, and their digests.

local chance = require "rtl.rehearse.chance"

local M = {}

-- Pattern of the reference, megabytes to pull, seconds from start to ready (low, high).
local KNOWN = {
  { "deep%-learning%-containers/ray", 10600, 14, 22 },
  { "/ray:", 2200, 10, 16 },
  { "kuberay/operator", 62, 11, 13 },
  { "nvidia/k8s%-device%-plugin", 190, 2, 4 },
  { "aws%-efa%-k8s%-device%-plugin", 60, 2, 4 },
  { "amazon%-k8s%-cni", 120, 4, 7 },
  { "coredns", 28, 2, 4 },
  { "kube%-proxy", 70, 1, 2 },
}

local function row_of(image)
  for _, row in ipairs(KNOWN) do
    if image:find(row[1]) then return row end
  end
  return { image, 80, 1, 3 }
end

--- Megabytes that a node has to fetch.
function M.megabytes(image)
  return row_of(image)[2]
end

--- Seconds that pulling takes on a node: about 45 MB/s, which is what unpacking allows.
function M.pull_seconds(world, image, node)
  return M.megabytes(image) / world:spread(38, 55, "pull", image, node) + 0.8
end

--- Bounds of the seconds from start to ready.
function M.ready_bounds(image)
  local row = row_of(image)
  return row[3], row[4]
end

--- The digest that a reference has in every world.
function M.digest(image)
  local given = image:match "@(sha256:%x+)$"
  return given or "sha256:" .. chance.hex(64, 7, "image", (image:gsub("@.*$", "")))
end

local ids = {}

local function make_id(image)
  local repository = image:gsub("@.*$", "")
  if repository:find ":[^/]+$" then repository = repository:gsub(":[^:/]+$", "") end
  return repository .. "@" .. M.digest(image)
end

--- The imageID that the kubelet reports.
function M.id(image)
  ids[image] = ids[image] or make_id(image)
  return ids[image]
end

return M
