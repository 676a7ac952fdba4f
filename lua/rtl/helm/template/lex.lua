--- Tokens of Go's text/template, as far as charts use it.
-- A token is { kind, text, line, value }: kinds are text, left, right, space, number, string, char,
-- ident, keyword, field (".name"), variable ("$" or "$name"), dot, and the marks | := = , ( ).

local M = {}

local keywords = {}
for word in ("block break continue define else end if nil range template with"):gmatch("%S+") do
  keywords[word] = true
end

local function fail(lexer, format, ...)
  error({ helm = format:format(...), line = lexer.line }, 0)
end

local function add(lexer, kind, text, value)
  lexer.tokens[#lexer.tokens + 1] = { kind = kind, text = text, line = lexer.line, value = value }
end

-- Goes on by `count` bytes that may hold line breaks.
local function advance(lexer, count)
  local source, stop = lexer.source, lexer.at + count
  local at = source:find("\n", lexer.at, true)
  while at and at < stop do
    lexer.line = lexer.line + 1
    at = source:find("\n", at + 1, true)
  end
  lexer.at = stop
end

-- Goes on by `count` bytes on the same line.
local function skip(lexer, count)
  lexer.at = lexer.at + count
end

local escapes = { a = "\a", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v",
  ["\\"] = "\\",
  ["'"] = "'", ['"'] = '"' }

-- One escape sequence at `at` (behind the backslash): its bytes and the position after it.
local function unescape(lexer, text, at)
  local c = text:sub(at, at)
  if escapes[c] then return escapes[c], at + 1 end
  local patterns = { x = "^%x%x", u = "^%x%x%x%x", U = "^%x%x%x%x%x%x%x%x" }
  local hex = patterns[c] and text:match(patterns[c], at + 1)
  if hex then
    local code = tonumber(hex, 16)
    return c == "x" and string.char(code) or utf8.char(code), at + 1 + #hex
  end
  local octal = text:match("^[0-7][0-7][0-7]", at)
  if octal and tonumber(octal, 8) < 256 then return string.char(tonumber(octal, 8)), at + 3 end
  fail(lexer, "unknown escape \\%s in a quoted string", c)
end

local function unquote(lexer, text)
  local parts, at = {}, 1
  while at <= #text do
    local plain = text:match("^[^\\]+", at)
    if plain then
      parts[#parts + 1], at = plain, at + #plain
    else
      parts[#parts + 1], at = unescape(lexer, text, at + 1)
    end
  end
  return table.concat(parts)
end

-- The end of a quoted run that began at lexer.at: position of the closing mark.
local function closing(lexer, mark)
  local at = lexer.at + 1
  while true do
    local c = lexer.source:sub(at, at)
    if c == "" or c == "\n" then fail(lexer, "unterminated quoted string") end
    if c == mark then return at end
    at = at + (c == "\\" and 2 or 1)
  end
end

local function lex_quoted(lexer)
  local mark = lexer.source:sub(lexer.at, lexer.at)
  local stop = closing(lexer, mark)
  local text = lexer.source:sub(lexer.at + 1, stop - 1)
  local value = unquote(lexer, text)
  if mark == "'" then
    local ok, code = pcall(utf8.codepoint, value)
    if not ok or utf8.len(value) ~= 1 then
      fail(lexer, "malformed character constant: '%s'", text)
    end
    add(lexer, "number", "'" .. text .. "'", code)
  else
    add(lexer, "string", '"' .. text .. '"', value)
  end
  advance(lexer, stop - lexer.at + 1)
end

local function lex_raw(lexer)
  local stop = lexer.source:find("`", lexer.at + 1, true)
  if not stop then fail(lexer, "unterminated raw quoted string") end
  local text = lexer.source:sub(lexer.at + 1, stop - 1)
  add(lexer, "string", "`" .. text .. "`", (text:gsub("\r", "")))
  advance(lexer, stop - lexer.at + 1)
end

local function number_value(text)
  local sign, rest = text:match("^([-+]?)(.*)$")
  rest = rest:gsub("_", "")
  local value
  if rest:match("^0[oO]?[0-7]+$") then value = tonumber((rest:gsub("^0[oO]?", "")), 8)
  elseif rest:match("^0[bB][01]+$") then value = tonumber(rest:sub(3), 2)
  elseif rest:match("^0[xX]%x+$") then value = math.tointeger(tonumber(rest))
  elseif rest:match("^%d+$") then value = math.tointeger(tonumber(rest))
  else
    value = tonumber(rest)
    if value then value = value + 0.0 end
    -- Go's constants that are whole numbers fit integers: 1e3 is used as one where an int is
    -- wanted.
    if value and rest:match("^[%d.]+[eE]") and math.tointeger(value) then
      value = math.tointeger(value)
    end
  end
  if value and sign == "-" then value = -value end
  return value
end

local function lex_number(lexer, text)
  local value = number_value(text)
  if value == nil then fail(lexer, "bad number syntax: %q", text) end
  add(lexer, "number", text, value)
  skip(lexer, #text)
end

local WORD = "^[%a_\128-\255][%w_\128-\255]*"

local function lex_word(lexer)
  local word = lexer.source:match(WORD, lexer.at)
  if word == "true" or word == "false" then
    add(lexer, "bool", word, word == "true")
  else
    add(lexer, keywords[word] and "keyword" or "ident", word)
  end
  skip(lexer, #word)
end

local function lex_dot(lexer)
  local source, at = lexer.source, lexer.at
  local name = source:match(WORD, at + 1)
  if name then
    add(lexer, "field", "." .. name, name)
    return skip(lexer, #name + 1)
  end
  local number = source:match("^%.%d[%w_.]*", at)
  if number then return lex_number(lexer, number) end
  add(lexer, "dot", ".")
  skip(lexer, 1)
end

local function lex_sign_or_number(lexer)
  local text = lexer.source:match("^[-+]?%d[%w_.]*", lexer.at)
  if not text then
    fail(lexer, "unexpected %q in an action", lexer.source:sub(lexer.at, lexer.at))
  end
  local exponent = text:match("[eE]$") and not text:match("^[-+]?0[xX]")
    and lexer.source:match("^[-+]%d+", lexer.at + #text)
  lex_number(lexer, text .. (exponent or ""))
end

local function lex_space(lexer)
  local space = lexer.source:match("^[ \t\r\n]+", lexer.at)
  add(lexer, "space", space)
  advance(lexer, #space)
end

local function lex_variable(lexer)
  local name = lexer.source:match("^[%w_\128-\255]*", lexer.at + 1)
  add(lexer, "variable", "$" .. name)
  skip(lexer, #name + 1)
end

local function lex_declaration(lexer)
  if lexer.source:byte(lexer.at + 1) ~= 61 then fail(lexer, "expected :=") end
  add(lexer, ":=", ":=")
  skip(lexer, 2)
end

local function lex_mark(lexer)
  local mark = lexer.source:sub(lexer.at, lexer.at)
  add(lexer, mark, mark)
  skip(lexer, 1)
end

-- What lexes a token, by its first byte.
local by_byte = { [34] = lex_quoted, [39] = lex_quoted, [96] = lex_raw, [46] = lex_dot,
  [36] = lex_variable, [58] = lex_declaration }
for byte in (" \t\r\n"):gmatch(".") do by_byte[byte:byte()] = lex_space end
for byte in ("|=,()"):gmatch(".") do by_byte[byte:byte()] = lex_mark end
for byte = 0, 255 do
  local c = string.char(byte)
  if c:match("[%a_]") or byte >= 128 then by_byte[byte] = lex_word end
end

-- One token inside an action.
local function lex_inside(lexer)
  local byte = lexer.source:byte(lexer.at)
  if not byte then fail(lexer, "unclosed action") end
  local lex = by_byte[byte] or lex_sign_or_number
  lex(lexer)
end

-- Skips a comment behind the left delimiter; whether there was one, and whether it trims after.
local function skip_comment(lexer)
  if lexer.source:sub(lexer.at, lexer.at + 1) ~= "/*" then return false end
  local stop = lexer.source:find("*/", lexer.at + 2, true)
  if not stop then fail(lexer, "unclosed comment") end
  advance(lexer, stop + 2 - lexer.at)
  local trim = lexer.source:match("^[ \t\r\n]+%-}}", lexer.at)
  if not trim and lexer.source:sub(lexer.at, lexer.at + 1) ~= "}}" then
    fail(lexer, "comment ends before closing delimiter")
  end
  advance(lexer, trim and #trim or 2)
  return true, trim ~= nil
end

local function skip_space(lexer)
  local space = lexer.source:match("^[ \t\r\n]+", lexer.at)
  if space then advance(lexer, #space) end
end

-- The length of the right delimiter here, and whether it trims what follows; nil if there is none.
local function right_delimiter(lexer)
  local source, at = lexer.source, lexer.at
  local byte = source:byte(at)
  if byte == 125 then return source:byte(at + 1) == 125 and 2 or nil end
  if byte ~= 32 and byte ~= 10 and byte ~= 9 and byte ~= 13 then return nil end
  local stop = source:match("^[ \t\r\n]+%-}}()", at)
  return stop and stop - at, true
end

-- An action, from its left delimiter to behind the right one.
local function lex_action(lexer)
  advance(lexer, 2)
  if lexer.source:match("^%-[ \t\r\n]", lexer.at) then advance(lexer, 2) end
  if lexer.source:match("^[ \t\r\n]*/%*", lexer.at) and lexer.source:match("^/%*", lexer.at) then
    local _, trim = skip_comment(lexer)
    if trim then skip_space(lexer) end
    return
  end
  add(lexer, "left", "{{")
  local closed, trim = right_delimiter(lexer)
  while not closed do
    lex_inside(lexer)
    closed, trim = right_delimiter(lexer)
  end
  add(lexer, "right", "}}")
  advance(lexer, closed)
  if trim then skip_space(lexer) end
end

local function lex_text(lexer, stop)
  local text = lexer.source:sub(lexer.at, stop - 1)
  local trim = lexer.source:match("^{{%-[ \t\r\n]", stop)
  local kept = trim and text:gsub("[ \t\r\n]+$", "") or text
  if kept ~= "" then add(lexer, "text", kept) end
  advance(lexer, #text)
end

--- The tokens of a template text. Raises { helm = message, line = n } on bad syntax.
function M.tokens(source)
  local lexer = { source = source, at = 1, line = 1, tokens = {} }
  while lexer.at <= #source do
    local stop = source:find("{{", lexer.at, true)
    lex_text(lexer, stop or #source + 1)
    if stop then lex_action(lexer) end
  end
  add(lexer, "eof", "")
  return lexer.tokens
end

return M
