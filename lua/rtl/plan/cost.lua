--- What a plan costs per hour, line by line. Kinds say what they cost; the prices are theirs.

local M = {}

--- The cost of a plan: { hourly = usd, once = usd, lines = {{resource, what, hourly, once}},
-- source = text, unknown = {keys} }. `once` is what is paid one time (image pulls). A kind returns
-- { hourly, what, source } or, for a price that nobody knows, { unknown = true, what }.
function M.of(plan, ctx)
  local total = { hourly = 0.0, once = 0.0, lines = {}, unknown = {} }
  for _, row in ipairs(plan.changes) do
    local res = row.resource
    local price = not res.given and not row.left_out and res.kind.cost
      and res.kind.cost(ctx, res, row.resource.fields)
    if price and price.unknown then
      total.unknown[#total.unknown + 1] = res.key
    elseif price then
      total.hourly = total.hourly + (price.hourly or 0)
      local paid_now = row.action == "create" or row.action == "replace"
      total.once = total.once + (paid_now and price.once or 0)
      total.source = price.source or total.source
      total.lines[#total.lines + 1] = { resource = res.key, what = price.what,
        hourly = price.hourly or 0, once = price.once or 0 }
    end
  end
  return total
end

return M
