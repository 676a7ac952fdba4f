--- What a plan costs per hour, line by line. Kinds say what they cost; the prices are theirs.

local M = {}

--- What a resource costs by its kind: { hourly, once, what, source }, { unknown = true, what } for
-- a price that nobody knows, or nil where it costs nothing or was given.
function M.of_resource(ctx, res)
  return not res.given and res.kind.cost and res.kind.cost(ctx, res, res.fields) or nil
end

-- Each source once, in the order of the lines.
local function add_source(total, source)
  for _, known in ipairs(total.sources) do
    if known == source then return end
  end
  total.sources[#total.sources + 1] = source
  total.source = table.concat(total.sources, "; ")
end

local function add(total, res, price, paid_now)
  if price.unknown then
    total.unknown[#total.unknown + 1] = res.key
    return
  end
  total.hourly = total.hourly + (price.hourly or 0)
  total.once = total.once + (paid_now and price.once or 0)
  add_source(total, price.source)
  total.lines[#total.lines + 1] = { resource = res.key, what = price.what,
    once_what = price.once_what or price.what,
    hourly = price.hourly or 0, once = price.once or 0, source = price.source,
    now = paid_now and price.once or 0, now_gb = paid_now and price.once_gb or nil }
end

local function nothing()
  return { hourly = 0.0, once = 0.0, lines = {}, unknown = {}, sources = {} }
end

--- The cost of resources (array) as if all were made: what M.of returns.
function M.of_resources(ctx, resources)
  local total = nothing()
  for _, res in ipairs(resources) do
    local price = M.of_resource(ctx, res)
    if price then add(total, res, price, true) end
  end
  return total
end

--- The cost of a plan: { hourly = usd, once = usd, lines = {{resource, what, hourly, once, now,
-- now_gb, source}}, sources = {texts}, source = them all, unknown = {keys} }. `once` is what is
-- paid one time (image pulls), a line's `now` what of that is still to come, for now_gb GB.
function M.of(plan, ctx)
  local total = nothing()
  for _, row in ipairs(plan.changes) do
    local price = not row.left_out and M.of_resource(ctx, row.resource)
    local paid_now = row.action == "create" or row.action == "replace"
    if price then add(total, row.resource, price, paid_now) end
  end
  return total
end

return M
