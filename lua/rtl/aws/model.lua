--- The operation tables of `rtl.aws.ops`, compiled: what a request holds and what an answer means.
--
-- A table is data only and loads in an empty environment.  Members are written as text, blank
-- between them: NAME[!][:TYPE][@WIRE]
--   !      required
--   TYPE   string (when left out) int float bool blob secret
--          time time.iso time.unix time.http (without a word: the protocol's own form): unix
--                       seconds or ISO 8601 in; out, a member of a structure: NAME a number,
--                       NAME_text what the service wrote, when it wrote text
--          token        a string that is filled in when the caller gives none
--          json urljson a table or text in, a table out; a string of JSON on the wire
--                       (urljson: percent-encoded in answers, as IAM does)
--          (a|b|c)      one of these strings
--          [T] [T*Item] [T]~   list; its XML items are named Item; flattened
--          {T} {K=T}    map of string (or K, a string with limits) to T
--          T(1..9) T(1..)  limits: of a number, or of the length of a string, list or map
--          Name         a structure of `shapes`
--   @WIRE  name on the wire; @In/out where requests and answers differ.  For ec2query a name
--          begins with a capital in requests and small in answers, unless both are given.
-- Members that stand as {label} in `path` are required strings of at least one byte and not listed
-- again; `labels` holds the types of those that are more than that, for all operations.
-- `permission` names the IAM action of an operation where it is not the operation's own name.
-- A write that has neither a token nor `repeatable` nor begins with delete_ is sent once only.
--
-- `rate` (rtl.aws.limiter): how many calls a second AWS documents; they matter once it throttles.
-- `hosts` says by partition (or for `any`) where a service's host differs from the rule in
-- rtl.aws.endpoint: forms for plain, dual, fips and fips_dual (false: AWS has none), and the one
-- `region` of a service that is not in each.

local nearest = require "rtl.nearest"
local unescape = require "rtl.aws.value".unescape

local M = {}

local FILES = {
  "autoscaling", "ec2", "eks", "elb", "elbv2", "iam", "logs", "pricing", "resource_groups", "s3",
  "scheduler", "service_quotas", "ssm", "sso", "sso_oidc", "sts", "tagging",
}

local SCALARS = {
  string = true, int = true, float = true, bool = true, time = true, blob = true, secret = true,
  token = true, json = true, urljson = true,
}

local LIST_ITEM = { ec2query = "item", awsquery = "member", ["rest-xml"] = "member" }

-- The time formats of a protocol's body; headers and query strings have their own.
local TIME = {
  ec2query = "iso", awsquery = "iso", ["rest-xml"] = "iso", json = "unix", ["rest-json"] = "unix",
  header = "http", query = "iso",
}

local function upper_first(text) return text:sub(1, 1):upper() .. text:sub(2) end
local function lower_first(text) return text:sub(1, 1):lower() .. text:sub(2) end

local compile_structure

local function compile_enum(text)
  local enum = {}
  for word in text:gmatch "[^|]+" do enum[#enum + 1] = word end
  return { kind = "string", enum = enum }
end

local function compile_scalar(svc, text, where)
  local name, format = text:match "^([%w_]+)%.?(%l*)$"
  if not SCALARS[name] then return nil end
  local shape = { kind = name }
  if name == "time" then
    shape.format = format ~= "" and format or TIME[where] or TIME[svc.protocol]
  end
  return shape
end

local compile_type

local function compile_list(svc, inner, flat, where)
  local member, item = inner:match "^(.-)%*([%w_-]+)$"
  return {
    kind = "list", member = compile_type(svc, member or inner, where), flat = flat,
    item = item or LIST_ITEM[svc.protocol],
  }
end

local function compile_map(svc, inner, where)
  local key, member = inner:match "^([^{}=]+)=(.+)$"
  return {
    kind = "map", key = compile_type(svc, key or "string", where),
    member = compile_type(svc, member or inner, where),
  }
end

local function compile_bare(svc, text, where)
  local inner, flat = text:match "^%[(.*)%](~?)$"
  if inner then return compile_list(svc, inner, flat == "~", where) end
  inner = text:match "^{(.*)}$"
  if inner then return compile_map(svc, inner, where) end
  if text:match "^%b()$" then return compile_enum(text:sub(2, -2)) end
  return compile_scalar(svc, text, where) or compile_structure(svc, text)
end

function compile_type(svc, text, where)
  local bare, low, high = text:match "^(.+)%((%-?%d*)%.%.(%d*)%)$"
  local shape = compile_bare(svc, bare or text, where)
  if bare then shape.min, shape.max = tonumber(low), tonumber(high) end
  return shape
end

-- The names of a member in requests and in answers.
local function wire_names(svc, name, given)
  local wire_in, wire_out
  if given then wire_in, wire_out = given:match "^(.-)/(.*)$" end
  if wire_in then return wire_in, wire_out end
  if svc.protocol == "ec2query" then
    return upper_first(given or name), given or lower_first(name)
  end
  return given or name, given or name
end

local function compile_member(svc, text, where)
  local left, given = text:match "^(.-)@(.*)$"
  local name, required, kind = (left or text):match "^([%w_-]+)(!?):?(.*)$"
  if not name then error("operation table " .. svc.name .. ": cannot read member " .. text, 0) end
  local wire_in, wire_out = wire_names(svc, name, given)
  return {
    name = name, required = required == "!", where = where, wire_in = wire_in, wire_out = wire_out,
    shape = compile_type(svc, kind == "" and "string" or kind, where),
  }
end

-- `required`: the members that are, in the order of `members`.
local function new_structure(name)
  return { kind = "structure", name = name, members = {}, by_name = {}, required = {} }
end

local function add_member(shape, member)
  shape.members[#shape.members + 1] = member
  shape.by_name[member.name] = member
  if member.required then shape.required[#shape.required + 1] = member end
end

local function add_members(svc, shape, text, where)
  for word in (text or ""):gmatch "%S+" do add_member(shape, compile_member(svc, word, where)) end
end

-- A structure of `shapes`, made once; it may hold itself.
function compile_structure(svc, name)
  local made = svc.structures[name]
  if made then return made end
  local text = svc.shapes and svc.shapes[name]
  if not text then error("operation table " .. svc.name .. ": no shape " .. name, 0) end
  made = new_structure(name)
  svc.structures[name] = made
  add_members(svc, made, text, "body")
  return made
end

local function path_members(svc, shape, path)
  for label in (path or ""):gmatch "{([%w_-]+)%+?}" do
    add_member(shape, {
      name = label, required = true, where = "path", wire_in = label, wire_out = label,
      shape = compile_type(svc, svc.labels and svc.labels[label] or "string(1..)", "path"),
    })
  end
end

local function compile_input(svc, raw)
  local shape = new_structure "input"
  path_members(svc, shape, raw.path)
  add_members(svc, shape, raw.query, "query")
  add_members(svc, shape, raw.header, "header")
  add_members(svc, shape, raw.input, "body")
  return shape
end

local function compile_output(svc, raw)
  local shape = new_structure "output"
  add_members(svc, shape, raw.output_header, "header")
  shape.headers = #shape.members -- so many; they come first
  add_members(svc, shape, raw.output, "body")
  return shape
end

local function token_of(input)
  for _, member in ipairs(input.members) do
    if member.shape.kind == "token" then return member.name end
  end
end

-- Adds the wire names of the secrets in an answer: its parser keeps them out of Lua strings.
local function collect_secrets(shape, seen, found)
  if seen[shape] then return found end
  seen[shape] = true
  for _, member in ipairs(shape.members or {}) do
    if member.shape.kind == "secret" then found[#found + 1] = member.wire_out end
    collect_secrets(member.shape, seen, found)
  end
  if shape.member then collect_secrets(shape.member, seen, found) end
  return found
end

local function compile_page(svc, raw)
  if not raw.items then return nil end
  local page = {}
  for key, value in pairs(raw.page or svc.page) do page[key] = value end
  page.items = raw.items
  return page
end

local function is_blob(shape, payload)
  return payload ~= nil and shape.by_name[payload].shape.kind == "blob"
end

local READS = { "describe_", "get_", "list_", "head_", "simulate_", "decode_" }

local function is_read(key)
  for _, prefix in ipairs(READS) do
    if key:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- AWS' own name of an operation: DescribeVpcs for describe_vpcs.
local function name_of(key, raw)
  return raw.name or (key:gsub("^%l", string.upper):gsub("_(%w)", string.upper))
end

local function compile_operation(svc, key, raw)
  local name = name_of(key, raw)
  local op = {
    key = key, name = name, action = svc.actions .. ":" .. name, service = svc,
    response = name .. "Response", result = name .. "Result", -- elements of the query protocols
    permission = svc.actions .. ":" .. (raw.permission or name),
    reads = is_read(key), method = raw.method or "POST", path = raw.path or "/",
    payload = raw.payload, output_payload = raw.output_payload, status = raw.status or 200,
    unsigned = raw.unsigned or false, checksum = raw.checksum or false,
    input = compile_input(svc, raw), output = compile_output(svc, raw),
    page = compile_page(svc, raw),
  }
  op.token = token_of(op.input)
  op.gives_data = is_blob(op.output, op.output_payload) -- as it is stored, of any size
  op.bulky = op.gives_data or is_blob(op.input, op.payload) -- its bytes may take any time
  local secrets = collect_secrets(op.output, {}, {})
  op.secrets = secrets[1] and secrets or nil
  op.once = raw.once
    or not (op.reads or op.token or raw.repeatable or key:sub(1, 7) == "delete_")
  return op
end

-- Operations are compiled when they are first asked for: a deploy uses a quarter of them.
local function lazy_operations(svc)
  return setmetatable({}, {
    __index = function (ops, key)
      local raw = svc.operations[key]
      if not raw then return nil end
      local op = compile_operation(svc, key, raw)
      rawset(ops, key, op)
      return op
    end,
  })
end

-- The operations by AWS' own names, which are told from the keys when first asked for.
local function lazy_names(svc)
  local keys
  return setmetatable({}, {
    __index = function (_, name)
      if not keys then
        keys = {}
        for key, raw in pairs(svc.operations) do keys[name_of(key, raw)] = key end
      end
      return keys[name] and svc.ops[keys[name]]
    end,
  })
end

local loaded = {}

--- The names of all services that have an operation table, sorted.
function M.services()
  return table.move(FILES, 1, #FILES, 1, {})
end

--- The compiled table of a service ("ec2", "service_quotas" or "service-quotas"); raises for an
-- unknown one. `svc.ops.describe_vpcs` and `svc.by_name.DescribeVpcs` are its operations, nil when
-- there is none; `svc.operations` the raw table.
function M.service(name)
  local key = name:gsub("-", "_")
  if loaded[key] then return loaded[key] end
  for _, file in ipairs(FILES) do
    if file == key then
      local svc = {}
      for field, value in pairs(require("rtl.aws.ops." .. key)) do svc[field] = value end
      svc.structures, svc.routes = {}, {}
      svc.ops, svc.by_name = lazy_operations(svc), lazy_names(svc)
      loaded[key] = svc
      return svc
    end
  end
  error("no AWS service '" .. name .. "'" .. nearest.hint(key, FILES), 2)
end

--- The operation keys of a compiled service, sorted.
function M.operations(svc)
  local keys = {}
  for key in pairs(svc.operations) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- What to say of a key that is no operation of a compiled service.
function M.unknown(svc, key)
  return ("no operation '%s' in %s%s"):format(tostring(key), svc.name,
    nearest.hint(tostring(key), M.operations(svc)))
end

-- The wire names of the members that an operation demands in its query.
local function demanded_of(svc, raw)
  local names = {}
  for word in (raw.query or ""):gmatch "%S+" do
    local member = compile_member(svc, word, "query")
    if member.required then names[#names + 1] = member.wire_in end
  end
  return names
end

-- An operation's path template as a pattern, with the names of its labels and what must be in the
-- query. The more of the query is fixed or demanded, and the fewer the labels, the higher it ranks
-- among those that fit a request.
local function compile_route(svc, key, raw)
  local template, fixed = (raw.path or "/"):match "^([^?]*)%??(.*)$"
  local names, demanded = {}, demanded_of(svc, raw)
  local pattern = template:gsub("[%-%.%+%*%?%^%$%%%(%)%[%]]", "%%%0")
  pattern = pattern:gsub("{([%w_-]+)(%%?%+?)}", function (name, greedy)
    names[#names + 1] = name
    return greedy ~= "" and "(.+)" or "([^/]+)"
  end)
  local literal = select(2, fixed:gsub("[^&]+", ""))
  return { key = key, pattern = "^" .. pattern .. "$", names = names, fixed = fixed,
           demanded = demanded, rank = (literal + #demanded) * 100 - #names }
end

-- The routes of a service for a method, in the order of their keys; made when first asked for.
local function routes_of(svc, method)
  if svc.routes[method] then return svc.routes[method] end
  local routes = {}
  for _, key in ipairs(M.operations(svc)) do
    local raw = svc.operations[key]
    if (raw.method or "POST") == method then
      routes[#routes + 1] = compile_route(svc, key, raw)
    end
  end
  svc.routes[method] = routes
  return routes
end

-- The values of a route's labels in a path, or nil if it is another path.
local function labels_of(route, path)
  local found = { path:match(route.pattern) }
  if #found == 0 then return nil end
  local labels = {}
  for i, name in ipairs(route.names) do labels[name] = unescape(found[i]) end
  return labels
end

-- Whether what a route fixes (`?tagging`, `?list-type=2`) and demands is in a request's query.
local function has_query(route, query)
  for part in route.fixed:gmatch "[^&]+" do
    local name, value = part:match "^([^=]*)=?(.*)$"
    if query[name] == nil or (value ~= "" and query[name] ~= value) then return false end
  end
  for _, name in ipairs(route.demanded) do
    if query[name] == nil then return false end
  end
  return true
end

--- Which operation of a rest service a request is for.
-- `path` as on the wire, `query` a table of decoded names and values.
-- Returns the operation and the decoded path labels, or nil.
function M.find(svc, method, path, query)
  local best, best_labels
  for _, route in ipairs(routes_of(svc, method)) do
    local labels = labels_of(route, path)
    if labels and has_query(route, query) and (not best or route.rank > best.rank) then
      best, best_labels = route, labels
    end
  end
  return best and svc.ops[best.key], best_labels
end

return M
