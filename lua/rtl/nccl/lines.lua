--- One line of an NCCL log, freed of what carried it here.
-- Shapes: NCCL src/debug.cc (2.18 to 2.30); Ray's, torchrun's, mpirun's, srun's and kubectl's
-- prefixes as those programs print them.

local M = {}

-- What stands before NCCL's own text, outermost first; each is taken off as often as it is there.
local PREFIXES = {
  "^%d+%-%d+%-%d+T[%d:%.]+Z ",                      -- kubectl logs --timestamps
  "^%[pod/[^%]]+%] ",                               -- kubectl logs --prefix
  "^%[%a+%d+%]:%s?",                                -- torchrun --tee
  "^%[%d+,%d+%]<std%a+>:%s?",                       -- mpirun --tag-output
  "^ *%d+: ",                                       -- srun -l
  "^%d+%.%d+%.%d+%.%d+: ",                          -- pdsh
  "^%[%d+%-%d+%-%d+ [%d:%.]+%] ",                   -- NCCL_DEBUG_TIMESTAMP_FORMAT
}

local function strip_prefixes(line)
  if not line:find("^[%d%[ ]") then return line end -- as all of them begin
  for _, pattern in ipairs(PREFIXES) do
    line = line:gsub(pattern, "", 1)
  end
  return line
end

-- "(RayTrainWorker pid=12, ip=10.0.0.2) text" → text, pid, ip
local function strip_ray(line)
  local inner, rest = line:match("^%([%w_%.:<>%-]+[ ,] ?([^()]-)%) ?(.*)$")
  local pid = inner and inner:match("pid=(%d+)")
  if not pid and not (inner and inner:match("^ip=")) then return line end
  return rest, pid, inner:match("ip=([%d%.]+)")
end

-- Ray shows one of several like lines and counts the rest.
local function strip_repeated(line)
  if not line:find("[repeated ", 1, true) then return line end
  local head, count = line:match("^(.-)%s*%[repeated (%d+)x across cluster%].*$")
  return head or line, tonumber(count)
end

local function parse_info(line)
  local host, pid, tid, dev, message =
    line:match("^([^:%s]+):(%d+):(%d+) %[(%-?%d+)%] NCCL INFO (.*)$")
  if not host then return nil end
  return { level = "INFO", host = host, pid = pid, tid = tid, dev = dev, message = message }
end

-- The place of a warning is a file, a function name or, from plugin 1.15, a whole C++ signature.
local function parse_warn(line)
  local left, message = line:match("^(.-) ?NCCL WARN (.*)$")
  if not left then return nil end
  local host, pid, tid, dev = left:match("([^:%s]+):(%d+):(%d+) %[(%-?%d+)%]")
  return { level = "WARN", host = host, pid = pid, tid = tid, dev = dev, message = message }
end

-- A bare "NCCL INFO …" without host and pid, as people paste it.
local function parse_bare(line)
  local message = line:match("^%s*NCCL INFO (.*)$")
  if message then return { level = "INFO", message = message } end
  local version = line:match("^NCCL version (.*)$")
  if version then return { level = "VERSION", message = "NCCL version " .. version } end
  local text = line:match("NCCL INFO (.*)$")
  if text then return { level = "INFO", message = text, torn = true } end
  return nil
end

--- Parses one line.
-- nil when it is no NCCL line, else {level = "INFO"|"WARN"|"VERSION"|"LIBFABRIC", host, pid,
-- tid, dev (strings; nil where the line has none), message, repeated (integer, from Ray's merged
-- lines), ray_pid, ray_ip, torn}. libfabric's own stderr lines come as level LIBFABRIC.
function M.parse(line)
  if line:find("[\r\27]") then line = line:gsub("\r", ""):gsub("\27%[[%d;]*%a", "") end
  local text, ray_pid, ray_ip = strip_ray(strip_prefixes(line))
  local repeated
  text, repeated = strip_repeated(strip_prefixes(text))
  local parsed = parse_info(text) or parse_warn(text)
  if not parsed and text:match("^libfabric:%d+:") then
    parsed = { level = "LIBFABRIC", message = text }
  end
  parsed = parsed or parse_bare(text)
  if not parsed then return nil end
  parsed.repeated, parsed.ray_pid, parsed.ray_ip = repeated, ray_pid, ray_ip
  parsed.host = parsed.host or ray_ip
  parsed.pid = parsed.pid or ray_pid
  return parsed
end

return M
