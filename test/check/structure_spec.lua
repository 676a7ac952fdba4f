-- The shape of the source, checked: who may require whom, and who alone touches time, randomness,
-- processes, the environment and yields.
local layers = dofile("test/check/layers.lua")

-- What only its owner may name in Lua.
local OWNED = {
  { "os%.time%f[%W]", "lua/rtl/clock.lua" },
  { "os%.clock%f[%W]", "lua/rtl/clock.lua" },
  { "os%.date%f[%W]", "lua/rtl/clock.lua" },
  { "rtl%.native%.clock", "lua/rtl/clock.lua" },
  { "math%.random", "lua/rtl/entropy.lua" },
  { "rtl%.native%.entropy", "lua/rtl/entropy.lua" },
  { "os%.getenv", "lua/rtl/process.lua" },
  { "os%.execute", "lua/rtl/process.lua" },
  { "io%.popen", "lua/rtl/process.lua" },
  -- (death.lua ends this very process, which rtl.process, replaced there, can't do)
  { "rtl%.native%.process", "lua/rtl/process.lua", "lua/rtl/rehearse/death.lua" },
  { "rtl%.native%.http", "lua/rtl/wire/native.lua", "lua/rtl/wire.lua" },
  { "coroutine%.yield", "lua/rtl/task.lua" },
}

-- What only its owner may call in C: symbol → folders. Each exception says why.
local C_OWNED = {
  { { "time", "gettimeofday", "clock_gettime" }, { "modules/clock/", "modules/loop/" } },
  { { "getrandom", "rand", "random", "arc4random" }, { "modules/entropy/" } },
  { { "fork", "vfork", "execv", "execve", "execvp", "posix_spawn", "posix_spawnp", "system",
    "popen" }, { "modules/process/" } },
  { { "getenv", "secure_getenv" }, { "modules/process/", "host/searcher" } },
  { { "sleep", "usleep", "nanosleep", "select", "epoll_wait" }, { "modules/loop/" } },
  { { "poll" }, { "modules/loop/", "modules/terminal/" } }, -- a write to a full terminal waits
}

-- What a command prints; raises when it fails.
local function lines_of(command)
  local list = {}
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do list[#list + 1] = line end
  assert(pipe:close(), command)
  return list
end

-- The same, where nothing at all would mean that nothing is checked.
local function some_lines_of(command)
  local list = lines_of(command)
  assert(#list > 0, command .. ": nothing")
  return list
end

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local sources = some_lines_of("find lua recipes -name '*.lua' | LC_ALL=C sort")

local function without_comments(text)
  return (text:gsub("%-%-%[%[.-%]%]", ""):gsub("%-%-[^\n]*", ""))
end

describe("layers", function ()
  it("are kept by every require", function ()
    local wrong = {}
    for _, path in ipairs(sources) do
      local text = without_comments(read(path))
      for to in text:gmatch("require%s*%(?%s*[\"']([%w_.]+)[\"']") do
        if not layers.may_require(layers.module_of(path), to) then
          wrong[#wrong + 1] = path .. " requires " .. to
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("are kept by every require that runs while modules load", function ()
    local pipe = assert(io.popen("build/rtl test/check/requires.lua"))
    local seen = pipe:read("a")
    assert.is_true((pipe:close()))
    local wrong, count = {}, 0
    for from, to in seen:gmatch("(%S+) (%S+)\n") do
      count = count + 1
      if not layers.may_require(from, to) then wrong[#wrong + 1] = from .. " requires " .. to end
    end
    assert.is_true(count > 50)
    assert.same({}, wrong)
  end)

  it("know of the rehearsal only where it is made", function ()
    local wrong = {}
    for _, path in ipairs(some_lines_of("grep -rliE rehears lua recipes modules")) do
      if not path:match("^lua/rtl/rehearse/") then wrong[#wrong + 1] = path end
    end
    assert.same({}, wrong)
  end)
end)

describe("time, randomness, processes, environment and yields", function ()
  it("are named in Lua by their one owner", function ()
    local wrong = {}
    for _, path in ipairs(sources) do
      local text = without_comments(read(path))
      for _, rule in ipairs(OWNED) do
        if path ~= rule[2] and path ~= rule[3] and text:find(rule[1]) then
          wrong[#wrong + 1] = path .. ": " .. rule[1]
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("are called in C by their one owner", function ()
    local owners, wrong = {}, {} -- symbol → folders
    for _, rule in ipairs(C_OWNED) do
      for _, symbol in ipairs(rule[1]) do owners[symbol] = rule[2] end
    end
    local function may_call(place, symbol)
      for _, folder in ipairs(owners[symbol]) do
        if place:sub(1, #folder) == folder then return true end
      end
      return false
    end
    local build = os.getenv("RTL_BUILD") or "build"
    local undefined = ("find %s/host %s/modules -name '*.o' | xargs nm -uA"):format(build, build)
    for _, line in ipairs(some_lines_of(undefined)) do
      local object, symbol = line:match("^(.-):%s+U ([%w_]+)")
      local place = object and object:sub(#build + 2)
      if owners[symbol] and not may_call(place, symbol) then
        wrong[#wrong + 1] = place .. " calls " .. symbol
      end
    end
    assert.same({}, wrong)
  end)
end)

describe("files", function ()
  local C_LINES, LUA_LINES, COLUMNS = 600, 500, 100

  -- Columns as a reader counts them: characters, not bytes.
  local function too_wide(path)
    local n = 0
    for line in (read(path)):gmatch("[^\n]*") do
      n = n + 1
      if (utf8.len(line) or #line) > COLUMNS then return path .. ":" .. n end
    end
    return nil
  end

  it("are short and narrow", function ()
    local wrong = {}
    for _, path in ipairs(some_lines_of("git ls-files 'host/*.[ch]' 'modules/*.[ch]' 'lua/*.lua' "
      .. "'recipes/*.lua' 'test/*.lua' ':!test/vectors'")) do
      local _, count = read(path):gsub("\n", "\n")
      local limit = path:match("%.lua$") and LUA_LINES or C_LINES
      local data = path:match("^lua/rtl/aws/ops/") or path == "test/contract/aws_homes.lua"
      if count > limit and not data then
        wrong[#wrong + 1] = path .. " has " .. count .. " lines"
      end
      local wide = too_wide(path)
      if wide then wrong[#wrong + 1] = wide .. " is too wide" end
    end
    assert.same({}, wrong)
  end)

  it("at the top are the ones that the design names", function ()
    local allowed = { Makefile = true, ["README.md"] = true, LICENSE = true,
      ["CHANGELOG.md"] = true, host = true, modules = true, lua = true, recipes = true,
      test = true, vendor = true }
    local wrong = {}
    for _, name in ipairs(some_lines_of("git ls-files | cut -d/ -f1 | sort -u")) do
      if not allowed[name] and name:sub(1, 1) ~= "." then wrong[#wrong + 1] = name end
    end
    assert.same({}, wrong)
  end)
end)

describe("operation tables", function ()
  it("are data: they load in an empty environment", function ()
    for _, path in ipairs(some_lines_of("find lua/rtl/aws/ops -name '*.lua' | sort")) do
      local chunk = assert(loadfile(path, "t", {}))
      assert.is_table(chunk(), path)
    end
  end)
end)

describe("error codes", function ()
  it("that the source uses and the codes that are explained are the same set", function ()
    local used, explained, difference = {}, {}, {}
    local files = some_lines_of("find lua recipes modules host -name '*.lua' -o -name '*.c'")
    for _, path in ipairs(files) do
      local codes = path:match("^lua/rtl/codes/") or path:match("/codes%.lua$")
      for code in read(path):gmatch("RTL%-%u[%u%d]*%-%d%d%d") do
        if codes then explained[code] = path else used[code] = path end
      end
    end
    for code, path in pairs(used) do
      if not explained[code] then
        difference[#difference + 1] = code .. " (" .. path .. ") is not explained"
      end
    end
    for code, path in pairs(explained) do
      if not used[code] then
        difference[#difference + 1] = code .. " (" .. path .. ") is never used"
      end
    end
    table.sort(difference)
    assert.same({}, difference)
  end)
end)
