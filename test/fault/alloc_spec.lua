-- Each allocation of each module fails, in C and in Lua: no crash, no leak, a clean error.
local fs = require "rtl.fs"
local process = require "rtl.process"

describe("a failing allocation", function ()
  local dir, shim

  setup(function ()
    dir = assert(fs.temp_dir("alloc"))
    shim = fs.join(dir, "fault.so")
    local r = assert(process.run { argv = { process.getenv("CC") or "cc", "-shared", "-fPIC", "-O1",
      "-I/usr/include/lua5.4", "-o", shim, "test/fault/malloc.c" } })
    assert.equal(0, r.status, r.stderr)
  end)

  teardown(function () assert(fs.remove_tree(dir)) end)

  local names = {}
  for name, operation in pairs(dofile "test/fault/operations.lua") do
    if type(operation) == "function" then names[#names + 1] = name end
  end
  table.sort(names)

  for _, name in ipairs(names) do
    it("in " .. name, function ()
      local env = { "LD_PRELOAD=" .. shim, "TMPDIR=" .. dir }
      for _, pair in ipairs(process.environ()) do
        if not pair:match("^TMPDIR=") then env[#env + 1] = pair end
      end
      local r = assert(process.run {
        argv = { assert(fs.readlink "/proc/self/exe"), "test/fault/alloc.lua", shim, name },
        env = env, timeout = 300,
      })
      local points = r.stdout:match("(%d+) points\n$")
      assert.equal((points or "?") .. " points\n", r.stdout, r.stderr)
      assert.equal("", r.stderr)
      assert.same({ 0, nil }, { r.status, r.signal })
    end)
  end
end)
