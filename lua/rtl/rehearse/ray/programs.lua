--- What `ray` and `python3` do in a Ray container: job submission, Ray's HTTP API, the look at the
-- container's versions. Programs of this kind are known by what they are asked, not run.

local jobs = require "rtl.rehearse.ray.jobs"
local json = require "rtl.native.json"
local nccl = require "rtl.rehearse.ray.nccl"

local M = {}

local function complain(io, text, code)
  io.errors[#io.errors + 1] = text .. "\n"
  return code or 1
end

local function is_head(io)
  return (io.pod.metadata.labels or {})["ray.io/node-type"] == "head"
end

local FLAGS = { ["--address"] = "address", ["--submission-id"] = "id",
                ["--runtime-env-json"] = "runtime_env", ["--working-dir"] = "working_dir",
                ["--entrypoint-num-cpus"] = "num_cpus", ["--entrypoint-num-gpus"] = "num_gpus" }

local function read_flags(argv, from)
  local options, i = {}, from
  while i <= #argv do
    local word = argv[i]
    local name, value = word:match "^(%-%-[%w-]+)=(.*)$"
    if word == "--" then
      options.entrypoint = table.move(argv, i + 1, #argv, 1, {})
      break
    elseif word == "--no-wait" then
      options.no_wait = true
    elseif name and FLAGS[name] then
      options[FLAGS[name]] = value
    elseif FLAGS[word] then
      options[FLAGS[word]] = argv[i + 1]
      i = i + 1
    elseif word:sub(1, 2) == "--" then
      return nil, "Error: No such option: " .. word
    else
      options.words = options.words or {}
      table.insert(options.words, word)
    end
    i = i + 1
  end
  return options
end

local RULE = ("-"):rep(55)

local function submit(io, argv)
  local options, e = read_flags(argv, 4)
  if not options then return complain(io, e, 2) end
  if not options.entrypoint or #options.entrypoint == 0 then
    return complain(io, "Error: Missing argument 'ENTRYPOINT...'.", 2)
  end
  if not is_head(io) or options.address ~= "http://127.0.0.1:8265" then
    return complain(io, "ConnectionError: Failed to connect to Ray at address: "
                        .. tostring(options.address))
  end
  if options.working_dir and not io.files:is_folder(io.files:resolve(options.working_dir)) then
    return complain(io, ("ValueError: directory %s must be an existing directory")
                        :format(options.working_dir))
  end
  local runtime = options.runtime_env and json.decode(options.runtime_env) or {}
  local id = options.id or "raysubmit_" .. io.kube.world:uuid "raysubmit":sub(1, 16)
  local job, refused = jobs.submit(io.kube, io.pod, id, options.entrypoint, runtime,
                                   options.working_dir)
  if not job then return complain(io, refused) end
  io.seconds = (io.seconds or 0) + 1.6
  io.out[#io.out + 1] = ("Job submission server address: %s\n\n%s\nJob '%s' submitted "
    .. "successfully\n%s\n\n"):format(options.address, RULE, id, RULE)
  return 0
end

local function status(io, argv)
  local options = read_flags(argv, 4) or {}
  local job = jobs.find(io.kube, io.pod, (options.words or {})[1])
  if not job then
    return complain(io, ("Exception: Request failed with status code 404: Job %s does not exist")
                        :format(tostring((options.words or {})[1])))
  end
  io.out[#io.out + 1] = ("Status for job '%s': %s\n"):format(job.id, jobs.state(io.kube, job))
  return 0
end

function M.ray(io, argv)
  if argv[2] == "job" and argv[3] == "submit" then return submit(io, argv) end
  if argv[2] == "job" and argv[3] == "status" then return status(io, argv) end
  if argv[2] == "--version" then
    io.out[#io.out + 1] = "ray, version " .. nccl.VERSIONS.ray .. "\n"
    return 0
  end
  if argv[2] == "health-check" then return 0 end
  if argv[2] == "stop" then return 0 end
  return complain(io, "Usage: ray [OPTIONS] COMMAND [ARGS]...", 2)
end

local function answer_http(io, argv)
  local method, path = argv[4], (argv[5] or ""):match "^http://127%.0%.0%.1:8265(/.*)$"
  if not is_head(io) or not path then
    io.out[#io.out + 1] = "0\n<urlopen error [Errno 111] Connection refused>"
    return 0
  end
  local code, body = jobs.http(io.kube, io.pod, method, path, argv[6])
  io.seconds = (io.seconds or 0) + 0.12
  io.out[#io.out + 1] = ("%d\n%s"):format(code, body)
  return 0
end

local function show_versions(io)
  io.seconds = (io.seconds or 0) + 0.3
  io.out[#io.out + 1] = nccl.versions(io.kube, io.pod) .. "\n"
  return 0
end

function M.python3(io, argv)
  local script = argv[2] == "-c" and argv[3] or ""
  if argv[4] == "rtl-versions" then return show_versions(io) end
  if script:find("urllib.request", 1, true) then return answer_http(io, argv) end
  return complain(io, "python3: this simulated container does not run that program")
end

M.python = M.python3

return M
