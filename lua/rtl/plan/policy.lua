--- The least IAM policy for a plan: what making, changing and removing its resources needs, and no
-- more. It is put together from what each kind says of itself (`actions`); nothing here knows a
-- system.
--
-- A kind's `actions` is an array. An entry is one action ("ec2:DescribeVpcs", on any resource), or
-- a table of actions and of where they are allowed, each a template or an array of them:
--
--   new    on what is made with this deployment's tag in the request
--   ours   on what carries this deployment's tag
--   uses   on what another resource is: by its id where that was given, else if it is ours
--   on     on just this
--   when   further conditions: { operator = { key = value } }
--   needs  a field: needed only where a resource has it
--   purge  needed only to remove data
--   optional   done without where it is not allowed
--
-- A template is an ARN, or its last part ("vpc/*": the action's service, the deployment's region
-- and account). {name} stands for partition, region, account, deployment, a field or known output
-- of the kind's resources, or `given`. One with a name that has no value here is left out, with its
-- condition; in `uses`, `ours` and `new` the value is any, and so it is for reads of a kind that
-- nobody declares: a teardown looks into what it finds.
--
-- Actions that only read are needed for a resource that is declared, given or looked for; the
-- others for one that rtl makes.

local array = require "rtl.array"
local json = require "rtl.native.json"
local keys = require "rtl.keys"
local row_of = require "rtl.plan.row"

local M = {}

--- The most characters that IAM takes in one managed policy; white space does not count.
M.LIMIT = 6144

local READS = { Describe = true, List = true, Get = true, Simulate = true }

--- Whether an action only reads, by its name: "ec2:DescribeVpcs".
function M.reads(action)
  return READS[action:match(":(%u%l+)")] or false
end

-- ---- values for templates ----

local function add_value(values, name, value)
  if value == nil then return end
  values[name] = values[name] or {}
  for _, one in ipairs(type(value) == "table" and value or { value }) do
    if type(one) == "string" then values[name][one] = true end
  end
end

-- What is known of a resource's outputs before it is made or looked at.
local function known(ctx, res)
  local outputs = {}
  if res.kind and res.kind.known then
    for name, value in pairs(res.kind.known(ctx, res)) do outputs[name] = value end
  end
  if res.given then outputs.id = outputs.id or res.given end
  return outputs
end

-- name → set of values, of all resources of a kind together.
local function values_of(ctx, resources, by_key, base)
  local function lookup(key, output) return by_key[key] and known(ctx, by_key[key])[output] end
  local values = setmetatable({}, { __index = base })
  for _, res in ipairs(resources) do
    for name in pairs(res.fields) do add_value(values, name, {}) end
    for name, value in pairs(row_of.resolve(res, lookup)) do add_value(values, name, value) end
    for name, value in pairs(known(ctx, res)) do add_value(values, name, value) end
    add_value(values, "given", res.given)
  end
  return values
end

