--- The tree of a template: nodes that rtl.helm.template.exec walks. Lists hold nodes { t = "text" |
-- "action" | "if" | "with" | "range" | "template" | "break" | "continue", line, … }; a pipeline is
-- { decl, assign, cmds, line }; an operand { t = "field" | "var" | "chain" | "dot" | "nil" |
-- "const" | "ident" | "pipe", … }.

local lex = require "rtl.helm.template.lex"

local M = {}

local Parser = {}
Parser.__index = Parser

local function fail(token, format, ...)
  error({ helm = format:format(...), line = token.line }, 0)
end

function Parser:peek() return self.tokens[self.at] end

function Parser:next()
  local token = self.tokens[self.at]
  self.at = self.at + 1
  return token
end

function Parser:skip_space()
  while self:peek().kind == "space" do self.at = self.at + 1 end
  return self:peek()
end

function Parser:expect(kind, context)
  self:skip_space()
  local token = self:next()
  if token.kind ~= kind then fail(token, "unexpected %s in %s", token.text, context) end
  return token
end

local function known_variable(parser, token, name)
  for i = #parser.vars, 1, -1 do
    if parser.vars[i] == name then return end
  end
  fail(token, "undefined variable %q", name)
end

-- Operands ------------------------------------------------------------------------------------

local pipeline

local function term(parser)
  local token = parser:next()
  local kind = token.kind
  if kind == "ident" then
    if not parser.has_function(token.text) then fail(token, "function %q not defined",
      token.text) end
    return { t = "ident", name = token.text, line = token.line }
  elseif kind == "dot" then return { t = "dot", line = token.line }
  elseif kind == "keyword" and token.text == "nil" then return { t = "nil", line = token.line }
  elseif kind == "variable" then
    known_variable(parser, token, token.text)
    return { t = "var", name = token.text, fields = {}, line = token.line }
  elseif kind == "field" then return { t = "field", fields = { token.value }, line = token.line }
  elseif kind == "bool" or kind == "number" or kind == "string" then
    return { t = "const", value = token.value, text = token.text, line = token.line }
  elseif kind == "(" then return { t = "pipe",
    pipe = pipeline(parser, "parenthesized pipeline", ")"), line = token.line }
  end
  parser.at = parser.at - 1
end

