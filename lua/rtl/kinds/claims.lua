--- The volumes of claims, where a namespace goes. Kubernetes deletes its claims with it, and with a
-- claim its volume, where the volume's policy says so; and a storage class says so if it says
-- nothing. A volume is data: it outlives its claim, unless data is to go, too.

local kube = require "rtl.kinds.kube"

local M = {}

local PATCH = { spec = { persistentVolumeReclaimPolicy = "Retain" } }

local function goes_with(volume, namespace)
  local spec = volume.spec or {}
  return spec.persistentVolumeReclaimPolicy == "Delete"
    and type(spec.claimRef) == "table" and spec.claimRef.namespace == namespace
end

--- Lets the volumes of a namespace's claims outlive them: true | nil, err.
function M.keep(client, namespace)
  local list, failure = client:list("PersistentVolume", { namespace = false })
  if not list then
    if kube.is_absent(failure) then return true end
    return nil, failure
  end
  for _, volume in ipairs(list.items) do
    if goes_with(volume, namespace) then
      local done, refused = client:patch("PersistentVolume", volume.metadata.name, PATCH)
      if not done and not kube.is_absent(refused) then return nil, refused end
    end
  end
  return true
end

return M
