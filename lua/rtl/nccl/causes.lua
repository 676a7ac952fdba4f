--- Lines that name a cause, in the order in which they are tried.
-- A cause is the first line of the job that says why; lines that only look like one (libibverbs,
-- "NET/IB : No device found", CollNet symbols, optional plugins) are not in this table.

local M = {}

-- Each row: class, code, Lua pattern. The first row that matches a line wins.
M.ROWS = {
  { "CUDA_FAILED", "RTL-NCCL-009", "Cuda failure" },
  { "DUPLICATE_GPU", "RTL-NCCL-010", "Duplicate GPU detected" },
  { "DUPLICATE_GPU", "RTL-NCCL-010", "Multiple Ranks are using the same GPU" },
  { "VERSION_MISMATCH", "RTL-NCCL-011", "Mismatched NCCL version detected" },
  { "NO_INTERFACE", "RTL-NCCL-008", "no socket interface found" },
  { "NO_INTERFACE", "RTL-NCCL-008", "No usable listening interface found" },
  { "NO_INTERFACE", "RTL-NCCL-008", "NET/Socket : no interface found" },
  { "LIBFABRIC_TOO_OLD", "RTL-NCCL-002", "FABRIC_1%.%d+" },
  { "LIBFABRIC_TOO_OLD", "RTL-NCCL-002", "requires at least libfabric version" },
  { "PLUGIN_SWITCHED_OFF", "RTL-NCCL-006", "NCCL_NET_PLUGIN set by environment to none" },
  { "PLUGIN_SWITCHED_OFF", "RTL-NCCL-006", "Plugin name set by env to none" },
  { "PLUGIN_NOT_FOUND", "RTL-NCCL-001", "NET/Plugin ?: Could not find: " },
  { "PLUGIN_NOT_FOUND", "RTL-NCCL-001", "NET/Plugin ?: .*No plugin found" },
  { "PLUGIN_NOT_LOADABLE", "RTL-NCCL-002", "NET/Plugin ?: Plugin load .*returned" },
  { "PLUGIN_NOT_LOADABLE", "RTL-NCCL-002", "NET/Plugin ?: .*%.so[%.%d]*: " },
  { "PLUGIN_NOT_LOADABLE", "RTL-NCCL-002", "External network plugin .* is unsupported" },
  { "PLUGIN_NOT_LOADABLE", "RTL-NCCL-002", "Failed to find ncclNetPlugin symbol" },
  { "NO_EFA_ON_NODE", "RTL-NCCL-003", "Only EFA provider is supported" },
  { "NO_PROVIDER", "RTL-NCCL-003", "Could ?n.t find any optimal provider" },
  { "NO_PROVIDER", "RTL-NCCL-003", "Could not find any optimal provider" },
  { "EFA_NO_DEVICE", "RTL-NCCL-003", "provider efa output empty list" },
  { "EFA_NO_DEVICE", "RTL-NCCL-003", "ibv_open_device failed" },
  { "EFA_BLOCKED_BY_SECURITY_GROUP", "RTL-NCCL-012", "Unable to insert remote address" },
  { "EFA_BLOCKED_BY_SECURITY_GROUP", "RTL-NCCL-012", "security group on either this instance" },
  { "EFA_BLOCKED_BY_SECURITY_GROUP", "RTL-NCCL-012", "NET/OFI Request .* completed with error" },
  { "MEMORY_REGISTRATION", "RTL-NCCL-013", "Unable to register memory" },
  { "MEMORY_REGISTRATION", "RTL-NCCL-013", "Couldn't enable endpoint%. RC: %-12" },
  { "MEMORY_REGISTRATION", "RTL-NCCL-013", "Couldn't open CQ%. RC: %-12" },
  { "MEMORY_REGISTRATION", "RTL-NCCL-013", "Unable to register MR" },
  { "SHM_TOO_SMALL", "RTL-NCCL-014", "shared memory segment .*No space left" },
  { "SHM_TOO_SMALL", "RTL-NCCL-014", "failed to extend /dev/shm" },
  { "TOPO_XML", "RTL-NCCL-025", "Attribute [%w_]+ of node [%w_]+ not found" },
  { "TUNER_CONFLICT", "RTL-NCCL-026", "tuner plugin can not be loaded when explicitly" },
  { "PIN_REFUSED", "RTL-NCCL-007", "Failed to initialize any NET plugin" },
  { "PIN_REFUSED", "RTL-NCCL-007", "Error: network .* not found" },
  { "PLUGIN_FAILED", "RTL-NCCL-023", "aws%-ofi%-nccl initialization failed" },
  { "PLUGIN_FAILED", "RTL-NCCL-023", "Unable to find a protocol that worked" },
  { "PLUGIN_FAILED", "RTL-NCCL-023", "Failed to initialize NET plugin [^IS]" },
  { "LINK_LOCAL_INTERFACE", "RTL-NCCL-024", "NET/Socket : Using .*:169%.254%." },
  { "PEER_LOST", "RTL-NCCL-015", "Connection closed by remote peer" },
  { "PEER_LOST", "RTL-NCCL-015", "Connection reset by peer" },
}

-- These also occur in runs that end well (the RDMA protocol is tried first), so they count only
-- where the plugin did not come up afterwards.
M.IF_PLUGIN_FAILED = {
  { "NO_PROVIDER", "RTL-NCCL-003", "No eligible providers were found" },
  { "EFA_DEVICES_NOT_IN_POD", "RTL-NCCL-003", "fi_getinfo%(%) call failed" },
}

-- The longest run of a pattern that stands for itself: a line without it can't match, and that is
-- seen much faster than by the pattern (which has to be tried on every line of every rank's log).
local function literal_of(pattern)
  local plain = pattern:gsub("%%.", "\0"):gsub("%b[]", "\0"):gsub(".[%?%*%-]", "\0")
    :gsub("[%.%+%^%$]", "\0")
  local longest = ""
  for run in plain:gmatch("[^\0]+") do
    if #run > #longest then longest = run end
  end
  return longest
end

local literals = {}
for _, rows in ipairs { M.ROWS, M.IF_PLUGIN_FAILED } do
  for _, row in ipairs(rows) do literals[row] = literal_of(row[3]) end
end

local function match(rows, message)
  for _, row in ipairs(rows) do
    if message:find(literals[row], 1, true) and message:find(row[3]) then
      return { class = row[1], code = row[2] }
    end
  end
  return nil
end

--- The cause that a message names, as {class, code}; the second value is true when it counts only
-- if the plugin did not come up afterwards. nil when it names none.
function M.of(message)
  local cause = match(M.ROWS, message)
  if cause then return cause, false end
  cause = match(M.IF_PLUGIN_FAILED, message)
  if cause then return cause, true end
  return nil
end

return M