local function operand(parser)
  local node = term(parser)
  if not node or parser:peek().kind ~= "field" then return node end
  local first = parser:peek()
  local fields = {}
  while parser:peek().kind == "field" do fields[#fields + 1] = parser:next().value end
  if node.t == "field" or node.t == "var" then
    table.move(fields, 1, #fields, #node.fields + 1, node.fields)
    return node
  end
  if node.t == "const" or node.t == "nil" then
    fail(first, "unexpected . after term %s", node.text or "nil")
  end
  return { t = "chain", node = node, fields = fields, line = node.line }
end

-- Words up to a "|" or the end of the pipeline.
local function command(parser)
  local cmd = { args = {}, line = parser:peek().line }
  while true do
    parser:skip_space()
    local node = operand(parser)
    if node then cmd.args[#cmd.args + 1] = node end
    local token = parser:next()
    if token.kind == "right" or token.kind == ")" then
      parser.at = parser.at - 1
      break
    elseif token.kind == "|" then
      cmd.piped = true
      break
    elseif token.kind ~= "space" then
      fail(token, "unexpected %s in operand", token.text)
    end
  end
  if #cmd.args == 0 then fail(parser:peek(), "empty command") end
  return cmd
end

-- Declarations --------------------------------------------------------------------------------

-- `$x :=`, `$x =`, `$i, $x :=` at the head of a pipeline; puts the position back if there is none.
local function declarations(parser, pipe, context)
  local start = parser.at
  local names = {}
  while parser:skip_space().kind == "variable" do
    names[#names + 1] = parser:next().text
    local mark = parser:skip_space()
    if mark.kind == ":=" or mark.kind == "=" then
      parser:next()
      pipe.decl, pipe.assign = names, mark.kind == "="
      for _, name in ipairs(names) do
        if pipe.assign then known_variable(parser, mark,
          name) else parser.vars[#parser.vars + 1] = name end
      end
      return
    end
    if mark.kind ~= "," or context ~= "range" or #names > 1 then break end
    parser:next()
  end
  parser.at = start
end

local function check_pipeline(pipe)
  for i = 2, #pipe.cmds do
    local first = pipe.cmds[i].args[1]
    if first.t == "const" or first.t == "dot" or first.t == "nil" then
      fail(first, "non executable command in pipeline stage %d", i)
    end
  end
end

function pipeline(parser, context, stop)
  local pipe = { cmds = {}, line = parser:skip_space().line }
  declarations(parser, pipe, context)
  while true do
    local token = parser:skip_space()
    if token.kind == stop then
      parser:next()
      if #pipe.cmds == 0 then fail(token, "missing value for %s", context) end
      if pipe.cmds[#pipe.cmds].piped then fail(token, "missing value after | in %s", context) end
      check_pipeline(pipe)
      return pipe
    end
    if token.kind == "eof" then fail(token, "unclosed action") end
    if token.kind == "right" or token.kind == ")" then
      fail(token, "unexpected %s in %s", token.text, context)
    end
    pipe.cmds[#pipe.cmds + 1] = command(parser)
  end
end

-- Actions -------------------------------------------------------------------------------------

local item_list

-- `if`, `with`, `range` from behind their keyword to behind their end.
local function control(parser, kind, line)
  local mark = #parser.vars
  local node = { t = kind, line = line, pipe = pipeline(parser, kind, "right") }
  if kind == "range" then parser.loops = parser.loops + 1 end
  local stop
  node.list, stop = item_list(parser)
  if kind == "range" then parser.loops = parser.loops - 1 end
  if stop == "else" then
    local token = parser:skip_space()
    if token.kind == "keyword" and (token.text == "if" or token.text == "with")
      and token.text == kind then
      parser:next()
      node.otherwise = { control(parser, token.text, token.line) }
      stop = "end"
    else
      parser:expect("right", "else")
      node.otherwise, stop = item_list(parser)
    end
  end
  if stop ~= "end" then fail(parser:peek(), "unexpected {{%s}} in %s", stop, kind) end
  for i = #parser.vars, mark + 1, -1 do parser.vars[i] = nil end
  return node
end

local function name_of(parser, context)
  local token = parser:expect("string", context)
  return token.value
end

local function template_call(parser, line)
  local name = name_of(parser, "template clause")
  if parser:skip_space().kind == "right" then
    parser:next()
    return { t = "template", name = name, line = line }
  end
  return { t = "template", name = name, pipe = pipeline(parser, "template clause", "right"),
    line = line }
end

-- A body with variables of its own, up to its end: for define and block.
local function body(parser, context)
  local outer, loops = parser.vars, parser.loops
  parser.vars, parser.loops = { "$" }, 0
  local list, stop = item_list(parser)
  if stop ~= "end" then fail(parser:peek(), "unexpected {{%s}} in %s", stop, context) end
  parser.vars, parser.loops = outer, loops
  return list
end

-- Notes a definition; `name` is false for the text's own body.
local function define(parser, name, list)
  local empty = true
  for _, node in ipairs(list) do
    if node.t ~= "text" or node.text:find("[^ \t\r\n]") then empty = false end
  end
  table.insert(parser.definitions, { name = name, list = list, empty = empty })
end

local function definition(parser)
  local name = name_of(parser, "define clause")
  parser:expect("right", "define clause")
  define(parser, name, body(parser, "define clause"))
end

local function block(parser, line)
  local name = name_of(parser, "block clause")
  local pipe = pipeline(parser, "block clause", "right")
  define(parser, name, body(parser, "block clause"))
  return { t = "template", name = name, pipe = pipe, line = line }
end

local function leave(parser, token)
  if parser.loops == 0 then fail(token, "{{%s}} outside {{range}}", token.text) end
  parser:expect("right", token.text)
  return { t = token.text, line = token.line }
end

-- The node of one action; nil and the word for `end` and `else`; false for a definition.
local function action(parser)
  local token = parser:skip_space()
  if token.kind == "keyword" and token.text ~= "nil" then
    parser:next()
    local word = token.text
    if word == "if" or word == "with" or word == "range" then
      return control(parser, word, token.line)
    end
    if word == "template" then return template_call(parser, token.line) end
    if word == "block" then return block(parser, token.line) end
    if word == "define" then
      definition(parser)
      return false
    end
    if word == "break" or word == "continue" then return leave(parser, token) end
    if word == "end" then parser:expect("right", "end") end
    return nil, word
  end
  return { t = "action", line = token.line, pipe = pipeline(parser, "command", "right") }
end

-- Nodes up to an `end`, an `else` or the end of the text, and which of these it was.
function item_list(parser)
  local list = {}
  while true do
    local token = parser:next()
    if token.kind == "eof" then
      parser.at = parser.at - 1
      return list, "EOF"
    elseif token.kind == "text" then
      list[#list + 1] = { t = "text", text = token.text, line = token.line }
    else
      local node, stop = action(parser)
      if stop then return list, stop end
      if node then list[#list + 1] = node end
    end
  end
end

-- The definitions of a text, in order. A chart is rendered for the plan and again to install it:
-- what was parsed once is kept, up to a number of texts.
local kept, count, MOST = {}, 0, 400

local function definitions_of(source, has_function)
  if kept[source] then return kept[source] end
  local parser = setmetatable({ tokens = lex.tokens(source), at = 1, definitions = {},
    has_function = has_function, vars = { "$" }, loops = 0 }, Parser)
  local list, stop = item_list(parser)
  if stop ~= "EOF" then fail(parser.tokens[parser.at - 1], "unexpected {{%s}}", stop) end
  define(parser, false, list)
  if count >= MOST then kept, count = {}, 0 end
  kept[source], count = parser.definitions, count + 1
  return parser.definitions
end

--- Parses `source` of `file` and puts its templates by name into `defines`; its own body goes under
-- `name`. `has_function(name)` says which functions exist. Raises { helm, line, file }.
function M.parse(source, file, name, defines, has_function)
  local ok, definitions = pcall(definitions_of, source, has_function)
  if not ok then
    local problem = definitions
    if type(problem) == "table" and problem.helm then problem.file = problem.file or file end
    error(problem, 0)
  end
  for _, d in ipairs(definitions) do
    local known = d.name or name
    -- An empty definition does not replace one that is there (Go's rule).
    if not (d.empty and defines[known]) then
      defines[known] = { name = known, file = file, list = d.list }
    end
  end
end

return M