-- All texts that a template stands for, sorted: none when a name in it has no value, unless `any`
-- stands for that.
local function expand(template, values, any)
  local name = template:match("{([%w_]+)}")
  if not name then return { template } end
  local found = keys.sorted(values[name] or {})
  if #found == 0 and any then found[1] = "*" end
  local texts = {}
  for _, value in ipairs(found) do
    local text = template:gsub("{" .. name .. "}", (value:gsub("%%", "%%%%")))
    for _, one in ipairs(expand(text, values, any)) do texts[#texts + 1] = one end
  end
  return texts
end

local function list_of(value)
  if value == nil then return {} end
  return type(value) == "table" and value or { value }
end

local function whole_arn(forms, service, template)
  if template == "*" or template:match("^arn:") or template:match("^{[%w_]+}$") then
    return template
  end
  return (forms.global[service] and forms.global_arn or forms.arn):format(service) .. template
end

local function arns(forms, service, templates, values, any)
  local list = {}
  for _, template in ipairs(list_of(templates)) do
    local texts = expand(whole_arn(forms, service, template), values, any)
    table.move(texts, 1, #texts, #list + 1, list)
  end
  return list
end

-- ---- statements ----

-- Puts the conditions of `when` into `conditions`, as far as their names have values.
local function add_conditions(conditions, when, values)
  for operator, pairs_of in keys.pairs(when or {}) do
    for key, wanted in keys.pairs(pairs_of) do
      local names, texts = expand(key, values), {}
      for _, one in ipairs(list_of(wanted)) do
        local more = expand(one, values)
        table.move(more, 1, #more, #texts + 1, texts)
      end
      if names[1] and #texts > 0 then
        table.sort(texts)
        conditions[operator] = conditions[operator] or {}
        conditions[operator][names[1]] = #texts == 1 and texts[1] or array(texts)
      end
    end
  end
  return conditions
end

local function put(list, class, actions, resources, conditions, guessed)
  if #resources == 0 then return end
  list[#list + 1] = { class = class, actions = actions, resources = resources,
    conditions = conditions, optional = actions.optional or guessed }
end

-- Where tags in a create are a right of their own, which says for which call.
local function put_tagging(list, how, actions, resources)
  local names = array {}
  for i, action in ipairs(actions) do names[i] = action:match(":(.*)$") end
  list[#list + 1] = { class = "Tag", how = how, actions = { how.action }, resources = resources,
    conditions = { [how.operator] = { [how.key] = names } } }
end

-- What a `uses` template allows: the things that were given by id, else those that are ours.
local function put_used(list, forms, entry, service, values)
  for _, template in ipairs(list_of(entry.uses)) do
    local given = arns(forms, service, template, values)
    local conditions = add_conditions({}, entry.when, values)
    if #given > 0 then
      put(list, "Given", entry, given, conditions)
    else
      put(list, "Ours", entry, arns(forms, service, template, values, true),
        add_conditions(conditions, forms.ours, values))
    end
  end
end

-- Where `on` is: with any value for what is not known, if `loose`.
local function places_of(forms, entry, service, values, loose)
  local list = {}
  for _, template in ipairs(list_of(entry.on)) do
    local any = loose and not template:match("^{[%w_]+}$")
    local found = arns(forms, service, template, values, any)
    table.move(found, 1, #found, #list + 1, list)
  end
  return list
end

local function add_entry(list, forms, entry, values, loose)
  local service = entry[1]:match("^([%w-]+):")
  local function conditions(more)
    return add_conditions(add_conditions({}, entry.when, values), more, values)
  end
  local made = arns(forms, service, entry.new, values, true)
  put(list, "New", entry, made, conditions(forms.new))
  local how = forms.tagging[service]
  if how and #made > 0 then put_tagging(list, how, entry, made) end
  put(list, "Ours", entry, arns(forms, service, entry.ours, values, true), conditions(forms.ours))
  put_used(list, forms, entry, service, values)
  local reads = M.reads(entry[1])
  local sure = places_of(forms, entry, service, values)
  local places = places_of(forms, entry, service, values, loose and reads)
  -- What nobody declares is read only if a teardown finds it.
  put(list, reads and "Read" or "Named", entry, places, conditions(), #places > #sure)
end

local function entry_of(action)
  if type(action) == "string" then return { action, on = "*" } end
  local placed = action.new or action.ours or action.uses or action.on
  if placed then return action end
  local entry = table.move(action, 1, #action, 1, {})
  for _, name in ipairs { "when", "purge", "needs", "optional" } do entry[name] = action[name] end
  entry.on = "*"
  return entry
end

-- What of a kind's entries the plan needs.
local function wanted(kind, resources, values, options)
  local made, looked = kind.strays, kind.find or kind.find_inside or #resources > 0
  for _, res in ipairs(resources) do made = made or not res.given end
  return function (entry)
    if entry.purge and not options.purge then return false end
    if entry.needs and not values[entry.needs] then return false end
    if M.reads(entry[1]) then return looked end
    return made
  end
end

-- ---- fewer statements ----

local function union(a, b)
  local set = {}
  for _, list in ipairs { a, b } do
    for _, value in ipairs(list) do set[value] = true end
  end
  return keys.sorted(set)
end

local function merge(list, key_of)
  local merged, by_key = {}, {}
  for _, statement in ipairs(list) do
    local key = key_of(statement)
    local into = by_key[key]
    if into then
      into.actions = union(into.actions, statement.actions)
      into.resources = union(into.resources, statement.resources)
    else
      into = { class = statement.class, conditions = statement.conditions,
        actions = union(statement.actions, {}), resources = union(statement.resources, {}) }
      by_key[key], merged[#merged + 1] = into, into
    end
  end
  return merged
end

local function text_of(list) return table.concat(list, " ") end

local function service_of(statement) return statement.actions[1]:match("^[%w-]+") end

-- Tags for what is made: the calls differ, the right is one.
local function merge_tags(list)
  local rest, by_action = {}, {}
  for _, statement in ipairs(list) do
    local how = statement.how
    local into = how and by_action[how.action]
    if into then
      local calls, more = into.conditions[how.operator], statement.conditions[how.operator]
      into.resources = union(into.resources, statement.resources)
      calls[how.key] = array(union(calls[how.key], more[how.key]))
    elseif how then
      into = { class = statement.class, actions = statement.actions, how = how,
        resources = statement.resources,
        conditions = { [how.operator] = { [how.key] =
          statement.conditions[how.operator][how.key] } } }
      by_action[how.action], rest[#rest + 1] = into, into
    else
      rest[#rest + 1] = statement
    end
  end
  return rest
end

-- What is ours by its tag may be one statement a service: an action has no meaning on a resource
-- that it does not take. Everything else is joined only where nothing is added by it.
local function simplify(list)
  list = merge(merge_tags(list), function (s)
    local what = s.class == "Ours" and service_of(s) or text_of(s.resources)
    return s.class .. json.encode(s.conditions) .. what
  end)
  return merge(list, function (s)
    return s.class .. json.encode(s.conditions) .. text_of(s.actions)
  end)
end

local ORDER = { Read = 1, New = 2, Tag = 3, Given = 4, Named = 5, Ours = 6 }

local function sort(list)
  for i, statement in ipairs(list) do statement.at = i end
  table.sort(list, function (a, b)
    if a.class ~= b.class then return ORDER[a.class] < ORDER[b.class] end
    return a.at < b.at
  end)
  return list
end

-- ---- documents ----

local function one_or_list(list)
  return #list == 1 and list[1] or array(list)
end

local function json_statement(statement, number)
  return { Sid = statement.class .. number, Effect = "Allow",
    Action = one_or_list(statement.actions), Resource = one_or_list(statement.resources),
    Condition = next(statement.conditions) and statement.conditions or nil }
end

--- The characters of a document as IAM counts them.
function M.size(document)
  return #json.encode(document):gsub("%s", "")
end

local function new_document()
  return { Version = "2012-10-17", Statement = array {} }
end

-- As few documents as the limit allows, with the statements in their order.
local function documents_of(list)
  local documents, numbers = { new_document() }, {}
  for _, statement in ipairs(list) do
    numbers[statement.class] = (numbers[statement.class] or 0) + 1
    local one = json_statement(statement, numbers[statement.class])
    local document = documents[#documents]
    table.insert(document.Statement, one)
    if M.size(document) > M.LIMIT and #document.Statement > 1 then
      table.remove(document.Statement)
      document = new_document()
      document.Statement[1] = one
      documents[#documents + 1] = document
    end
  end
  return documents
end

local function by_kind(g)
  local of_kind, by_key = {}, {}
  for _, res in ipairs(g:order()) do
    by_key[res.key] = res
    of_kind[res.kind_name] = of_kind[res.kind_name] or {}
    table.insert(of_kind[res.kind_name], res)
  end
  return of_kind, by_key
end

local function base_values(ctx, regions)
  local values = {}
  for _, name in ipairs { "partition", "account", "deployment" } do
    add_value(values, name, ctx[name])
  end
  add_value(values, "region", regions or ctx.region)
  return values
end

-- Kinds of the list, and those of the graph that are not in it (checks).
local function all_kinds(kinds, of_kind)
  local list, seen = {}, {}
  for _, kind in ipairs(kinds) do list[#list + 1], seen[kind.name] = kind, true end
  for _, name in ipairs(keys.sorted(of_kind)) do
    local kind = of_kind[name][1].kind
    if not seen[name] then list[#list + 1] = kind end
  end
  return list
end

--- The single rights that the resources of graph `g` need, to be made, changed and removed again:
-- array of { actions, resources (ARNs), conditions, optional }, not joined. options as for
-- documents().
function M.statements(g, ctx, options)
  local of_kind, by_key = by_kind(g)
  local base, list = base_values(ctx, options.regions), {}
  for _, kind in ipairs(all_kinds(options.kinds, of_kind)) do
    local resources = of_kind[kind.name] or {}
    local values = values_of(ctx, resources, by_key, base)
    local wants = wanted(kind, resources, values, options)
    for _, action in ipairs(kind.actions or {}) do
      local entry = entry_of(action)
      if wants(entry) then
        add_entry(list, options.forms, entry, values, #resources == 0)
      end
    end
  end
  for _, actions in ipairs(options.more or {}) do
    for _, action in ipairs(actions) do add_entry(list, options.forms, entry_of(action), base) end
  end
  return list
end

--- The policy for the resources of graph `g`: array of documents (one, unless IAM's limit wants
-- more: then all of them together). options: forms (how IAM says it: rtl.kinds.iam_forms), kinds
-- (all of them: a teardown looks for each), regions (default: the context's), purge (data is
-- removed, too), more (array of arrays of actions: what steps and the run itself call).
function M.documents(g, ctx, options)
  return documents_of(sort(simplify(M.statements(g, ctx, options))))
end

return M
