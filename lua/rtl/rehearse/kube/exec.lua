--- Commands in the containers of a world's pods: their environment, their files, their programs.

local answer = require "rtl.rehearse.kube.answer"
local commands = require "rtl.rehearse.pod.commands"
local files = require "rtl.rehearse.pod.files"
local programs = require "rtl.rehearse.ray.programs"
local shell = require "rtl.rehearse.pod.shell"
local shown = require "rtl.rehearse.ray.shown"

local M = {}

--- The container of a pod by name (nil: the first); nil if it has none of that name.
function M.container(pod, name)
  for _, container in ipairs(pod.spec.containers) do
    if not name or container.name == name then return container end
  end
  return nil
end

local function environment(pod, container)
  local env = { PATH = "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin", HOME = "/root",
                HOSTNAME = pod.spec.hostNetwork and pod.spec.nodeName or pod.metadata.name }
  for _, entry in ipairs(container.env or {}) do env[entry.name] = entry.value or "" end
  return env
end

local function written_of(kube, pod)
  local uid = pod.metadata.uid
  if not kube.files[uid] then kube.files[uid] = { written = {}, folders = {} } end
  return kube.files[uid]
end

--- The files of a pod now.
function M.files_of(kube, pod)
  local own = written_of(kube, pod)
  return files.new(own.written, own.folders, shown.files(kube, pod))
end

local function state_of(kube, pod, container, input)
  return { kube = kube, pod = pod, env = environment(pod, container), args = {},
           cwd = container.workingDir or "/", files = M.files_of(kube, pod), out = {}, errors = {},
           commands = M.programs, input = input, status = 0, seconds = 0,
           host_name = pod.spec.hostNetwork and pod.spec.nodeName or pod.metadata.name }
end

M.programs = setmetatable({}, { __index = commands })
for name, program in pairs(programs) do M.programs[name] = program end

local function run_shell(io, argv)
  local script = argv[2] == "-c" and argv[3]
  if argv[2] == "-lc" then script = argv[3] end
  if not script then
    script = argv[2] and io.files:read(argv[2], io.cwd) or io.input or ""
  end
  local inner = setmetatable({ args = table.move(argv, 5, #argv, 1, {}), out = io.out,
    errors = io.errors, env = setmetatable({}, { __index = io.env }) }, { __index = io })
  inner.args[0] = argv[4]
  local code = shell.run(inner, script)
  io.seconds = math.max(io.seconds or 0, inner.seconds or 0)
  return code
end

M.programs.sh, M.programs.bash = run_shell, run_shell
M.programs["/bin/sh"], M.programs["/bin/bash"] = run_shell, run_shell

-- Runs argv in a container: { code, out, errors, seconds } or { failure } if there is no such
-- program.
local function run(kube, pod, container, argv, input)
  local state = state_of(kube, pod, container, input)
  local name = argv[1]:match "[^/]+$"
  local program = M.programs[argv[1]] or M.programs[name]
  if not program then
    return { failure = ('OCI runtime exec failed: exec failed: unable to start container process: '
      .. 'exec: "%s": executable file not found in $PATH: unknown'):format(argv[1]) }
  end
  local code = program(state, argv)
  if state.files.changed then kube.world:touch() end
  return { code = code, out = table.concat(state.out), errors = table.concat(state.errors),
           seconds = state.seconds }
end

--- Performs an exec. `args`: c (host of the cluster), n (namespace), p (pod), k (container), v
-- (argv), i (input). Returns what run gives, or { refusal = an answer } if it can not be.
function M.perform(world, args)
  local kube = world.clusters[args.c]
  local pod = kube and kube.store:get(kube.pods, args.n, args.p)
  if not pod then
    return { refusal = answer.not_found({ group = "", plural = "pods" }, args.p) }
  end
  local container = M.container(pod, args.k)
  if not container then
    return { refusal = answer.failure(400, ("container %s is not valid for pod %s")
                                           :format(tostring(args.k), args.p)) }
  end
  if pod.status.phase ~= "Running" then
    return { refusal = answer.failure(500, ("unable to upgrade connection: container not found "
                                            .. '("%s")'):format(container.name)) }
  end
  return run(kube, pod, container, args.v, args.i)
end

--- Runs the command of a pod that ends by itself, when it starts: { seconds, code }; its output
-- becomes the pod's log. Nil for one that has no command of its own.
function M.run_to_end(kube, pod)
  local container = pod.spec.containers[1]
  local argv = {}
  for _, list in ipairs { container.command or {}, container.args or {} } do
    for _, word in ipairs(list) do argv[#argv + 1] = word end
  end
  if #argv == 0 then return nil end
  local result = run(kube, pod, container, argv, "")
  if result.failure then
    kube.output[pod.metadata.uid] = result.failure .. "\n"
    return { seconds = 0.5, code = 128 }
  end
  kube.output[pod.metadata.uid] = result.out .. result.errors
  if result.seconds == math.huge then return nil end
  return { seconds = 0.4 + result.seconds, code = result.code }
end

local function tail_of(text, lines)
  local starts, n = {}, 0
  for at in ("\n" .. text):gmatch "()\n[^\n]" do
    n = n + 1
    starts[n] = at
  end
  return n > lines and text:sub(starts[n - lines + 1]) or text
end

--- Answers GET …/pods/POD/log.
function M.logs(kube, target, query)
  local pod = kube.store:get(kube.pods, target.namespace, target.name)
  if not pod then return answer.not_found(target.resource, target.name) end
  local container = M.container(pod, query.container)
  if not container then
    return answer.failure(400, ("container %s is not valid for pod %s")
                               :format(tostring(query.container), target.name))
  end
  if pod.status.phase == "Pending" then
    return answer.failure(400, ('container "%s" in pod "%s" is waiting to start: ContainerCreating')
                               :format(container.name, target.name))
  end
  local text = kube.output[pod.metadata.uid] or shown.log(kube, pod) or ""
  if query.tailLines then text = tail_of(text, tonumber(query.tailLines)) end
  return { status = 200, body = text, content_type = "text/plain" }
end

return M
