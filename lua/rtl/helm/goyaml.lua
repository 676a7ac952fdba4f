--- YAML as helm's `toYaml` writes it (sigs.k8s.io/yaml over go-yaml 2): block style, sequences not
-- indented under their key, natural order of keys, quotes where go-yaml would read something else,
-- folding at 80 columns.

local go = require "rtl.helm.go"

local M = {}

local WIDTH = 80

-- Key order -----------------------------------------------------------------------------------

local function is_letter(code)
  return code >= 65 and code <= 90 or code >= 97 and code <= 122 or code >= 0xAA
end

local function is_digit(code) return code and code >= 48 and code <= 57 end

local function digits_at(runes, from)
  local value, at = 0, from
  while is_digit(runes[at]) do
    value, at = value * 10 + (runes[at] - 48), at + 1
  end
  return value, at
end

-- Whether a number that began before `i` goes on there (then a zero counts as a digit of it).
local function inside_number(runes, i)
  local j = i - 1
  while j >= 1 and is_digit(runes[j]) do
    if runes[j] ~= 48 then return true end
    j = j - 1
  end
  return false
end

local function differ_less(a, b, i)
  local letter_a, letter_b = is_letter(a[i]), is_letter(b[i])
  if letter_a and letter_b then return a[i] < b[i] end
  if letter_a or letter_b then return letter_b end
  local number_a, number_b = 0, 0
  if (a[i] == 48 or b[i] == 48) and inside_number(a, i) then number_a, number_b = 1, 1 end
  local value_a, end_a = digits_at(a, i)
  local value_b, end_b = digits_at(b, i)
  if end_a > i then number_a = number_a * 10 ^ (end_a - i) + value_a end
  if end_b > i then number_b = number_b * 10 ^ (end_b - i) + value_b end
  if number_a ~= number_b then return number_a < number_b end
  if end_a ~= end_b then return end_a < end_b end
  return a[i] < b[i]
end

