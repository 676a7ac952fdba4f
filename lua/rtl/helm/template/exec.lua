--- Walks the tree of a template and writes its text: Go's text/template with helm's options
-- (a missing key of a map is nil and prints as "<no value>").

local go = require "rtl.helm.go"
local null = require "rtl.null"

local M = {}

local MAX_DEPTH = 1000

local function fail(node, format, ...)
  error({ helm = select("#", ...) > 0 and format:format(...) or format, line = node.line }, 0)
end

-- Fields --------------------------------------------------------------------------------------

-- `.name` of a receiver, with arguments if it is called as a method.
local function field(node, receiver, name, args)
  local kind = go.kind(receiver)
  local mt = go.meta(receiver)
  local method = mt and mt.methods[name]
  if method then return method(receiver, table.unpack(args or {}, 1, args and args.n or 0)) end
  if args and args.n > 0 then fail(node, "%s is not a method but has arguments", name) end
  if kind == "map" then
    local value = receiver[name]
    if value == nil then return null end
    return value
  elseif kind == "struct" then
    if receiver[name] ~= nil then return receiver[name] end
    fail(node, "can't evaluate field %s in type %s", name, go.type_name(receiver))
  elseif kind == "nil" then
    fail(node, "nil pointer evaluating interface {}.%s", name)
  end
  fail(node, "can't evaluate field %s in type %s", name, go.type_name(receiver))
end

