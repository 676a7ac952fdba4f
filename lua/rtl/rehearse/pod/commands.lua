--- The programs that a simulated container has.

local crypto = require "rtl.native.crypto"

local M = {}

local function say(io, text)
  io.out[#io.out + 1] = text
end

local function complain(io, name, text)
  io.errors[#io.errors + 1] = ("%s: %s\n"):format(name, text)
  return 1
end

-- The text of the file operands, or of the input if there are none.
local function input_of(io, name, operands)
  if #operands == 0 then return io.input or "" end
  local parts = {}
  for _, path in ipairs(operands) do
    local text = path == "-" and (io.input or "") or io.files:read(path, io.cwd)
    if not text then
      complain(io, name, path .. ": No such file or directory")
      return nil
    end
    parts[#parts + 1] = text
  end
  return table.concat(parts)
end

-- Splits argv into options (with values for those in `valued`) and operands.
local function options_of(argv, valued)
  local options, operands, i = {}, {}, 2
  while i <= #argv do
    local word = argv[i]
    local flag = word:match "^%-(%a)"
    if word == "--" then
      table.move(argv, i + 1, #argv, #operands + 1, operands)
      break
    elseif flag and valued:find(flag, 1, true) then
      local value = word:sub(3)
      if value == "" then
        i = i + 1
        value = argv[i] or ""
      end
      options[flag] = value
    elseif flag and #word > 1 then
      for char in word:sub(2):gmatch "%a" do options[char] = true end
    else
      operands[#operands + 1] = word
    end
    i = i + 1
  end
  return options, operands
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "([^\n]*\n?)" do
    if line ~= "" then lines[#lines + 1] = line end
  end
  return lines
end

function M.cat(io, argv)
  local _, operands = options_of(argv, "")
  local text = input_of(io, "cat", operands)
  if not text then return 1 end
  say(io, text)
  return 0
end

function M.echo(io, argv)
  local from = argv[2] == "-n" and 3 or 2
  say(io, table.concat(argv, " ", from) .. (from == 2 and "\n" or ""))
  return 0
end

function M.printf(io, argv)
  local values, at = table.move(argv, 3, #argv, 1, {}), 0
  local text = (argv[2] or ""):gsub("\\n", "\n"):gsub("\\t", "\t")
  text = text:gsub("%%([sd%%])", function (kind)
    if kind == "%" then return "%" end
    at = at + 1
    return values[at] or (kind == "d" and "0" or "")
  end)
  say(io, text)
  return 0
end

function M.head(io, argv)
  local options, operands = options_of(argv, "cn")
  local text = input_of(io, "head", operands)
  if not text then return 1 end
  if options.c then
    say(io, text:sub(1, tonumber(options.c)))
  else
    local lines = lines_of(text)
    say(io, table.concat(lines, "", 1, math.min(#lines, tonumber(options.n or "10"))))
  end
  return 0
end

function M.tail(io, argv)
  local options, operands = options_of(argv, "cn")
  local text = input_of(io, "tail", operands)
  if not text then return 1 end
  if options.c then
    local from = options.c:match "^%+(%d+)$"
    say(io, from and text:sub(math.max(1, tonumber(from)))
            or text:sub(-math.max(1, tonumber(options.c))))
  else
    local lines = lines_of(text)
    local n = tonumber(options.n or "10")
    say(io, table.concat(lines, "", math.max(1, #lines - n + 1), #lines))
  end
  return 0
end

function M.wc(io, argv)
  local options, operands = options_of(argv, "")
  local text = input_of(io, "wc", operands)
  if not text then return 1 end
  local n = options.l and select(2, text:gsub("\n", "")) or #text
  say(io, ("%d%s\n"):format(n, operands[1] and " " .. operands[1] or ""))
  return 0
end

function M.sha256sum(io, argv)
  local _, operands = options_of(argv, "")
  local text = input_of(io, "sha256sum", operands)
  if not text then return 1 end
  say(io, ("%s  %s\n"):format(crypto.sha256_hex(text), operands[1] or "-"))
  return 0
end

function M.stat(io, argv)
  local options, operands = options_of(argv, "c")
  local text = input_of(io, "stat", operands)
  if not text then return 1 end
  say(io, (options.c or "%s"):gsub("%%s", tostring(#text)) .. "\n")
  return 0
end

function M.ls(io, argv)
  local _, operands = options_of(argv, "")
  local names = io.files:list(operands[1] or io.cwd, io.cwd)
  if not names then
    return complain(io, "ls", ("cannot access '%s': No such file or directory")
                              :format(operands[1] or io.cwd)) + 1
  end
  for _, name in ipairs(names) do say(io, name .. "\n") end
  return 0
end

function M.mkdir(io, argv)
  local _, operands = options_of(argv, "m")
  for _, path in ipairs(operands) do io.files:mkdir(path, io.cwd) end
  return 0
end

function M.rm(io, argv)
  local options, operands = options_of(argv, "")
  for _, path in ipairs(operands) do
    if not io.files:remove(path, io.cwd, options.r) and not options.f then
      return complain(io, "rm", ("cannot remove '%s': No such file or directory"):format(path))
    end
  end
  return 0
end

function M.mv(io, argv)
  local _, operands = options_of(argv, "")
  local text = input_of(io, "mv", { operands[1] })
  if not text then return 1 end
  io.files:write(operands[2], text, io.cwd)
  io.files:remove(operands[1], io.cwd)
  return 0
end

function M.cp(io, argv)
  local _, operands = options_of(argv, "")
  local text = input_of(io, "cp", { operands[1] })
  if not text then return 1 end
  io.files:write(operands[2], text, io.cwd)
  return 0
end

function M.tee(io, argv)
  local _, operands = options_of(argv, "")
  for _, path in ipairs(operands) do io.files:write(path, io.input or "", io.cwd) end
  say(io, io.input or "")
  return 0
end

function M.grep(io, argv)
  local options, operands = options_of(argv, "e")
  local pattern = options.e or table.remove(operands, 1)
  local text = input_of(io, "grep", operands)
  if not text then return 2 end
  local found = 0
  for _, line in ipairs(lines_of(text)) do
    if line:find(pattern, 1, true) then
      found = found + 1
      if not options.q and not options.c then say(io, line) end
    end
  end
  if options.c then say(io, found .. "\n") end
  return found > 0 and 0 or 1
end

function M.seq(io, argv)
  local from, to = tonumber(argv[2]), tonumber(argv[3])
  if not to then from, to = 1, from end
  for i = from, to do say(io, ("%d\n"):format(i)) end
  return 0
end

function M.sleep(io, argv)
  local seconds = argv[2] == "infinity" and math.huge or tonumber(argv[2]) or 0
  io.seconds = (io.seconds or 0) + seconds
  return 0
end

function M.env(io)
  local names = {}
  for name in next, io.env do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do say(io, ("%s=%s\n"):format(name, io.env[name])) end
  return 0
end

M.printenv = function (io, argv)
  if not argv[2] then return M.env(io) end
  if not io.env[argv[2]] then return 1 end
  say(io, io.env[argv[2]] .. "\n")
  return 0
end

function M.hostname(io)
  say(io, io.host_name .. "\n")
  return 0
end

local function nothing() return 0 end

M["true"], M[":"], M.chmod, M.sync = nothing, nothing, nothing, nothing
M["false"] = function () return 1 end

local UNARY = {
  ["-f"] = function (io, v) return io.files:read(v, io.cwd) ~= nil end,
  ["-d"] = function (io, v) return io.files:is_folder(io.files:resolve(v, io.cwd)) end,
  ["-e"] = function (io, v)
    return io.files:read(v, io.cwd) ~= nil or io.files:is_folder(io.files:resolve(v, io.cwd))
  end,
  ["-n"] = function (_, v) return v ~= "" end,
  ["-z"] = function (_, v) return v == "" end,
  ["-s"] = function (io, v) return (io.files:read(v, io.cwd) or "") ~= "" end,
}
UNARY["-r"], UNARY["-x"] = UNARY["-f"], UNARY["-f"]

local BINARY = {
  ["="] = function (a, b) return a == b end, ["=="] = function (a, b) return a == b end,
  ["!="] = function (a, b) return a ~= b end,
  ["-eq"] = function (a, b) return tonumber(a) == tonumber(b) end,
  ["-ne"] = function (a, b) return tonumber(a) ~= tonumber(b) end,
  ["-gt"] = function (a, b) return tonumber(a) > tonumber(b) end,
  ["-ge"] = function (a, b) return tonumber(a) >= tonumber(b) end,
  ["-lt"] = function (a, b) return tonumber(a) < tonumber(b) end,
  ["-le"] = function (a, b) return tonumber(a) <= tonumber(b) end,
}

local function evaluate(io, words)
  if words[1] == "!" then return not evaluate(io, table.move(words, 2, #words, 1, {})) end
  if #words == 0 then return false end
  if #words == 1 then return words[1] ~= "" end
  if #words == 2 and UNARY[words[1]] then return UNARY[words[1]](io, words[2]) end
  if #words == 3 and BINARY[words[2]] then return BINARY[words[2]](words[1], words[3]) end
  return nil
end

function M.test(io, argv)
  local words = table.move(argv, 2, #argv, 1, {})
  if argv[1] == "[" and table.remove(words) ~= "]" then
    return complain(io, "[", "missing ]") + 1
  end
  local result = evaluate(io, words)
  if result == nil then return complain(io, argv[1], "unknown condition") + 1 end
  return result and 0 or 1
end

M["["] = M.test

return M
