--- What the kinds share: tags, look-ups by id and tag, waits with causes, patient deletes.

local array = require "rtl.array"
local clock = require "rtl.clock"
local err = require "rtl.err"
local errors = require "rtl.aws.errors"
local keys = require "rtl.keys"
local ledger = require "rtl.plan.ledger"
local task = require "rtl.task"

local M = {}

M.not_found = errors.not_found
M.exists = errors.exists

--- For `actions`: a launch from a launch template of the account's.
M.BY_TEMPLATE = { ArnLike = {
  ["ec2:LaunchTemplate"] = "arn:{partition}:ec2:{region}:{account}:launch-template/*" } }

--- A tag table as AWS' list of {Key, Value}, sorted by key.
function M.tag_list(tags)
  local list = array {}
  for key, value in keys.pairs(tags) do list[#list + 1] = { Key = key, Value = tostring(value) } end
  return list
end

--- TagSpecifications of a create: the resource's tags on one or more resource types.
function M.tag_specifications(ctx, res, ...)
  local list = array {}
  for _, kind in ipairs { ... } do
    list[#list + 1] = { ResourceType = kind, Tags = M.tag_list(ctx:tags_for(res)) }
  end
  return list
end

--- AWS' list of {Key, Value} as a table.
function M.tags_of(list)
  local tags = {}
  for _, tag in ipairs(list or {}) do tags[tag.Key] = tag.Value end
  return tags
end

--- Whether these tags say that the deployment made it.
function M.is_ours(ctx, tags)
  return tags["rtl:deployment"] == ctx.deployment
end

--- The error for a thing that has our name but not our tag.
function M.stranger(res, what)
  return err.new { code = "RTL-PLAN-005", doing = res.key, exit = "refused",
    message = what .. " exists and does not carry this deployment's tag",
    hint = "Choose another deployment name, or give it to rtl in the settings instead" }
end

--- A filter of EC2's describe calls: `name` is one of the values.
local function filter(name, ...)
  return { Name = name, Values = array { ... } }
end
M.filter = filter

--- The filters that find this resource by its tags.
function M.own_filters(ctx, res)
  return array { filter("tag:rtl:deployment", ctx.deployment), filter("tag:rtl:resource", res.key) }
end

--- The filter that finds everything of the deployment.
function M.deployment_filters(ctx)
  return array { filter("tag:rtl:deployment", ctx.deployment) }
end

-- The id to look for first: the given one, else the ledger's: tags of what was just made may not be
-- found for some seconds.
local function known_id(ctx, res)
  if res.given then return res.given end
  local entry = ctx.ledger and ctx.ledger:state()[res.key]
  return entry and entry.state == "made" and entry.id or nil
end

local function several(res, found, id_member)
  local ids = {}
  for _, item in ipairs(found) do ids[#ids + 1] = tostring(item[id_member]) end
  table.sort(ids)
  return err.new { code = "RTL-PLAN-015", doing = res.key, exit = "refused",
    message = "carried by several: " .. table.concat(ids, ", "),
    hint = "Tear the deployment down, or take the tags off the ones that are not wanted" }
end

local function alive(found, gone)
  local list = {}
  for _, item in ipairs(found) do
    if not (gone and gone(item)) then list[#list + 1] = item end
  end
  return list
end

-- Whether "not found" may only mean that the thing was made a moment ago.
local function too_young(ctx, item)
  return ctx.ledger ~= nil and ledger.age(ctx.ledger:state()[item.key]) < ledger.VISIBLE
end

--- The item with an id that the ledger knows, as by_id. What was made a moment ago may not be shown
-- yet, and would be made a second time: it is waited for until it is a minute old.
function M.by_known_id(ctx, res, spec, id)
  local began = clock.mono()
  while true do
    local item, failure = M.by_id(ctx, spec, id)
    local waits = not res.given and too_young(ctx, res) and clock.mono() - began < ledger.VISIBLE
    if item or failure or not waits then return item, failure end
    ctx:waiting(res, "was made a moment ago and is not shown yet")
    task.sleep(5)
  end
end

--- Looks an EC2 thing up: by given or ledger id, else by tags. spec: op ("describe_vpcs"), items
-- ("Vpcs"), id ("VpcId", member), id_filter ("vpc-id") or ids ("VpcIds", parameter), gone
-- (function(item): is on its way out), filters (member name, default "Filters"), paged (default
-- true).
-- Returns item | nil | nil, err (RTL-PLAN-015 when several carry the tags).
function M.look_up(ctx, res, spec)
  local id = known_id(ctx, res)
  if id then
    local item, failure = M.by_known_id(ctx, res, spec, id)
    if failure then return nil, failure end
    if item and spec.gone and spec.gone(item) then item = nil end
    if item or res.given then return item end
  end
  local found, failure = M.list(ctx, spec, M.own_filters(ctx, res))
  if not found then return nil, failure end
  found = alive(found, spec.gone)
  if #found > 1 then return nil, several(res, found, spec.id) end
  return found[1]
end

--- The item with that id: item | nil | nil, err.
function M.by_id(ctx, spec, id)
  if not spec.ids then
    local found, failure = M.list(ctx, spec, array { filter(spec.id_filter, id) })
    return found and found[1], failure
  end
  local found, failure = ctx:aws("ec2"):all(spec.op, { [spec.ids] = array { id } })
  if not found and not errors.not_found(failure) then return nil, failure end
  return found and found[1]
end

--- One describe call with filters: array of items | nil, err.
function M.list(ctx, spec, filters)
  local ec2 = ctx:aws "ec2"
  local params = { [spec.filters or "Filters"] = filters }
  if spec.paged ~= false then return ec2:all(spec.op, params) end
  local answer, failure = ec2:call(spec.op, params)
  return answer and answer[spec.items], failure
end

--- Everything of the deployment that a describe call shows, for teardown: array of {name, id,
-- outputs}. `outputs_of(item)` makes the outputs.
function M.find(ctx, spec, outputs_of)
  local found, failure = M.list(ctx, spec, M.deployment_filters(ctx))
  if not found then return nil, failure end
  local list = {}
  for _, item in ipairs(alive(found, spec.gone)) do
    local tags = M.tags_of(item.Tags or item.TagSet)
    list[#list + 1] = { id = item[spec.id], outputs = outputs_of and outputs_of(item) or {},
      name = (tags["rtl:resource"] or ""):match("/(.*)$") or item[spec.id] }
  end
  return list
end

-- Seconds for which looks may fail in a way that passes before a wait gives up.
local BLIND = 300

-- Whether a look that failed says nothing of what is waited for: the network or the service did not
-- answer, and may in a while.
local function is_blind(failure)
  return failure.retryable == true or failure.sent == true
end

--- Waits until `look()` gives something. look() returns a value (done), false and a text (what it
-- waits for), or nil and an error (can't come any more; one that passes is looked past for five
-- minutes). options: ctx, res, every (s, 10), limit (s, required), what (text). RTL-PLAN-014 when
-- the limit passes.
function M.wait(options, look)
  local began, detail, seen = clock.mono(), nil, clock.mono()
  while true do
    local value, more = look()
    if value then return value end
    if value == nil then
      if not is_blind(more) or clock.mono() - seen >= BLIND then return nil, more end
      more = more.message
    else
      seen = clock.mono()
    end
    detail = more or detail
    if detail then options.ctx:waiting(options.res, detail) end
    if clock.mono() - began >= options.limit then
      return nil, err.new { code = "RTL-PLAN-014", doing = options.res.key,
        message = ("%s: not after %d s%s"):format(options.what or "ready", options.limit,
          detail and " (" .. detail .. ")" or "") }
    end
    task.sleep(options.every or 10)
  end
end

--- Calls `act()` again while it fails in a way that passes: `passing(err)` says which. Waits 2 s,
-- then longer, at most `limit` seconds in all. Returns act's results.
function M.insist(ctx, res, limit, passing, act)
  local began, pause = clock.mono(), 2
  while true do
    local value, failure = act()
    if value or not (failure and passing(failure)) then return value, failure end
    if clock.mono() - began + pause > limit then return nil, failure end
    ctx:waiting(res, failure.message)
    task.sleep(pause)
    pause = math.min(pause * 1.5, 15)
  end
end

local function passing(failure)
  return errors.in_use(failure) or errors.not_found(failure)
end

-- What is to be deleted as its service shows it: a table, nil when there is none, or nil, err.
local function look(ctx, item, options)
  if options.look then return options.look() end
  local live, failure = M.by_id(ctx, options.spec, item.id)
  if live and options.spec.gone and options.spec.gone(live) then return nil end
  return live, failure
end

-- The error of a delete. Where a right depends on tags, IAM refuses it on what is not there, since
-- that has none any more: the thing is asked for, and such a refusal says "not found".
local function unmask(ctx, item, refused, options)
  if not errors.denied(refused) or not (options.look or options.spec) then return refused end
  local live, failure = look(ctx, item, options)
  if live or failure then return refused end
  return err.wrap(refused, { code = "NotFound", doing = item.key, message = "is not there" })
end

-- One try of a delete. "Not found" is a failure only where it may pass.
local function try_delete(ctx, item, act, options)
  local answer, refused = act()
  if answer then return answer end
  refused = unmask(ctx, item, refused, options)
  if errors.not_found(refused) and not too_young(ctx, item) then return true end
  if options.clear and errors.in_use(refused) then options.clear() end
  return nil, refused
end

--- A delete: what is not there is deleted, unless it was made within the last minute: then it may
-- not be found yet, and is looked for again. What is in use is tried again for `limit` seconds
-- (900). `act()` makes the call. options: limit; clear(), which takes away what was left behind in
-- it before the next try; blockers(), which names what stands in the way; spec (as look_up's) or
-- look() → live | nil | nil, err, by which a refusal for lack of rights is told from "not found".
function M.delete(ctx, item, act, options)
  options = options or {}
  local limit = item.hurry and 30 or options.limit or 900
  if too_young(ctx, item) then limit = math.max(limit, 2 * ledger.VISIBLE) end
  local done, failure = M.insist(ctx, item, limit, passing, function ()
    return try_delete(ctx, item, act, options)
  end)
  if done or errors.not_found(failure) then return true end
  local names = options.blockers and errors.in_use(failure) and options.blockers()
  if names and #names > 0 then
    return nil, err.wrap(failure, { code = "RTL-PLAN-016", doing = item.key,
      message = "still used by " .. table.concat(names, ", ") })
  end
  return nil, failure
end

--- For `carrier`: whether an item of a cluster goes with that cluster.
function M.in_cluster(item, other)
  return other.kind_name == "eks_cluster" and other.id ~= nil and other.id == item.outputs.cluster
end

-- What a list call shows in a cluster; in one that is gone there is nothing.
local function entries_in(ctx, cluster, op)
  local entries, failure = ctx:aws("eks"):all(op, { clusterName = cluster })
  if not entries and not errors.not_found(failure) then return nil, failure end
  return entries or {}
end

--- What a list call shows in each cluster among `found`: array of item_of(cluster, entry).
function M.in_clusters(ctx, found, op, item_of)
  local list = {}
  for _, cluster in ipairs(found) do
    if cluster.kind_name == "eks_cluster" and cluster.id then
      local entries, failure = entries_in(ctx, cluster.id, op)
      if not entries then return nil, failure end
      for _, entry in ipairs(entries) do list[#list + 1] = item_of(cluster.id, entry) end
    end
  end
  return list
end

--- What of a list call's entries in the cluster of others that was given is ours: array of what
-- item_of(cluster, entry) says: item, nil for what is not ours, or nil, err.
function M.in_given_cluster(ctx, op, item_of)
  if not ctx.given_cluster then return {} end
  local entries, failure = entries_in(ctx, ctx.given_cluster, op)
  if not entries then return nil, failure end
  local list = {}
  for _, entry in ipairs(entries) do
    local item, refused = item_of(ctx.given_cluster, entry)
    if refused then return nil, refused end
    list[#list + 1] = item
  end
  return list
end

--- Turns "not found" into absence: value | nil | nil, err.
function M.absent_if_missing(value, failure)
  if value then return value end
  if failure and errors.not_found(failure) then return nil end
  return nil, failure
end

--- The last part of an ARN or path.
function M.tail(text)
  return text and text:match("([^/]+)$")
end

return M
