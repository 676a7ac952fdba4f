--- Programs that a spec speaks to while it runs, and the Go peers that `sh vendor/setup.sh test`
-- builds into build/peers.

local fs = require "rtl.fs"
local native = require "rtl.native.process"
local process = require "rtl.process"
local task = require "rtl.task"

local M = {}

local methods = {}
local mt = { __index = methods, __gc = function (p) p:stop() end }

--- The path of a Go peer; raises when it was not built.
function M.path(name)
  local path = fs.join("build/peers", name)
  if not fs.exists(path) then
    error(path .. " is not there; sh vendor/setup.sh test builds it", 2)
  end
  return path
end

--- Starts a program; options: env (name → value), stderr ("null"; else ours).
function M.start(argv, options)
  options = options or {}
  local env = options.env and {}
  for name, value in pairs(options.env or {}) do env[#env + 1] = name .. "=" .. value end
  local child, stdin, stdout = assert(native.spawn {
    argv = argv, env = env, stdin = "pipe", stdout = "pipe", stderr = options.stderr or "inherit",
  })
  return setmetatable({ child = child, stdin = stdin, stdout = stdout, kept = "" }, mt)
end

--- Writes to its standard input.
function methods:write(text)
  assert(task.await(self.stdin:start(text)))
end

--- Its next line of output.
function methods:line()
  while not self.kept:find "\n" do
    self.kept = self.kept .. assert(task.await(self.stdout), "the program ended")
  end
  local line, rest = self.kept:match "^([^\n]*)\n(.*)$"
  self.kept = rest
  return line
end

--- Reads on until it has printed `text`; raises when it ends before.
function methods:wait_for(text)
  while not self.kept:find(text, 1, true) do
    local bytes = task.await(self.stdout)
    if not bytes then error("it ended without '" .. text .. "': " .. self.kept, 2) end
    self.kept = self.kept .. bytes
  end
end

--- Its exit status, or nil when a signal ended it.
function methods:status()
  for bytes in task.await, self.stdout do self.kept = self.kept .. bytes end
  local how, code = task.await(self.child)
  self.over = true
  return how == "exit" and code or nil
end

local LISTENS = [[
for inode in $(ls -l /proc/$1/fd 2>/dev/null | sed -n 's/.*socket:\[\([0-9]*\)\]$/\1/p'); do
  awk -v i="$inode" '$4 == "0A" && $10 == i { split($2, a, ":"); print a[2] }' /proc/$1/net/tcp
done]]

--- The port on which a program listens that lets the kernel choose it and tells nobody.
function methods:port()
  for _ = 1, 600 do
    local pid = tostring(self.child:pid())
    local done = assert(process.run { argv = { "sh", "-c", LISTENS, "sh", pid } })
    local hex = done.stdout:match "%x+"
    if hex then return tonumber(hex, 16) end
    task.sleep(0.1)
  end
  error("the program listens nowhere", 2)
end

--- Ends it; idempotent.
function methods:stop()
  if not self.child then return end
  if not self.over then
    self.child:kill(9)
    task.await(self.child)
  end
  for _, handle in pairs { self.child, self.stdin, self.stdout } do handle:close() end
  self.child = nil
end

return M