-- With `lenient`, nothing has no fields and that is no error: Go forgives it for what comes out of
-- a pipeline, a variable or the template's data, and only for these.
local function fields(node, receiver, names, args, lenient)
  if lenient and receiver == null and #names > 0 then return null end
  for i, name in ipairs(names) do
    receiver = field(node, receiver, name, i == #names and args or nil)
  end
  return receiver
end

-- Variables -----------------------------------------------------------------------------------

local function variable(state, node)
  for i = #state.vars, 1, -1 do
    if state.vars[i].name == node.name then return state.vars[i].value end
  end
  fail(node, "undefined variable %q", node.name)
end

local function assign(state, node, name, value)
  for i = #state.vars, 1, -1 do
    if state.vars[i].name == name then
      state.vars[i].value = value
      return
    end
  end
  fail(node, "undefined variable %q", name)
end

local function declare(state, name, value)
  state.vars[#state.vars + 1] = { name = name, value = value }
end

local function forget(state, mark)
  for i = #state.vars, mark + 1, -1 do state.vars[i] = nil end
end

-- Operands and commands -----------------------------------------------------------------------

local pipeline

local function operand(state, dot, node)
  local t = node.t
  if t == "const" then return node.value end
  if t == "dot" then return dot end
  if t == "field" then return fields(node, dot, node.fields, nil, dot == state.vars[1].value) end
  if t == "var" then return fields(node, variable(state, node), node.fields, nil, true) end
  if t == "pipe" then return pipeline(state, dot, node.pipe) end
  if t == "chain" then
    return fields(node, operand(state, dot, node.node), node.fields, nil, true)
  end
  if t == "nil" then return null end
  return state.call(state, node, node.name, { n = 0 })
end

-- The arguments of a command behind its first word, plus what comes through the pipe.
local function arguments(state, dot, cmd, piped)
  local args = { n = #cmd.args - 1 }
  for i = 2, #cmd.args do args[i - 1] = operand(state, dot, cmd.args[i]) end
  if piped then
    args.n = args.n + 1
    args[args.n] = piped[1]
  end
  return args
end

-- `and` and `or` look at their arguments one by one.
local function short_circuit(state, dot, cmd, piped, stop_at)
  local value
  for i = 2, #cmd.args do
    value = operand(state, dot, cmd.args[i])
    if go.truth(value) == stop_at then return value end
  end
  if piped then return piped[1] end
  if value == nil then
    fail(cmd, "wrong number of args for %s: want at least 1 got 0", cmd.args[1].name)
  end
  return value
end

local function command(state, dot, cmd, piped)
  local first = cmd.args[1]
  if first.t == "ident" then
    if first.name == "and" then return short_circuit(state, dot, cmd, piped, false) end
    if first.name == "or" then return short_circuit(state, dot, cmd, piped, true) end
    return state.call(state, first, first.name, arguments(state, dot, cmd, piped))
  end
  if #cmd.args == 1 and not piped then
    if first.t == "nil" then fail(first, "nil is not a command") end
    return operand(state, dot, first)
  end
  local args = arguments(state, dot, cmd, piped)
  if first.t == "field" then return fields(first, dot, first.fields, args) end
  if first.t == "var" and #first.fields > 0 then
    return fields(first, variable(state, first), first.fields, args)
  end
  if first.t == "chain" then
    return fields(first, operand(state, dot, first.node), first.fields, args)
  end
  fail(first, "can't give argument to non-function %s", first.text or first.name or "pipeline")
end

function pipeline(state, dot, pipe)
  local value, piped
  for _, cmd in ipairs(pipe.cmds) do
    value = command(state, dot, cmd, piped)
    if value == nil then value = null end
    piped = { value }
  end
  if pipe.decl and not pipe.loop then
    for _, name in ipairs(pipe.decl) do
      if pipe.assign then assign(state, pipe, name, value) else declare(state, name, value) end
    end
  end
  return value
end

-- Nodes ---------------------------------------------------------------------------------------

local walk

local function branch(state, dot, node)
  local mark = #state.vars
  local value = pipeline(state, dot, node.pipe)
  local jump
  if go.truth(value) then
    jump = walk(state, node.t == "with" and value or dot, node.list)
  elseif node.otherwise then
    jump = walk(state, dot, node.otherwise)
  end
  forget(state, mark)
  return jump
end

-- Keys and values that a range goes through, in order; nil if there is nothing.
local function elements(node, value)
  local kind = go.kind(value)
  local keys, values = {}, {}
  if kind == "list" then
    for i, item in ipairs(value) do keys[i], values[i] = i - 1, item end
  elseif kind == "map" then
    keys = go.keys(value)
    for i, key in ipairs(keys) do values[i] = value[key] end
  elseif kind == "int" then
    for i = 1, value do keys[i], values[i] = i - 1, i - 1 end
  elseif kind ~= "nil" then
    fail(node, "range can't iterate over %s", go.print_value(value))
  end
  return keys, values
end

local function bind_loop(state, node, key, value)
  local names = node.pipe.decl
  if not names then return end
  local set = node.pipe.assign and function (name, v) assign(state, node, name, v) end
    or function (name, v) declare(state, name, v) end
  if #names == 1 then
    set(names[1], value)
  else
    set(names[1], key)
    set(names[2], value)
  end
end

local function range(state, dot, node)
  local mark = #state.vars
  node.pipe.loop = true
  local keys, values = elements(node, pipeline(state, dot, node.pipe))
  local outcome
  for i, key in ipairs(keys) do
    local inner = #state.vars
    bind_loop(state, node, key, values[i])
    local jump = walk(state, values[i], node.list)
    forget(state, inner)
    if jump == "break" then break end
  end
  if #keys == 0 and node.otherwise then outcome = walk(state, dot, node.otherwise) end
  forget(state, mark)
  return outcome
end

local function printable(value)
  if value == null then return "<no value>" end
  return go.print_value(value)
end

local handlers = {}

function handlers.text(state, _, node) state.out[#state.out + 1] = node.text end

function handlers.action(state, dot, node)
  local value = pipeline(state, dot, node.pipe)
  if not node.pipe.decl then state.out[#state.out + 1] = printable(value) end
end

handlers["if"] = branch
handlers["with"] = branch
handlers.range = range
handlers["break"] = function () return "break" end
handlers["continue"] = function () return "continue" end

function handlers.template(state, dot, node)
  local value = node.pipe and pipeline(state, dot, node.pipe) or null
  if not state.defines[node.name] then fail(node, "template %q not defined", node.name) end
  M.run(state, node.name, value, state.out)
end

function walk(state, dot, list)
  for _, node in ipairs(list) do
    state.line = node.line
    local jump = handlers[node.t](state, dot, node)
    if jump then return jump end
  end
end

--- Executes template `name` with `dot` into the array `out`.
-- `state` holds defines (name → definition), call (function (state, node, name, args) → value) and
-- frames (an empty array: the templates at work, innermost last). Raises { helm = message }, with
-- the frames as they were.
function M.run(state, name, dot, out)
  local definition = state.defines[name]
  if not definition then go.fail("template: no template %q", name) end
  local frames = state.frames
  if #frames >= MAX_DEPTH then go.fail("exceeded maximum template depth (%d)", MAX_DEPTH) end
  local inner = { out = out, vars = { { name = "$", value = dot } }, definition = definition,
    defines = state.defines, call = state.call, frames = frames }
  frames[#frames + 1] = inner
  walk(inner, dot, definition.list)
  frames[#frames] = nil
end

--- Adds to an error where it happened: file, line and template.
function M.place(problem, frames)
  local inner = frames[#frames]
  if type(problem) ~= "table" or not problem.helm then return problem end
  if problem.file or not inner then return problem end
  problem.file, problem.template = inner.definition.file, inner.definition.name
  problem.line = problem.line or inner.line
  return problem
end

return M
