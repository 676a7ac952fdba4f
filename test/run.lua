-- Runs busted inside rtl: `build/rtl test/run.lua [busted options] [paths]`.
-- Specs see the modules as users do; test/helper.lua watches for leaks around each of them. The
-- specs run in a child whose TMPDIR is its own, so that a file left in it is theirs.
local fs = require "rtl.fs"
local process = require "rtl.process"

local function run_specs()
  local words = { "--helper=test/helper.lua", "--pattern=_spec", "--output=test/output.lua" }
  local paths = false
  for _, word in ipairs(arg) do
    words[#words + 1] = word
    paths = paths or not word:match("^%-")
  end
  if not paths then words[#words + 1] = "test/unit" end
  _G.arg = table.move(words, 1, #words, 1, { [0] = "test/run.lua" })
  require "busted.runner" ({ standalone = false })
end

local function run_child()
  local folder = assert(fs.temp_dir("rtl-test"))
  local env = { "TMPDIR=" .. folder, "RTL_TEST_TMP=" .. folder }
  for _, pair in ipairs(process.environ()) do
    if not pair:match("^TMPDIR=") then env[#env + 1] = pair end
  end
  local result = assert(process.run {
    argv = { assert(fs.readlink "/proc/self/exe"), "test/run.lua", table.unpack(arg) }, env = env,
    stdout = "inherit", stderr = "inherit",
  })
  assert(fs.remove_tree(folder))
  return result.status or 1
end

if process.getenv("RTL_TEST_TMP") then return run_specs() end
return run_child()