--- Whether key `a` stands before key `b` (go-yaml's order: numbers inside by value, letters last).
local function key_less(a, b)
  local runes_a, runes_b = { utf8.codepoint(a, 1, -1) }, { utf8.codepoint(b, 1, -1) }
  for i = 1, math.min(#runes_a, #runes_b) do
    if runes_a[i] ~= runes_b[i] then return differ_less(runes_a, runes_b, i) end
  end
  return #runes_a < #runes_b
end

-- Which strings need quotes -------------------------------------------------------------------

local words = {}
for word in ([[
  y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF
  ~ null Null NULL .nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF
]]):gmatch("%S+") do
  words[word] = true
end
words[""] = true

local function is_float(s)
  local mantissa = s:match("^[-+]?(.-)[eE][-+]?%d+$") or s:match("^[-+]?(.*)$")
  if not (mantissa:match("^%.%d+$") or mantissa:match("^%d+%.?%d*$")) then return false end
  local value = tonumber((s:gsub("^%+", "")))
  return value ~= math.huge and value ~= -math.huge
end

local function is_integer(s)
  local digits = s:match("^[-+]?(.*)$")
  return digits:match("^0[xX]%x+$") and #digits <= 18 or digits:match("^0[bB][01]+$")
    or digits:match("^0[oO]?[0-7]+$") or digits:match("^[1-9]%d*$") and #digits <= 19
      or digits == "0"
end

local month_days = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_date(year, month, day)
  month, day, year = tonumber(month), tonumber(day), tonumber(year)
  if month < 1 or month > 12 or day < 1 or day > month_days[month] then return false end
  local leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  return leap or month ~= 2 or day <= 28
end

local function is_zone(zone)
  if zone == "Z" then return true end
  local hour, minute = zone:match("^[-+](%d%d):(%d%d)$")
  return hour ~= nil and tonumber(hour) <= 24 and tonumber(minute) < 60
end

local function is_timestamp(s)
  local year, month, day, rest = s:match("^(%d%d%d%d)%-(%d%d?)%-(%d%d?)(.*)$")
  if not year or not is_date(year, month, day) then return false end
  if rest == "" then return true end
  local mark, hour, minute, second, tail = rest:match("^([Tt ])(%d%d?):(%d%d?):(%d%d?)(.*)$")
  if not mark or tonumber(hour) > 23 or tonumber(minute) > 59 or tonumber(second) > 59 then
    return false
  end
  local zone = tail:gsub("^[.,]%d+", "")
  if mark == " " then return zone == "" end
  return is_zone(zone)
end

local function is_base60(s)
  return s:find(":", 1, true) and s:match("^[-+]?%d[%d_]*:[%d:_.]*$")
    and not s:gsub("^[-+]?%d[%d_]*", ""):gsub("%.[%d_]*$", ""):gsub(":[0-5]?%d", ""):find(".")
end

--- Whether go-yaml reads the bare text as something else than this string.
local function ambiguous(s)
  if words[s] then return true end
  local first = s:sub(1, 1)
  if first == "." then return is_float(s) end
  if not first:match("[-+%d]") then return false end
  local plain = s:gsub("_", "")
  return is_timestamp(s) or is_integer(plain) or is_float(plain) or is_base60(s)
end

-- What a scalar may look like -----------------------------------------------------------------

local function is_printable(code)
  return code == 0x0A or code >= 0x20 and code <= 0x7E or code >= 0xA0 and code < 0xD800
    or code >= 0xE000 and code <= 0xFFFD and code ~= 0xFEFF
end

local breaks = { [0x0A] = true, [0x0D] = true, [0x85] = true, [0x2028] = true, [0x2029] = true }

local first_indicator, first_if_blank, later_indicator = {}, {}, {}
for c in ("#,[]{}&*!|>'\"%@`"):gmatch(".") do first_indicator[c:byte()] = true end
for c in ("?:-"):gmatch(".") do first_if_blank[c:byte()] = true end
later_indicator[(":"):byte()] = "followed"
later_indicator[("#"):byte()] = "preceded"

local function is_blank(code) return code == nil or code == 0x20 or code == 0x09 end

-- Whether a character at `i` forbids the plain style.
local function is_indicator(runes, i, preceded)
  local code = runes[i]
  local followed = is_blank(runes[i + 1])
  if i == 1 then
    return first_indicator[code] or first_if_blank[code] and followed
  end
  local rule = later_indicator[code]
  return rule == "followed" and followed or rule == "preceded" and preceded
end

-- go-yaml's analysis: { plain, single, block, multiline } allowed.
local function analyze(s)
  if s == "" then return { plain = true, single = true, block = false } end
  local runes = { utf8.codepoint(s, 1, -1) }
  local a = { plain = true, single = true, block = true, multiline = false }
  local special, space_break, break_space = false, false, false
  local previous
  if s:match("^%-%-%-") or s:match("^%.%.%.") then a.plain = false end
  for i, code in ipairs(runes) do
    local preceded = i == 1 or is_blank(runes[i - 1]) or breaks[runes[i - 1]]
    if is_indicator(runes, i, preceded) then a.plain = false end
    if not is_printable(code) then special = true end
    if code == 0x20 then
      break_space = break_space or previous == "break"
      previous = "space"
    elseif breaks[code] then
      a.multiline = true
      space_break = space_break or previous == "space"
      previous = "break"
    else
      previous = nil
    end
  end
  local first, last = runes[1], runes[#runes]
  if first == 0x20 or breaks[first] or last == 0x20 or breaks[last] or a.multiline then
    a.plain = false
  end
  if last == 0x20 then a.block = false end
  if break_space then a.plain, a.single = false, false end
  if space_break or special then a.plain, a.single, a.block = false, false, false end
  return a
end

-- Writing -------------------------------------------------------------------------------------

local Writer = {}
Writer.__index = Writer

function Writer:put(text)
  self.parts[#self.parts + 1] = text
  local tail = text:match("\n([^\n]*)$")
  if tail then self.column = utf8.len(tail)
    or #tail else self.column = self.column + (utf8.len(text) or #text) end
end

-- A new line with the indent, unless the line has only just begun.
function Writer:line(indent)
  if self.column > 0 or #self.parts == 0 then
    if #self.parts > 0 then self:put("\n") end
  end
  if indent > 0 then self:put((" "):rep(indent)) end
end

function Writer:fold(indent)
  self:put("\n" .. (" "):rep(indent))
end

-- Words and the spaces between them; a single space past the margin becomes a line break.
function Writer:folded(s, indent, may_fold)
  local at = 1
  while at <= #s do
    local from, to = s:find(" +", at)
    if not from then
      self:put(s:sub(at))
      return
    end
    if from > at then self:put(s:sub(at, from - 1)) end
    if may_fold and from == to and from > 1 and to < #s and self.column > WIDTH then
      self:fold(indent)
    else
      self:put(s:sub(from, to))
    end
    at = to + 1
  end
end

local double_escapes = { [0] = "\\0", [7] = "\\a", [8] = "\\b", [9] = "\\t", [10] = "\\n",
  [11] = "\\v", [12] = "\\f", [13] = "\\r", [27] = "\\e", [34] = '\\"', [92] = "\\\\",
  [0x85] = "\\N", [0xA0] = "\\_", [0x2028] = "\\L", [0x2029] = "\\P" }

local function double_rune(code)
  local plain = is_printable(code) and not breaks[code] and code ~= 34 and code ~= 92
  if plain then return utf8.char(code) end
  local known = double_escapes[code]
  if known then return known end
  if code <= 0xFF then return ("\\x%02X"):format(code) end
  if code <= 0xFFFF then return ("\\u%04X"):format(code) end
  return ("\\U%08X"):format(code)
end

function Writer:double(s, indent, may_fold)
  self:put('"')
  local runes = { utf8.codepoint(s, 1, -1) }
  local spaces = false
  for i, code in ipairs(runes) do
    if code == 0x20 then
      if may_fold and not spaces and self.column > WIDTH and i > 1 and i < #runes then
        self:fold(indent)
        if runes[i + 1] == 0x20 then self:put("\\") end
      else
        self:put(" ")
      end
      spaces = true
    else
      self:put(double_rune(code))
      spaces = false
    end
  end
  self:put('"')
end

function Writer:literal(s, indent)
  self:put("|")
  if s:match("^[ \n]") then self:put("2") end
  if not s:match("\n$") then self:put("-") elseif s == "\n"
    or s:match("\n\n$") then self:put("+") end
  self:put("\n")
  for text, ending in s:gmatch("([^\n]*)(\n?)") do
    if text ~= "" then self:put((" "):rep(indent) .. text) end
    if ending ~= "" then self:put("\n") end
  end
end

local function style_of(s, a, simple_key)
  local style = s:find("\n", 1, true) and "literal" or ambiguous(s) and "double" or "plain"
  if simple_key and a.multiline then style = "double" end
  if style == "plain" and not a.plain then style = "single" end
  if style == "single" and not a.single then style = "double" end
  if style == "literal" and (not a.block or simple_key) then style = "double" end
  return style
end

function Writer:string(s, indent, simple_key)
  -- Most strings of charts are one plain word.
  if s:find("^%a[%w._/-]*$") and not words[s] then return self:put(s) end
  local style = style_of(s, analyze(s), simple_key)
  if style == "literal" then return self:literal(s, indent) end
  if style == "double" then return self:double(s, indent, not simple_key) end
  if style == "plain" then return self:folded(s, indent, not simple_key) end
  self:put("'")
  self:folded(s:gsub("'", "''"), indent, not simple_key)
  self:put("'")
end

local function integral(v)
  return v == math.floor(v) and v > -1e21 and v < 1e21
end

-- A float goes through JSON first: whole numbers up to 1e21 are written out and read as integers
-- while they fit into 64 bits.
local function number_text(v)
  if math.type(v) == "integer" then return tostring(v) end
  if integral(v) and v >= -2 ^ 63 and v < 2 ^ 64 then
    return (("%.0f"):format(v):gsub("^%-0$", "-0"))
  end
  return go.float_text(v, -4, 21)
end

function Writer:scalar(v, indent, simple_key)
  local kind = go.kind(v)
  if kind == "string" then return self:string(v, indent, simple_key) end
  if kind == "nil" then return self:put("null") end
  if kind == "bool" then return self:put(tostring(v)) end
  if kind == "struct" then go.fail("toYaml of %s is not supported", go.type_name(v)) end
  self:put(number_text(v))
end

-- A value behind "key:" or "-"; collections that are not empty begin on the next line for a map's
-- value (`inline` false) and on the same line in a sequence.
function Writer:value(v, indent, in_sequence)
  local kind = go.kind(v)
  if kind == "list" and #v > 0 then
    return self:list(v, in_sequence and indent + 2 or indent, in_sequence)
  end
  if kind == "map" and next(v) ~= nil then return self:map(v, indent + 2, in_sequence) end
  if kind == "list" then return self:put(" []") end
  if kind == "map" then return self:put(" {}") end
  self:put(" ")
  self:scalar(v, indent + 2, false)
end

function Writer:key(key, indent)
  if #key <= 128 and not key:find("[\n\r]") then
    self:string(key, indent + 2, true)
    return self:put(":")
  end
  self:put("? ")
  self:string(key, indent + 2, false)
  self:line(indent)
  self:put(":")
end

function Writer:map(map, indent, same_line)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = tostring(key) end
  table.sort(keys, key_less)
  for i, key in ipairs(keys) do
    if i == 1 and same_line then self:put(" ") else self:line(indent) end
    self:key(key, indent)
    self:value(map[key], indent, false)
  end
end

function Writer:list(list, indent, same_line)
  for i, item in ipairs(list) do
    if i == 1 and same_line then self:put(" ") else self:line(indent) end
    self:put("-")
    self:value(item, indent, true)
  end
end

--- The value as YAML text, with the newline at the end.
function M.encode(v)
  local writer = setmetatable({ parts = {}, column = 0 }, Writer)
  local kind = go.kind(v)
  if kind == "list" and #v > 0 then writer:list(v, 0, false)
  elseif kind == "map" and next(v) ~= nil then writer:map(v, 0, false)
  elseif kind == "list" then writer:put("[]")
  elseif kind == "map" then writer:put("{}")
  else writer:scalar(v, 2, false) end
  if writer.column > 0 then writer:put("\n") end
  return table.concat(writer.parts)
end

return M
