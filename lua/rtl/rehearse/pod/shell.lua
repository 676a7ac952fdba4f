--- Runs what rtl.rehearse.pod.parse read, in the container of a simulated pod.
--
-- A shell state: env (name → text), args ($0…), cwd, files (rtl.rehearse.pod.files), commands
-- (name → function (io, argv) → exit code), input, out and errors (arrays of text), seconds.

local parse = require "rtl.rehearse.pod.parse"

local M = {}

local run_list, expand_words

-- exit, break and continue unwind to where they are meant for.
local function signal(kind, value)
  error({ signal = kind, value = value }, 0)
end

local PATTERN_CHARS = "[%^%$%(%)%%%.%+%-]"

-- A shell pattern as a Lua pattern.
local function pattern_of(text)
  local out = text:gsub(PATTERN_CHARS, "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  return (out:gsub("%[!", "[^"))
end

local function cut_prefix(value, pattern, longest)
  local lua_pattern = "^" .. pattern_of(pattern) .. "$"
  local from, to, step = 0, #value, 1
  if longest then from, to, step = #value, 0, -1 end
  for n = from, to, step do
    if value:sub(1, n):find(lua_pattern) then return value:sub(n + 1) end
  end
  return value
end

local function cut_suffix(value, pattern, longest)
  local lua_pattern = "^" .. pattern_of(pattern) .. "$"
  local from, to, step = #value + 1, 1, -1
  if longest then from, to, step = 1, #value + 1, 1 end
  for n = from, to, step do
    if value:sub(n):find(lua_pattern) then return value:sub(1, n - 1) end
  end
  return value
end

local function variable(state, name)
  if name == "?" then return tostring(state.status) end
  if name == "#" then return tostring(#state.args) end
  if name == "$" then return tostring(state.pid or 4242) end
  if name == "@" or name == "*" then return table.concat(state.args, " ") end
  if name:find "^%d+$" then return state.args[tonumber(name)] end
  return state.env[name]
end

local expand_text

local function variable_value(state, part)
  local value = variable(state, part.name)
  if part.length then return tostring(#(value or "")) end
  if not part.op then return value or "" end
  local argument = part.argument and expand_text(state, part.argument) or ""
  if part.op == ":-" then return value and value ~= "" and value or argument end
  if part.op == "-" then return value or argument end
  value = value or ""
  if part.op == "#" then return cut_prefix(value, argument, false) end
  if part.op == "##" then return cut_prefix(value, argument, true) end
  if part.op == "%" then return cut_suffix(value, argument, false) end
  if part.op == "%%" then return cut_suffix(value, argument, true) end
  return value
end

local function arithmetic(state, text)
  local expression = text:gsub("%$?([%a_][%w_]*)", function (name)
    return state.env[name] or "0"
  end):gsub("%$(%d)", function (n) return state.args[tonumber(n)] or "0" end)
  if expression:find "[^%d%s%+%-%*/%%()]" then
    error({ shell = "sh: arithmetic expression: " .. text }, 0)
  end
  local value = load("return " .. expression:gsub("/", "//"), "=sum", "t", {})()
  return tostring(math.tointeger(value) or value)
end

local function captured(state, list)
  local inner = setmetatable({ out = {}, env = setmetatable({}, { __index = state.env }) },
                             { __index = state })
  local ok, e = pcall(run_list, inner, list)
  if not ok and not (type(e) == "table" and e.signal == "exit") then error(e, 0) end
  state.status = ok and inner.status or e.value
  state.seconds = math.max(state.seconds or 0, inner.seconds or 0)
  return (table.concat(inner.out):gsub("\n+$", ""))
end

local function part_value(state, part)
  if part.kind == "text" then return part.text end
  if part.kind == "var" then return variable_value(state, part) end
  if part.kind == "sum" then return arithmetic(state, part.text) end
  return captured(state, part.list)
end

-- The text of an argument inside of ${…}.
function expand_text(state, text)
  if not text:find "[$'\"\\]" then return text end
  return expand_words(state, parse.parse("x " .. text)[1].pipeline[1].words)[2] or ""
end

local function glob(state, text)
  local found = state.files:glob(text, state.cwd, pattern_of)
  return #found > 0 and found or { text }
end

-- One word as fields: unquoted expansions are split, unquoted patterns match files.
local function expand_word(state, word)
  local fields, current, pattern = {}, nil, false
  for _, part in ipairs(word) do
    if part.kind == "var" and part.name == "@" and part.quoted then
      if current == "" then current = nil end -- the quote alone is no field here
      for _, item in ipairs(state.args) do fields[#fields + 1] = item end
    else
      local value = part_value(state, part)
      if part.quoted or part.kind == "text" then
        current = (current or "") .. value
        if not part.quoted and value:find "[*?]" then pattern = true end
      else
        if value:find "^%s" and current then
          fields[#fields + 1], current = current, nil
        end
        for item, gap in value:gmatch "(%S+)(%s*)" do
          current = (current or "") .. item
          if gap ~= "" then fields[#fields + 1], current = current, nil end
        end
      end
    end
  end
  if current then fields[#fields + 1] = current end
  if not pattern then return fields end
  local out = {}
  for _, field in ipairs(fields) do
    for _, name in ipairs(glob(state, field)) do out[#out + 1] = name end
  end
  return out
end

function expand_words(state, words)
  local argv = {}
  for _, word in ipairs(words) do
    for _, field in ipairs(expand_word(state, word)) do argv[#argv + 1] = field end
  end
  return argv
end

local function joined(state, word)
  return table.concat(expand_word(state, word), " ")
end

-- Streams of a command: { input, out, errors, finish() } after its redirections; nil if one fails.
local function streams(state, redirects)
  local io = { input = state.input, out = state.out, errors = state.errors, files = {} }
  for _, redirect in ipairs(redirects) do
    local target = joined(state, redirect.target)
    if redirect.op == "<" then
      io.input = state.files:read(target, state.cwd)
      if not io.input then
        table.insert(state.errors, ("sh: %s: No such file or directory\n"):format(target))
        return nil
      end
    elseif redirect.op == ">&" or redirect.op == ">>&" then
      if redirect.fd == 1 then io.out = target == "2" and io.errors or io.out
      else io.errors = target == "1" and io.out or io.errors end
    elseif target == "/dev/null" then
      if redirect.fd == 2 then io.errors = {} else io.out = {} end
    elseif redirect.op:sub(1, 1) == ">" then
      local sink = {}
      if redirect.op == ">>" then sink[1] = state.files:read(target, state.cwd) end
      if redirect.fd == 2 then io.errors = sink else io.out = sink end
      table.insert(io.files, { target, sink })
    end
  end
  return io
end

local function finish(state, io)
  for _, file in ipairs(io.files) do
    local ok, e = state.files:write(file[1], table.concat(file[2]), state.cwd)
    if not ok then
      table.insert(state.errors, ("sh: %s: %s\n"):format(file[1], e))
      return 2
    end
  end
  return nil
end

local BUILTIN = {
  exit = function (state, argv) signal("exit", tonumber(argv[2]) or state.status) end,
  ["return"] = function (state, argv) signal("exit", tonumber(argv[2]) or state.status) end,
  ["break"] = function () signal "break" end,
  continue = function () signal "continue" end,
  cd = function (state, argv)
    local path = state.files:resolve(argv[2] or "/root", state.cwd)
    if not state.files:is_folder(path) then
      table.insert(state.errors, ("sh: cd: %s: No such file or directory\n"):format(argv[2]))
      return 1
    end
    state.cwd = path
    return 0
  end,
  export = function (state, argv)
    for i = 2, #argv do
      local name, value = argv[i]:match "^([^=]+)=(.*)$"
      if name then state.env[name] = value end
    end
    return 0
  end,
  set = function () return 0 end, umask = function () return 0 end, trap = function () return 0 end,
  shift = function (state)
    table.remove(state.args, 1)
    return 0
  end,
}

local function with_io(state, io)
  return setmetatable({ input = io.input, out = io.out, errors = io.errors }, {
    __index = state, __newindex = function (_, key, value) state[key] = value end })
end

local function run_simple(state, command)
  for _, assign in ipairs(command.assigns) do
    local value = joined(state, assign.value)
    state.env[assign.name] = value
  end
  if #command.words == 0 then return state.status end
  local argv = expand_words(state, command.words)
  local io = streams(state, command.redirects)
  if not io then return 1 end
  local inner = with_io(state, io)
  local code
  local run = BUILTIN[argv[1]] or state.commands[argv[1]]
  if run then
    code = run(inner, argv)
  else
    table.insert(io.errors, ("sh: %s: command not found\n"):format(tostring(argv[1])))
    code = 127
  end
  return finish(state, io) or code
end

-- Runs the body of a loop; false when it was left.
local function once(state, body)
  local ok, e = pcall(run_list, state, body)
  if ok then return true end
  if type(e) == "table" and e.signal == "continue" then return true end
  if type(e) == "table" and e.signal == "break" then return false end
  error(e, 0)
end

local LIMIT = 100000

local RUN = {
  simple = run_simple,
  ["for"] = function (state, command)
    local items = command.words and expand_words(state, command.words) or state.args
    for _, item in ipairs(items) do
      state.env[command.name] = item
      if not once(state, command.body) then break end
    end
    return state.status
  end,
  ["if"] = function (state, command)
    for _, branch in ipairs(command.branches) do
      run_list(state, branch[1])
      if state.status == 0 then
        run_list(state, branch[2])
        return state.status
      end
    end
    state.status = 0
    if command.otherwise then run_list(state, command.otherwise) end
    return state.status
  end,
  loop = function (state, command)
    for _ = 1, LIMIT do
      run_list(state, command.test)
      if (state.status == 0) == command.negated then break end
      if not once(state, command.body) then break end
    end
    return 0
  end,
  group = function (state, command)
    if not command.sub then
      run_list(state, command.body)
      return state.status
    end
    local inner = setmetatable({ env = setmetatable({}, { __index = state.env }) },
                               { __index = state })
    local ok, e = pcall(run_list, inner, command.body)
    if not ok and not (type(e) == "table" and e.signal == "exit") then error(e, 0) end
    return ok and inner.status or e.value
  end,
}

local function run_command(state, command)
  if command.kind == "simple" then return run_simple(state, command) end
  local io = streams(state, command.redirects)
  if not io then return 1 end
  local code = RUN[command.kind](with_io(state, io), command)
  return finish(state, io) or code
end

local function run_pipeline(state, pipeline)
  local input, code = state.input, 0
  for i, command in ipairs(pipeline) do
    local last = i == #pipeline
    local stage = setmetatable({ input = input, out = last and state.out or {} }, {
      __index = state, __newindex = function (_, key, value) state[key] = value end })
    code = run_command(#pipeline > 1 and stage or state, command)
    input = not last and table.concat(stage.out) or nil
  end
  if pipeline.negated then code = code == 0 and 1 or 0 end
  state.status = code
end

function run_list(state, list)
  local skip
  for _, item in ipairs(list) do
    if not skip then run_pipeline(state, item.pipeline) end
    if item.op == "&&" then skip = state.status ~= 0
    elseif item.op == "||" then skip = state.status == 0
    else skip = false end
  end
end

--- Runs a script in `state`; returns its exit code.
function M.run(state, script)
  state.status = state.status or 0
  local ok, e = pcall(function () run_list(state, parse.parse(script)) end)
  if ok then return state.status end
  if type(e) == "table" and e.signal == "exit" then return e.value end
  if type(e) == "table" and e.shell then
    table.insert(state.errors, e.shell .. "\n")
    return 2
  end
  error(e, 0)
end

return M
