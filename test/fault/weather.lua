-- Many lives in many weathers: `build/rtl test/fault/weather.lua [words]`, or `make weather`.
--
--   --seeds N        how many (10,000), from --from (1)
--   --seed N         one seed, with all that it has to tell
--   --only KIND      that kind of weather instead of the mix
--   --jobs N         processes at once (2)
--   --minutes N      begins no further seeds after that time
--
-- Prints each seed that did not hold with the command that plays it again, and at the end: the
-- share that ended in success, how often each kind of weather struck, and the codes reached.

local array = require "rtl.array"
local clock = require "rtl.clock"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local kinds = require "rtl.rehearse.weather.kinds"
local process = require "rtl.process"
local task = require "rtl.task"
local weather = require "test.support.weather"

local CHUNK = 50 -- seeds that one process plays

local function options_of(words)
  local options = { seeds = 10000, from = 1, jobs = 2 }
  local i = 1
  while words[i] do
    local name = assert(words[i]:match "^%-%-(%l+)$", "not an option: " .. words[i])
    options[name] = math.tointeger(tonumber(words[i + 1])) or words[i + 1]
    i = i + 2
  end
  return options
end

-- What plays a life again.
local function command(life)
  local kind = life.spec:match "^[^,]+"
  return ("build/rtl test/fault/weather.lua --seed %d%s"):format(life.seed,
    kind ~= "weather" and " --only " .. kind or "")
end

-- ---- one process: a life a line ----

local function play_range(options)
  for seed = options.from, options.from + options.seeds - 1 do
    local life = weather.play(seed, options)
    life.seed, life.ends, life.codes = seed, array(life.ends), array(life.codes)
    life.errors, life.sky = array(life.errors), array(life.sky or {})
    io.stdout:write(json.encode(life), "\n")
    io.stdout:flush()
  end
end

-- ---- the sum ----

local Sum = {}
Sum.__index = Sum

local function new_sum()
  return setmetatable({ lives = 0, success = 0, at_once = 0, killed = 0, wrong = {}, struck = {},
                        seen = {}, codes = {}, examples = {}, calls = 0, longest = 0 }, Sum)
end

function Sum:add(life)
  self.lives = self.lives + 1
  if life.killed then self.killed = self.killed + 1 end
  if life.success then self.success = self.success + 1 end
  if life.ends[1] == "deploy done" or life.ends[1] == "deploy 0" then
    self.at_once = self.at_once + 1
  end
  for kind, count in pairs(life.struck or {}) do
    self.struck[kind] = (self.struck[kind] or 0) + count
  end
  for _, kind in ipairs(life.sky) do self.seen[kind] = (self.seen[kind] or 0) + 1 end
  for i, code in ipairs(life.codes) do
    self.codes[code] = (self.codes[code] or 0) + 1
    self.examples[code] = self.examples[code]
      or ("%s\n    %s"):format(life.errors[i], command(life))
  end
  self.calls = math.max(self.calls, life.most_calls or 0)
  self.longest = math.max(self.longest, life.longest or 0)
  if life.problem then self.wrong[#self.wrong + 1] = life.seed end
end

local function lines_of(counts, more)
  local names, lines = {}, {}
  for name in pairs(counts) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    lines[i] = ("  %-44s %6d%s"):format(name, counts[name], more and more(name) or "")
  end
  return table.concat(lines, "\n")
end

function Sum:show(seconds)
  for name, kind in pairs(kinds) do
    if kind.weight ~= 0 then self.struck[name] = self.struck[name] or 0 end -- 0: in no mix
  end
  local function share(n) return 100 * n / self.lives end
  print(("%d lives (%d with a kill) in %.0f s: %d wrong; %.1f %% got their deploy, %.1f %% at once")
    :format(self.lives, self.killed, seconds, #self.wrong, share(self.success),
      share(self.at_once)))
  print(("most calls of a run %d, longest run %.0f virtual minutes"):format(self.calls,
    self.longest / 60))
  print "weather: how often it struck, in how many lives it was there"
  print(lines_of(self.struck, function (name) return ("  %6d"):format(self.seen[name] or 0) end))
  print "codes that runs ended with"
  print(lines_of(self.codes, function (code) return "  " .. self.examples[code] end))
end

-- ---- many processes ----

local function words_of(options, from, count)
  local words = { fs.join(fs.cwd(), "build/rtl"), "test/fault/weather.lua", "--worker", "1",
                  "--from", tostring(from), "--seeds", tostring(count) }
  if options.only then table.move({ "--only", options.only }, 1, 2, #words + 1, words) end
  return words
end

local function play_chunk(options, sum, from)
  local count = math.min(CHUNK, options.from + options.seeds - from)
  local ran = assert(process.run { argv = words_of(options, from, count), timeout = 3600 })
  local seen = 0
  for line in ran.stdout:gmatch "[^\n]+" do
    local life = assert(json.decode(line))
    seen = seen + 1
    sum:add(life)
    if life.problem then
      print(("seed %d: %s\n  %s\n  %s"):format(life.seed, life.problem:sub(1, 600),
        table.concat(life.ends, ", "), command(life)))
    end
  end
  if seen ~= count then
    sum.wrong[#sum.wrong + 1] = from + seen
    print(("seed %d ended its process: %s\n  %s"):format(from + seen, ran.stderr:sub(-800),
      command { seed = from + seen, spec = options.only or "weather" }))
  end
end

local function play_all(options)
  local sum, began, chunks = new_sum(), clock.mono(), {}
  for from = options.from, options.from + options.seeds - 1, CHUNK do chunks[#chunks + 1] = from end
  task.run(function ()
    task.map(chunks, function (from)
      if clock.mono() - began > (options.minutes or math.huge) * 60 then return end
      play_chunk(options, sum, from)
    end, options.jobs)
  end)
  sum:show(clock.mono() - began)
  os.exit(#sum.wrong == 0)
end

local function play_one(options)
  local life = weather.play(options.seed, options)
  print(json.encode(life, { pretty = true }))
  for _, text in ipairs(life.errors) do print(text) end
  if life.problem then print("\nWRONG: " .. life.problem) end
  os.exit(life.problem == nil)
end

local options = options_of(arg)
if options.seed then
  play_one(options)
elseif options.worker then
  play_range(options)
else
  play_all(options)
end
