--- Regular expressions with Go's syntax (RE2), matched leftmost-first by backtracking; no
-- look-around and no back references, as in Go. Charts match short strings: a step limit stops the
-- pathological ones.

local M = {}

local STEPS = 200000

local function fail(message) error({ helm = "error parsing regexp: " .. message }, 0) end

-- Parsing -------------------------------------------------------------------------------------

local perl_classes = { d = "0-9", w = "0-9A-Za-z_", s = "\t\n\f\r " }
local posix_classes = { alnum = "0-9A-Za-z", alpha = "A-Za-z", digit = "0-9", lower = "a-z",
  upper = "A-Z",
  space = "\t\n\v\f\r ", punct = "!-/:-@[-`{-~", xdigit = "0-9A-Fa-f", word = "0-9A-Za-z_",
    blank = "\t ",
  cntrl = "\0-\31\127-\127", print = " -~", graph = "!-~" }
local simple_escapes = { n = 10, t = 9, r = 13, f = 12, v = 11, a = 7 }

local function ranges_of(text)
  local ranges, at = {}, 1
  while at <= #text do
    local low = text:byte(at)
    if text:sub(at + 1, at + 1) == "-" and at + 2 <= #text then
      ranges[#ranges + 1] = { low, text:byte(at + 2) }
      at = at + 3
    else
      ranges[#ranges + 1] = { low, low }
      at = at + 1
    end
  end
  return ranges
end

local function negated(ranges)
  table.sort(ranges, function (a, b) return a[1] < b[1] end)
  local out, next_free = {}, 0
  for _, range in ipairs(ranges) do
    if range[1] > next_free then out[#out + 1] = { next_free, range[1] - 1 } end
    next_free = math.max(next_free, range[2] + 1)
  end
  out[#out + 1] = { next_free, 0x10FFFF }
  return out
end

local function class_of_letter(letter)
  local text = perl_classes[letter:lower()]
  if not text then return nil end
  local ranges = ranges_of(text)
  return letter:match("%u") and negated(ranges) or ranges
end

local Parser = {}
Parser.__index = Parser

function Parser:peek() return self.source[self.at] end
function Parser:char() return self.source[self.at] and utf8.char(self.source[self.at]) or "" end
function Parser:eat(c)
  if self:char() ~= c then return false end
  self.at = self.at + 1
  return true
end

local function hex_escape(parser)
  local text = ""
  if parser:eat("{") then
    while parser:char() ~= "}" and parser:peek() do
      text = text .. parser:char()
      parser.at = parser.at + 1
    end
    parser.at = parser.at + 1
  else
    text = parser:char()
    parser.at = parser.at + 1
    text = text .. parser:char()
    parser.at = parser.at + 1
  end
  return tonumber(text, 16) or fail("invalid escape sequence: `\\x" .. text .. "`")
end

-- The code point of an escape behind its backslash.
local function escaped_code(parser)
  local c = parser:char()
  parser.at = parser.at + 1
  if c == "x" then return hex_escape(parser) end
  if simple_escapes[c] then return simple_escapes[c] end
  if c == "" or c:match("^%w$") then fail("invalid escape sequence: `\\" .. c .. "`") end
  return utf8.codepoint(c)
end

local function bracket_item(parser, ranges)
  if parser:char() == "[" and parser.source[parser.at + 1] == 58 then
    local name = ""
    local at = parser.at + 2
    while parser.source[at] and parser.source[at] ~= 58 do
      name, at = name .. utf8.char(parser.source[at]), at + 1
    end
    local inverse = name:match("^%^(.*)$")
    local text = posix_classes[inverse or name]
      or fail("invalid character class range: `[:" .. name .. ":]`")
    parser.at = at + 2
    local set = ranges_of(text)
    table.move(inverse and negated(set) or set, 1, #set + 1, #ranges + 1, ranges)
    return nil
  end
  if parser:eat("\\") then
    local set = class_of_letter(parser:char())
    if set then
      parser.at = parser.at + 1
      table.move(set, 1, #set, #ranges + 1, ranges)
      return nil
    end
    return escaped_code(parser)
  end
  local code = parser:peek() or fail("missing closing ]")
  parser.at = parser.at + 1
  return code
end

local function bracket(parser)
  local inverse = parser:eat("^")
  local ranges, first = {}, true
  while first or parser:char() ~= "]" do
    if not parser:peek() then fail("missing closing ]") end
    local low = bracket_item(parser, ranges)
    if low then
      local high = low
      if parser:char() == "-" and parser.source[parser.at + 1]
        and parser.source[parser.at + 1] ~= 93 then
        parser.at = parser.at + 1
        high = bracket_item(parser, ranges) or fail("invalid character class range")
        if high < low then fail("invalid character class range") end
      end
      ranges[#ranges + 1] = { low, high }
    end
    first = false
  end
  parser.at = parser.at + 1
  return { t = "set", ranges = inverse and negated(ranges) or ranges }
end

local alternation

-- `(?i)`, `(?i:…)`, `(?P<name>…)`, `(?:…)`.
local function group_flags(parser)
  if parser:char() == "P" or parser:char() == "<" then
    parser:eat("P")
    if not parser:eat("<") then fail("invalid named capture") end
    while parser:peek() and not parser:eat(">") do parser.at = parser.at + 1 end
    return true
  end
  local on = true
  while true do
    local c = parser:char()
    parser.at = parser.at + 1
    if c == ":" then return false end
    if c == ")" then return nil end
    if c == "-" then on = false
    elseif c == "i" or c == "s" or c == "m" then parser.flags[c] = on
    elseif c ~= "U" then fail("invalid or unsupported Perl syntax: `(?" .. c .. "`") end
  end
end

local function group(parser)
  local saved = { i = parser.flags.i, s = parser.flags.s, m = parser.flags.m }
  local capture = true
  if parser:eat("?") then
    capture = group_flags(parser)
    if capture == nil then return { t = "empty" } end
  end
  local index
  if capture then
    parser.groups = parser.groups + 1
    index = parser.groups
  end
  local node = alternation(parser)
  if not parser:eat(")") then fail("missing closing )") end
  parser.flags = saved
  return index and { t = "capture", index = index, node = node } or node
end

local function escape_node(parser)
  local c = parser:char()
  if c == "b" or c == "B" or c == "A" or c == "z" then
    parser.at = parser.at + 1
    return { t = ({ b = "boundary", B = "inside", A = "start", z = "finish" })[c] }
  end
  local set = class_of_letter(c)
  if set then
    parser.at = parser.at + 1
    return { t = "set", ranges = set }
  end
  if c == "p" or c == "P" then fail("unicode classes (\\" .. c .. ") are not supported") end
  return { t = "code", code = escaped_code(parser), fold = parser.flags.i }
end

local function atom(parser)
  local c = parser:char()
  parser.at = parser.at + 1
  if c == "(" then return group(parser) end
  if c == "[" then
    local node = bracket(parser)
    node.fold = parser.flags.i
    return node
  end
  if c == "." then return { t = "any", newline = parser.flags.s } end
  if c == "^" then return { t = parser.flags.m and "line_start" or "start" } end
  if c == "$" then return { t = parser.flags.m and "line_finish" or "finish" } end
  if c == "\\" then return escape_node(parser) end
  if c == "*" or c == "+" or c == "?" then
    fail("missing argument to repetition operator: `" .. c .. "`")
  end
  return { t = "code", code = utf8.codepoint(c), fold = parser.flags.i }
end

-- {n}, {n,}, {n,m} at the current place; nil if it is a plain brace.
local function counted(parser)
  local text, at = "", parser.at + 1
  while parser.source[at] and parser.source[at] ~= 125 and #text < 12 do
    text, at = text .. utf8.char(parser.source[at]), at + 1
  end
  local low, comma, high = text:match("^(%d+)(,?)(%d*)$")
  if not low or parser.source[at] ~= 125 then return nil end
  parser.at = at + 1
  low = math.tointeger(tonumber(low))
  high = math.tointeger(tonumber(high)) or comma == "" and low or math.huge
  if low > 1000 or high ~= math.huge and high > 1000 then
    fail("invalid repeat count: `{" .. text .. "}`")
  end
  return low, high
end

local function repeated(parser, node)
  while true do
    local low, high
    if parser:eat("*") then low, high = 0, math.huge
    elseif parser:eat("+") then low, high = 1, math.huge
    elseif parser:eat("?") then low, high = 0, 1
    elseif parser:char() == "{" then low, high = counted(parser) end
    if not low then return node end
    node = { t = "repeat", node = node, low = low, high = high, lazy = parser:eat("?") }
  end
end

local function sequence(parser)
  local items = {}
  while parser:peek() and parser:char() ~= "|" and parser:char() ~= ")" do
    items[#items + 1] = repeated(parser, atom(parser))
  end
  return { t = "sequence", items = items }
end

function alternation(parser)
  local choices = { sequence(parser) }
  while parser:eat("|") do choices[#choices + 1] = sequence(parser) end
  return #choices == 1 and choices[1] or { t = "choice", choices = choices }
end

-- Matching: each node becomes a function (m, at, next) → end position or nil ------------------

local function in_ranges(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end

local function swapped(code)
  if code >= 65 and code <= 90 then return code + 32 end
  if code >= 97 and code <= 122 then return code - 32 end
  return code
end

local function is_word(code)
  return code ~= nil and (code >= 48 and code <= 57 or code >= 65 and code <= 90 or code == 95
    or code >= 97 and code <= 122)
end

local function at_boundary(m, at) return is_word(m.text[at - 1]) ~= is_word(m.text[at]) end

local compile

local function one(test)
  return function (m, at, next)
    local code = m.text[at]
    if code and test(code) then return next(at + 1) end
  end
end

local function zero(test)
  return function (m, at, next)
    if test(m, at) then return next(at) end
  end
end

local function compile_repeat(node)
  local inner = compile(node.node)
  local function try(m, at, count, next)
    m.steps = m.steps + 1
    if m.steps > STEPS then error({ helm = "regular expression takes too many steps" }, 0) end
    local function more()
      if count >= node.high then return nil end
      return inner(m, at, function (after)
        if after == at and count >= node.low then return nil end
        return try(m, after, count + 1, next)
      end)
    end
    if count < node.low then return more() end
    if node.lazy then return next(at) or more() end
    return more() or next(at)
  end
  return function (m, at, next) return try(m, at, 0, next) end
end

local function compile_sequence(node)
  local parts = {}
  for i, item in ipairs(node.items) do parts[i] = compile(item) end
  local function step(m, i, at, next)
    if i > #parts then return next(at) end
    return parts[i](m, at, function (after) return step(m, i + 1, after, next) end)
  end
  return function (m, at, next) return step(m, 1, at, next) end
end

local function compile_choice(node)
  local parts = {}
  for i, choice in ipairs(node.choices) do parts[i] = compile(choice) end
  return function (m, at, next)
    for _, part in ipairs(parts) do
      local stop = part(m, at, next)
      if stop then return stop end
    end
  end
end

local function compile_capture(node)
  local inner, index = compile(node.node), node.index
  return function (m, at, next)
    local old = m.groups[index]
    return inner(m, at, function (after)
      local before = m.groups[index]
      m.groups[index] = { at, after }
      local stop = next(after)
      if not stop then m.groups[index] = before end
      return stop
    end) or (function ()
      m.groups[index] = old
      return nil
    end)()
  end
end

local compilers = {
  empty = function () return function (_, at, next) return next(at) end end,
  code = function (node)
    local code, other = node.code, node.fold and swapped(node.code) or node.code
    return one(function (c) return c == code or c == other end)
  end,
  any = function (node) return one(function (c) return node.newline or c ~= 10 end) end,
  set = function (node)
    return one(function (c)
      return in_ranges(c, node.ranges) or node.fold and in_ranges(swapped(c), node.ranges)
    end)
  end,
  start = function () return zero(function (_, at) return at == 1 end) end,
  finish = function () return zero(function (m, at) return at == #m.text + 1 end) end,
  line_start = function () return zero(function (m, at) return at == 1
    or m.text[at - 1] == 10 end) end,
  line_finish = function () return zero(function (m, at) return at == #m.text + 1
    or m.text[at] == 10 end) end,
  boundary = function () return zero(at_boundary) end,
  inside = function () return zero(function (m, at) return not at_boundary(m, at) end) end,
  ["repeat"] = compile_repeat, sequence = compile_sequence, choice = compile_choice,
    capture = compile_capture,
}

function compile(node) return compilers[node.t](node) end

local cache = {}

--- Compiles a pattern. Raises { helm = message } on bad syntax.
function M.compile(pattern)
  if cache[pattern] then return cache[pattern] end
  local parser = setmetatable({ source = { utf8.codepoint(pattern, 1, -1) }, at = 1, groups = 0,
    flags = {} },
    Parser)
  local tree = alternation(parser)
  if parser:peek() then fail("unexpected )") end
  local re = { match = compile(tree), groups = parser.groups }
  cache[pattern] = re
  return re
end

local function decode(text)
  local codes, offsets = {}, {}
  for offset, code in utf8.codes(text, true) do
    codes[#codes + 1], offsets[#offsets + 1] = code, offset
  end
  offsets[#offsets + 1] = #text + 1
  return codes, offsets
end

--- All matches of `re` in `text`, at most `limit` of them (negative: all): each is { first, last +
-- 1, groups = { { first, last + 1 } | nil … } } in byte positions.
function M.find_all(re, text, limit)
  local codes, offsets = decode(text)
  local found, at, last_end = {}, 1, nil
  while at <= #codes + 1 and (limit < 0 or #found < limit) do
    local m = { text = codes, groups = {}, steps = 0 }
    local stop = re.match(m, at, function (after) return after end)
    if stop and not (stop == at and at == last_end) then
      local groups = {}
      for i = 1, re.groups do
        local g = m.groups[i]
        groups[i] = g and { offsets[g[1]], offsets[g[2]] } or false
      end
      found[#found + 1] = { offsets[at], offsets[stop], groups = groups }
      last_end = stop
      at = stop == at and at + 1 or stop
    else
      at = at + 1
    end
  end
  return found
end

--- Replaces all matches; `template` may hold $1, ${1}; with `literal` it is taken as it is.
function M.replace_all(re, text, template, literal)
  local parts, at = {}, 1
  for _, match in ipairs(M.find_all(re, text, -1)) do
    parts[#parts + 1] = text:sub(at, match[1] - 1)
    local function expand(name)
      local index = math.tointeger(tonumber(name))
      local span = index == 0 and match or index and match.groups[index]
      return span and text:sub(span[1], span[2] - 1) or ""
    end
    if literal then
      parts[#parts + 1] = template
    else
      local out = template:gsub("%$%$", "\0"):gsub("%${(%w+)}", expand):gsub("%$([%w_]+)", expand)
      parts[#parts + 1] = out:gsub("%z", "$")
    end
    at = match[2]
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

return M
