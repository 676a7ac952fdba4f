--- Template functions on strings (sprig). Each is { signature, function }: see rtl.helm.funcs.

local array = require "rtl.array"
local go = require "rtl.helm.go"
local re2 = require "rtl.helm.re2"

local F = {}

--- A value as sprig's strval makes it.
local function strval(v) return go.print_value(v) end

local function plain_find(s, part) return s:find(part, 1, true) ~= nil end

local function trim(s) return (s:gsub("^[%s\u{A0}]+", ""):gsub("%s+$", "")) end

local function trim_set(set, s)
  local in_set = {}
  for _, code in utf8.codes(set) do in_set[utf8.char(code)] = true end
  local chars = {}
  for _, code in utf8.codes(s) do chars[#chars + 1] = utf8.char(code) end
  local first, last = 1, #chars
  while first <= last and in_set[chars[first]] do first = first + 1 end
  while last >= first and in_set[chars[last]] do last = last - 1 end
  return table.concat(chars, "", first, last)
end

local function replace(s, old, new)
  if old == "" then
    local parts = { new }
    for _, code in utf8.codes(s) do parts[#parts + 1] = utf8.char(code) .. new end
    return table.concat(parts)
  end
  local parts, at = {}, 1
  while true do
    local from, to = s:find(old, at, true)
    if not from then break end
    parts[#parts + 1] = s:sub(at, from - 1)
    at = to + 1
  end
  parts[#parts + 1] = s:sub(at)
  return table.concat(parts, new)
end

local function split(s, separator, limit)
  local out, at = {}, 1
  if separator == "" then
    for _, code in utf8.codes(s) do out[#out + 1] = utf8.char(code) end
    return out
  end
  while not limit or #out < limit - 1 do
    local from, to = s:find(separator, at, true)
    if not from then break end
    out[#out + 1] = s:sub(at, from - 1)
    at = to + 1
  end
  out[#out + 1] = s:sub(at)
  return out
end

local function indent(count, s)
  if count < 0 then go.fail("indent: negative Repeat count") end
  local pad = (" "):rep(count)
  return pad .. s:gsub("\n", "\n" .. pad)
end

-- Letters' case is known here for ASCII only; anything else is an error, not a silent difference.
local function ascii(name, convert)
  return function (s)
    if s:find("[\128-\255]") then go.fail("%s of text that is not ASCII is not supported", name) end
    return convert(s)
  end
end

-- Go's words begin behind whatever is no letter, digit or underscore, an apostrophe too.
local function titled(s) return (s:gsub("%f[%w_]%l", string.upper)) end

local function untitled(s) return (s:gsub("%f[^%s%z]%u", string.lower)) end

--- The strings of a list, without nils; a scalar is a list of one.
local function strings(v)
  local kind, out = go.kind(v), {}
  if kind == "list" then
    for _, item in ipairs(v) do
      if go.kind(item) ~= "nil" then out[#out + 1] = strval(item) end
    end
  elseif kind ~= "nil" then
    out[1] = strval(v)
  end
  return array(out)
end

local function numbered(parts)
  local map = {}
  for i, part in ipairs(parts) do map["_" .. i - 1] = part end
  return map
end

local function substring(first, last, s)
  if first < 0 then return s:sub(1, last) end
  if last < 0 or last > #s then return s:sub(first + 1) end
  return s:sub(first + 1, last)
end

local function truncate(count, s)
  if count < 0 then return #s + count > 0 and s:sub(count) or s end
  return s:sub(1, count)
end

local function join_present(args, show)
  local parts = {}
  for i = 1, args.n do
    if go.kind(args[i]) ~= "nil" then parts[#parts + 1] = show(args[i]) end
  end
  return table.concat(parts, " ")
end

F.trunc = { "is", truncate }
F.trim = { "s", trim }
F.upper = { "s", ascii("upper", string.upper) }
F.lower = { "s", ascii("lower", string.lower) }
F.title = { "s", ascii("title", titled) }
F.untitle = { "s", ascii("untitle", untitled) }
F.substr = { "iis", substring }
F["repeat"] = { "is", function (count, s)
  if count < 0 then go.fail("repeat: negative Repeat count") end
  return s:rep(count)
end }
F.trimAll = { "ss", trim_set }
F.trimall = F.trimAll
F.trimSuffix = { "ss", function (suffix, s)
  return suffix ~= "" and s:sub(-#suffix) == suffix and s:sub(1, -#suffix - 1) or s
end }
F.trimPrefix = { "ss", function (prefix, s)
  return s:sub(1, #prefix) == prefix and s:sub(#prefix + 1) or s
end }
F.nospace = { "s", function (s) return (s:gsub("%s", "")) end }
F.contains = { "ss", function (part, s) return plain_find(s, part) end }
F.hasPrefix = { "ss", function (prefix, s) return s:sub(1, #prefix) == prefix end }
F.hasSuffix = { "ss", function (suffix, s) return suffix == "" or s:sub(-#suffix) == suffix end }
F.quote = { "a*", function (args)
  return join_present(args, function (v) return go.quote(strval(v)) end)
end }
F.squote = { "a*", function (args)
  return join_present(args, function (v) return "'" .. strval(v) .. "'" end)
end }
F.cat = { "a*", function (args) return trim(join_present(args, strval)) end }
F.indent = { "is", indent }
F.nindent = { "is", function (count, s) return "\n" .. indent(count, s) end }
F.replace = { "sss", function (old, new, s) return replace(s, old, new) end }
F.plural = { "ssi", function (single, many, count) return count == 1 and single or many end }
F.toString = { "a", strval }
F.toStrings = { "a", strings }
F.join = { "sa", function (separator, v) return table.concat(strings(v), separator) end }
F.split = { "ss", function (separator, s) return numbered(split(s, separator)) end }
F.splitn = { "sis", function (separator, count, s) return numbered(split(s, separator, count)) end }
F.splitList = { "ss", function (separator, s) return array(split(s, separator)) end }
F.sortAlpha = { "a", function (v)
  local list = strings(v)
  table.sort(list)
  return list
end }

-- Paths ---------------------------------------------------------------------------------------

local function clean(path)
  if path == "" then return "." end
  local rooted = path:sub(1, 1) == "/"
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      if #parts > 0 and parts[#parts] ~= ".." then parts[#parts] = nil
      elseif not rooted then parts[#parts + 1] = ".." end
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  local text = table.concat(parts, "/")
  return rooted and "/" .. text or text ~= "" and text or "."
end

local function base(path)
  if path == "" then return "." end
  return path:match("([^/]+)/*$") or "/"
end

F.base = { "s", base }
F.dir = { "s", function (path) return clean(path:match("^(.*/)") or "") end }
F.clean = { "s", clean }
F.ext = { "s", function (path) return base(path):match("%.[^.]*$") or "" end }
F.isAbs = { "s", function (path) return path:sub(1, 1) == "/" end }
F.osBase, F.osDir, F.osClean, F.osExt, F.osIsAbs = F.base, F.dir, F.clean, F.ext, F.isAbs

-- Regular expressions -------------------------------------------------------------------------

local function find_strings(pattern, s, limit)
  local out = {}
  for i, match in ipairs(re2.find_all(re2.compile(pattern), s, limit)) do
    out[i] = s:sub(match[1], match[2] - 1)
  end
  return array(out)
end

local function regex_split(pattern, s, limit)
  if limit == 0 then return array {} end
  local out, at = {}, 1
  for _, match in ipairs(re2.find_all(re2.compile(pattern), s, -1)) do
    if limit > 0 and #out == limit - 1 then break end
    if not (match[2] == 1 or match[1] == match[2] and match[1] == #s + 1) then
      out[#out + 1] = s:sub(at, match[1] - 1)
      at = match[2]
    end
  end
  out[#out + 1] = s:sub(at)
  return array(out)
end

F.regexMatch = { "ss", function (pattern, s)
  return #re2.find_all(re2.compile(pattern), s, 1) > 0
end }
F.regexFind = { "ss", function (pattern, s) return find_strings(pattern, s, 1)[1] or "" end }
F.regexFindAll = { "ssi", find_strings }
F.regexReplaceAll = { "sss", function (pattern, s, with)
  return re2.replace_all(re2.compile(pattern), s, with)
end }
F.regexReplaceAllLiteral = { "sss", function (pattern, s, with)
  return re2.replace_all(re2.compile(pattern), s, with, true)
end }
F.regexSplit = { "ssi", regex_split }
F.regexQuoteMeta = { "s", function (s) return (s:gsub("[\\.+*?()|%[%]{}^$]", "\\%0")) end }
for _, name in ipairs { "Match", "Find", "FindAll", "ReplaceAll", "ReplaceAllLiteral", "Split" } do
  F["mustRegex" .. name] = F["regex" .. name]
end

return F
