--- A small POSIX shell grammar: what scripts that are sent into pods are made of. Text → tree.
--
-- list: array of { pipeline, op } with op "&&", "||", ";" (how it goes on) ; pipeline: array of
-- commands ; command: { kind = "simple", assigns, words, redirects } | "for" | "if" | "loop" |
-- "group". A word is an array of parts { kind = "text" | "var" | "command" | "sum", quoted }.

local M = {}

local Parser = {}
Parser.__index = Parser

local function fail(self, what)
  error({ shell = ("sh: syntax error at %d: %s"):format(self.at, what) }, 0)
end

function Parser:peek(n)
  return self.text:sub(self.at, self.at + (n or 1) - 1)
end

function Parser:blanks()
  while true do
    local stop = self.text:match("^[ \t]+()", self.at) or self.text:match("^\\\n()", self.at)
    if not stop then break end
    self.at = stop
  end
  if self:peek() == "#" then self.at = self.text:match("^#[^\n]*()", self.at) end
end

function Parser:space()
  repeat
    self:blanks()
    local stop = self.text:match("^\n()", self.at)
    self.at = stop or self.at
  until not stop
end

-- The text up to the bracket that closes the one before `at`.
function Parser:enclosed(open, close)
  local depth, from = 1, self.at
  while self.at <= #self.text do
    local char = self:peek()
    if char == "'" then
      self.at = self.text:match("^'[^']*'()", self.at) or fail(self, "unclosed quote")
    elseif char == "\\" then
      self.at = self.at + 2
    else
      if char == open then depth = depth + 1 elseif char == close then depth = depth - 1 end
      self.at = self.at + 1
      if depth == 0 then return self.text:sub(from, self.at - 2) end
    end
  end
  return fail(self, "missing " .. close)
end

