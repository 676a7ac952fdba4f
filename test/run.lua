-- Runs busted inside rtl: `build/rtl test/run.lua [busted options] [paths]`.
--
-- Specs see the modules as users do; test/helper.lua watches for leaks around each of them. Every
-- spec file has a process of its own (RTL_TEST_JOBS of them at once, 2 by default) whose TMPDIR is
-- its own, so that a file left in it is that spec's, a home with nothing in it, and a small heap,
-- since leaks are looked for by whole collections. Closes with the sum:
-- 'NAME: N passed, N failed, N skipped'.
local clock = require "rtl.clock"
local fs = require "rtl.fs"
local process = require "rtl.process"
local task = require "rtl.task"

local function run_specs()
  local words = { "--helper=test/helper.lua", "--pattern=_spec", "--output=test/output.lua" }
  table.move(arg, 1, #arg, #words + 1, words)
  _G.arg = table.move(words, 1, #words, 1, { [0] = "test/run.lua" })
  require "busted.runner" ({ standalone = false })
end

local function spec_files(path, out)
  if path:match("%.lua$") then
    out[#out + 1] = path
    return
  end
  for _, name in ipairs(assert(fs.list(path))) do
    local below = fs.join(path, name)
    if name:match("_spec%.lua$") or assert(fs.stat(below)).kind == "directory" then
      spec_files(below, out)
    end
  end
end

-- The words of the command line: busted's options, and the spec files below the paths.
local function split_words()
  local options, files = {}, {}
  for _, word in ipairs(arg) do
    if word:match("^%-") then options[#options + 1] = word else spec_files(word, files) end
  end
  if #files == 0 then spec_files("test/unit", files) end
  return options, files
end

-- What would tell rtl, and those it is compared with, of whoever runs the tests: home, keys and
-- profile of AWS, proxies.
local function is_personal(name)
  return name == "HOME" or name:match("^AWS_") or name:lower():match("_proxy$")
end

local function environment(folder)
  local env = { "TMPDIR=" .. folder, "RTL_TEST_TMP=" .. folder, "HOME=" .. fs.join(folder, "home") }
  for _, pair in ipairs(process.environ()) do
    local name = pair:match("^[^=]*")
    if name ~= "TMPDIR" and not is_personal(name) then env[#env + 1] = pair end
  end
  return env
end

-- Runs one file; prints what it said but its closing line. Returns its counts.
local function run_file(file, options)
  local folder = assert(fs.temp_dir("rtl-test"))
  assert(fs.mkdirs(fs.join(folder, "home")))
  local argv = { assert(fs.readlink("/proc/self/exe")), "test/run.lua", file }
  local started = clock.mono()
  local result = assert(process.run {
    argv = table.move(options, 1, #options, #argv + 1, argv), env = environment(folder),
  })
  assert(fs.remove_tree(folder))
  local passed, failed, skipped =
    result.stdout:match("specs: (%d+) passed, (%d+) failed, (%d+) skipped\n$")
  local said = result.stdout:gsub("specs: %d+ passed, %d+ failed, %d+ skipped\n$", "")
  io.write(("%7.1f s  %s\n%s%s"):format(clock.mono() - started, file, said, result.stderr))
  io.flush()
  local clean = result.status == 0 or passed and tonumber(failed) > 0
  if not passed or not clean then
    print(("FAILED %s ended with %s"):format(file, result.status or result.signal))
    return { passed = tonumber(passed) or 0, failed = 1, skipped = 0 }
  end
  return { passed = tonumber(passed), failed = tonumber(failed), skipped = tonumber(skipped) }
end

local function run_files()
  local options, files = split_words()
  local jobs = tonumber(process.getenv("RTL_TEST_JOBS")) or 2
  local sum = { passed = 0, failed = 0, skipped = 0 }
  local counts = task.map(files, function (file) return run_file(file, options) end, jobs)
  for _, count in ipairs(counts) do
    for what, number in pairs(count) do sum[what] = sum[what] + number end
  end
  print(("%s: %d passed, %d failed, %d skipped"):format(
    process.getenv("RTL_TEST_GROUP") or "specs", sum.passed, sum.failed, sum.skipped))
  return sum.failed == 0 and sum.passed > 0 and 0 or 1
end

if process.getenv("RTL_TEST_TMP") then return run_specs() end
return run_files()
