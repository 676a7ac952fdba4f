--- What becomes of a volume whose claim is gone: what its policy says.

local M = {}

-- The disk of a volume in the account.
local function remove_disk(kube, volume)
  local handle = volume.spec.csi and volume.spec.csi.volumeHandle
  local region = kube.world.aws.regions[kube.region]
  if handle and region then region.volumes:remove(handle) end
end

local function reclaim(kube, resource, volume)
  if volume.spec.persistentVolumeReclaimPolicy == "Delete" then
    remove_disk(kube, volume)
    kube.store:remove(resource, volume)
  elseif (volume.status or {}).phase ~= "Released" then
    kube.store:edit_status(resource, volume, function (status) status.phase = "Released" end)
  end
end

--- One pass over all volumes of a cluster.
function M.pass(kube)
  local resource, claims = kube.store:of_kind "PersistentVolume",
    kube.store:of_kind "PersistentVolumeClaim"
  for _, volume in ipairs(kube.store:list(resource)) do
    local claim = volume.spec.claimRef
    if claim and not kube.store:get(claims, claim.namespace, claim.name) then
      reclaim(kube, resource, volume)
    end
  end
end

return M