-- ${name}, ${name:-word}, ${name#pattern}, ${name##pattern}, ${name%pattern}, ${#name}
local function braced(inside)
  local length = inside:match "^#([%w_]+)$"
  if length then return { kind = "var", name = length, length = true } end
  local name, op, rest = inside:match "^([%w_@*]+)(:?[-#%%]?[#%%]?)(.*)$"
  if not name then name, op, rest = inside, "", "" end
  return { kind = "var", name = name, op = op ~= "" and op or nil, argument = rest }
end

function Parser:dollar(quoted)
  self.at = self.at + 1
  local part
  if self:peek(2) == "((" then
    self.at = self.at + 2
    local inside = self:enclosed("(", ")")
    if self:peek() ~= ")" then fail(self, "missing ))") end
    self.at = self.at + 1
    part = { kind = "sum", text = inside }
  elseif self:peek() == "(" then
    self.at = self.at + 1
    part = { kind = "command", list = M.parse(self:enclosed("(", ")")) }
  elseif self:peek() == "{" then
    self.at = self.at + 1
    part = braced(self:enclosed("{", "}"))
  else
    local name, stop = self.text:match("^([%a_][%w_]*)()", self.at)
    if not name then name, stop = self.text:match("^([%d?@*#$])()", self.at) end
    if not name then return { kind = "text", text = "$", quoted = quoted } end
    self.at = stop
    part = { kind = "var", name = name }
  end
  part.quoted = quoted
  return part
end

function Parser:double_quoted(parts)
  self.at = self.at + 1
  parts[#parts + 1] = { kind = "text", text = "", quoted = true }
  while true do
    local char = self:peek()
    if char == "" then fail(self, "unclosed quote") end
    if char == '"' then break end
    if char == "$" then
      parts[#parts + 1] = self:dollar(true)
    elseif char == "\\" and self.text:find('^["\\$`\n]', self.at + 1) then
      parts[#parts + 1] = { kind = "text", text = self.text:sub(self.at + 1, self.at + 1),
                            quoted = true }
      self.at = self.at + 2
    else
      local text, stop = self.text:match('^([^"$\\]+)()', self.at)
      parts[#parts + 1] = { kind = "text", text = text or char, quoted = true }
      self.at = stop or self.at + 1
    end
  end
  self.at = self.at + 1
end

local PLAIN = "^([^%s\"'$\\;&|<>(){}#]+)()"

--- A word, or nil if none stands here.
function Parser:word()
  local parts = {}
  while true do
    local char = self:peek()
    if char == "'" then
      local text, stop = self.text:match("^'([^']*)'()", self.at)
      if not text then fail(self, "unclosed quote") end
      parts[#parts + 1], self.at = { kind = "text", text = text, quoted = true }, stop
    elseif char == '"' then
      self:double_quoted(parts)
    elseif char == "$" then
      parts[#parts + 1] = self:dollar(false)
    elseif char == "\\" and self:peek(2) ~= "\\\n" and self.at < #self.text then
      parts[#parts + 1] = { kind = "text", text = self.text:sub(self.at + 1, self.at + 1),
                            quoted = true }
      self.at = self.at + 2
    else
      local text, stop = self.text:match(PLAIN, self.at)
      if not text and (char == "{" or char == "}" or char == "#") and #parts > 0 then
        text, stop = char, self.at + 1
      end
      if not text then break end
      parts[#parts + 1], self.at = { kind = "text", text = text }, stop
    end
  end
  return #parts > 0 and parts or nil
end

-- [n]>file, [n]>&m, [n]<file, >>file
function Parser:redirect()
  local fd, op, stop = self.text:match("^(%d?)(>>?&?)()", self.at)
  if not fd then fd, op, stop = self.text:match("^(%d?)(<>?)()", self.at) end
  if not fd then return nil end
  self.at = stop
  self:blanks()
  local target = self:word() or fail(self, "redirection without a target")
  return { fd = tonumber(fd) or (op:sub(1, 1) == "<" and 0 or 1), op = op, target = target }
end

local RESERVED = { ["do"] = true, done = true, ["then"] = true, ["else"] = true, elif = true,
                   fi = true }

-- The bare text of a word without any quoting, or nil.
local function bare(word)
  if #word == 1 and word[1].kind == "text" and not word[1].quoted then return word[1].text end
  return nil
end

function Parser:keyword()
  return self.text:match("^(%l+)%f[^%w_=]", self.at)
end

function Parser:expect(word)
  self:space()
  if self:keyword() ~= word then fail(self, word .. " expected") end
  self.at = self.at + #word
end

local function assignment(word)
  local first = word[1]
  if first.kind ~= "text" or first.quoted then return nil end
  local name, rest = first.text:match "^([%a_][%w_]*)=(.*)$"
  if not name then return nil end
  local value = { { kind = "text", text = rest, quoted = true } }
  for i = 2, #word do value[i] = word[i] end
  return { name = name, value = value }
end

function Parser:simple()
  local command = { kind = "simple", assigns = {}, words = {}, redirects = {} }
  while true do
    self:blanks()
    local redirect = self:redirect()
    if redirect then
      table.insert(command.redirects, redirect)
    else
      local word = self:word()
      if not word then break end
      local assign = #command.words == 0 and assignment(word)
      if assign then
        table.insert(command.assigns, assign)
      else
        table.insert(command.words, word)
      end
    end
  end
  if #command.words + #command.assigns + #command.redirects == 0 then return nil end
  return command
end

function Parser:for_loop()
  self:blanks()
  local name = bare(self:word() or fail(self, "name expected"))
  local words
  self:space()
  if self:keyword() == "in" then
    self.at = self.at + 2
    words = {}
    while true do
      self:blanks()
      local word = self:word()
      if not word then break end
      words[#words + 1] = word
    end
  end
  self:blanks()
  if self:peek() == ";" then self.at = self.at + 1 end
  self:expect "do"
  local body = self:list()
  self:expect "done"
  return { kind = "for", name = name, words = words, body = body, redirects = {} }
end

function Parser:condition()
  local branches, otherwise = {}, nil
  local test = self:list()
  self:expect "then"
  branches[1] = { test, self:list() }
  self:space()
  while self:keyword() == "elif" do
    self.at = self.at + 4
    local another = self:list()
    self:expect "then"
    branches[#branches + 1] = { another, self:list() }
    self:space()
  end
  if self:keyword() == "else" then
    self.at = self.at + 4
    otherwise = self:list()
  end
  self:expect "fi"
  return { kind = "if", branches = branches, otherwise = otherwise, redirects = {} }
end

function Parser:loop(negated)
  local test = self:list()
  self:expect "do"
  local body = self:list()
  self:expect "done"
  return { kind = "loop", test = test, body = body, negated = negated, redirects = {} }
end

function Parser:group(close)
  self.at = self.at + 1
  local body = self:list()
  self:space()
  if self:peek() ~= close then fail(self, close .. " expected") end
  self.at = self.at + 1
  return { kind = "group", body = body, sub = close == ")", redirects = {} }
end

local COMPOUND = {
  ["for"] = Parser.for_loop, ["if"] = Parser.condition,
  ["while"] = function (self) return self:loop(false) end,
  ["until"] = function (self) return self:loop(true) end,
}

function Parser:command()
  self:blanks()
  local char, word = self:peek(), self:keyword()
  local command
  if char == "{" or char == "(" then
    command = self:group(char == "{" and "}" or ")")
  elseif word and COMPOUND[word] then
    self.at = self.at + #word
    command = COMPOUND[word](self)
  elseif word and RESERVED[word] then
    return nil
  else
    return self:simple()
  end
  self:blanks()
  local redirect = self:redirect()
  while redirect do
    table.insert(command.redirects, redirect)
    self:blanks()
    redirect = self:redirect()
  end
  return command
end

function Parser:pipeline()
  self:blanks()
  local negated = self.text:match("^!%s+()", self.at)
  self.at = negated or self.at
  local commands = { negated = negated ~= nil }
  repeat
    local command = self:command()
    if not command then break end
    commands[#commands + 1] = command
    self:blanks()
    local piped = self.text:match("^|%f[^|]()", self.at)
    self.at = piped or self.at
    if piped then self:space() end
  until not piped
  return #commands > 0 and commands or nil
end

function Parser:list()
  local items = {}
  while true do
    self:space()
    local pipeline = self:pipeline()
    if not pipeline then break end
    local item = { pipeline = pipeline, op = ";" }
    items[#items + 1] = item
    self:blanks()
    local op = self.text:match("^(&&)", self.at) or self.text:match("^(||)", self.at)
    if op then
      item.op = op
      self.at = self.at + 2
    else
      self.at = self.text:match("^[;&\n]()", self.at) or self.at
    end
  end
  return items
end

local function parse(text)
  local parser = setmetatable({ text = text, at = 1 }, Parser)
  local list = parser:list()
  parser:space()
  if parser.at <= #text then fail(parser, "near " .. text:sub(parser.at, parser.at + 20)) end
  return list
end

-- The same few scripts run again and again. Who runs a tree does not change it.
local parsed = setmetatable({}, { __mode = "v" })

--- Parses a script; raises { shell = message } for what this grammar does not have.
function M.parse(text)
  local list = parsed[text] or parse(text)
  parsed[text] = list
  return list
end

return M
