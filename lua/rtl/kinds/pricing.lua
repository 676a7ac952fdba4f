--- What things cost in a region: from AWS' price list, and where that can't be asked or has no
-- answer, from the built-in table (rtl.plan.prices, rtl.kinds.instances). Each price has its
-- source. A deployment is never held up by the price list: what fails is told, and is no failure.
--
-- Names of prices: an instance type, or one of eks_cluster, eks_extended (added where a version is
-- in extended support), nat_gateway, public_ipv4 (an hour each), nat_gateway_gb, cross_zone_gb (a
-- GB), gp3_gb_month, s3_gb_month, logs_gb_month.

local array = require "rtl.array"
local clock = require "rtl.clock"
local errors = require "rtl.aws.errors"
local instances = require "rtl.kinds.instances"
local prices = require "rtl.plan.prices"
local task = require "rtl.task"

local M = {}

--- What asking takes of IAM. Without it the built-in table is used, and the plan says so.
M.actions = { { "pricing:GetProducts", "eks:DescribeClusterVersions", optional = true } }

local PATIENCE = 20 -- seconds for all questions together

local function is(field, value)
  return { Type = "TERM_MATCH", Field = field, Value = value }
end

local function has(field, value)
  return { Type = "CONTAINS", Field = field, Value = value }
end

-- What to ask for: the service, its filters beside the region's, and for each name the end of the
-- usage type (before which a region's prefix may stand).
local QUERIES = {
  { service = "AmazonEKS", filters = {},
    names = { eks_cluster = "AmazonEKS-Hours:perCluster",
      eks_extended = "AmazonEKS-Hours:extendedSupport" } },
  { service = "AmazonEC2", filters = { is("productFamily", "NAT Gateway") },
    names = { nat_gateway = "NatGateway-Hours", nat_gateway_gb = "NatGateway-Bytes" } },
  { service = "AmazonEC2", filters = { is("volumeApiName", "gp3"),
    is("productFamily", "Storage") }, names = { gp3_gb_month = "EBS:VolumeUsage.gp3" } },
  { service = "AmazonVPC", filters = { has("usagetype", "PublicIPv4:InUseAddress") },
    names = { public_ipv4 = "PublicIPv4:InUseAddress" } },
  { service = "AWSDataTransfer", region = "fromRegionCode",
    filters = { is("transferType", "IntraRegion") },
    names = { cross_zone_gb = "DataTransfer-Regional-Bytes" } },
}

-- On-Demand, Linux, shared: one product a type and region.
local function query_of_type(name)
  return { service = "AmazonEC2", names = { [name] = "BoxUsage:" .. name },
    filters = { is("instanceType", name), is("operatingSystem", "Linux"),
      is("preInstalledSw", "NA"), is("licenseModel", "No License required"),
      is("tenancy", "Shared"), is("capacitystatus", "Used"), is("marketoption", "OnDemand") } }
end

-- The price of a product of the list in USD; nil where it is free of charge or in another currency.
local function usd_of(product)
  for _, term in pairs(product.terms and product.terms.OnDemand or {}) do
    for _, dimension in pairs(term.priceDimensions or {}) do
      local usd = tonumber(dimension.pricePerUnit and dimension.pricePerUnit.USD)
      if usd and usd > 0 then return usd end
    end
  end
end

local function ends_with_usage(usage, wanted)
  if not usage or usage:sub(-#wanted) ~= wanted then return false end
  local before = usage:sub(1, #usage - #wanted)
  return before == "" or before:match("^[%u%d]+%-$") ~= nil
end

-- The price of the usage type among products: nil where it is absent or not the same everywhere.
local function price_in(products, wanted)
  local found
  for _, product in ipairs(products) do
    local attributes = product.product and product.product.attributes or {}
    local usd = ends_with_usage(attributes.usagetype, wanted) and usd_of(product)
    if usd and found and found ~= usd then return nil end
    found = found or usd or nil
  end
  return found
end

local function ask(ctx, book, query)
  local filters = array { is(query.region or "regionCode", book.region) }
  table.move(query.filters, 1, #query.filters, 2, filters)
  local products, failure = ctx:aws("pricing"):all("get_products", { ServiceCode = query.service,
    FormatVersion = "aws_v1", Filters = filters, MaxResults = 100 })
  if not products then
    book.trouble = book.trouble or failure
    return
  end
  for name, usage in pairs(query.names) do book.prices[name] = price_in(products, usage) end
end

-- Whether EKS says of the version that it is in extended support.
local function ask_version(ctx, book, version)
  local list = ctx:aws("eks"):all("describe_cluster_versions", { clusterVersions = { version } })
  for _, row in ipairs(list or {}) do
    local status = row.versionStatus or ""
    if row.clusterVersion == version then
      book.extended[version] = status:upper():find("EXTENDED", 1, true) ~= nil
    end
  end
end

local function book_of(ctx, region)
  ctx.price_books = ctx.price_books or {}
  local book = ctx.price_books[region]
  if not book then
    book = { region = region, prices = {}, extended = {}, at = clock.iso(clock.utc()):sub(1, 10) }
    ctx.price_books[region] = book
  end
  return book
end

--- Asks the price list for a region's prices, all at once. wanted: region (the context's), types
-- (instance types), others (everything that is no instance), version (of Kubernetes). What can't be
-- asked stays with the built-in table.
function M.load(ctx, wanted)
  if not ctx.aws_of then return end
  local book, jobs = book_of(ctx, wanted.region or ctx.region), {}
  for _, name in ipairs(wanted.types or {}) do
    if not book.prices[name] then
      jobs[#jobs + 1] = function () ask(ctx, book, query_of_type(name)) end
    end
  end
  for _, query in ipairs(wanted.others and QUERIES or {}) do
    jobs[#jobs + 1] = function () ask(ctx, book, query) end
  end
  if wanted.version and book.extended[wanted.version] == nil then
    jobs[#jobs + 1] = function () ask_version(ctx, book, wanted.version) end
  end
  if #jobs == 0 then return end
  local _, failure = task.deadline(PATIENCE, task.map, jobs, function (job) job() end, #jobs)
  book.asked, book.trouble = true, book.trouble or failure
end

local function why(book)
  local failure = book and book.trouble
  if not (book and book.asked) then return "" end
  if not failure then return "; the price list of " .. book.region .. " has none" end
  if errors.denied(failure) then return "; pricing:GetProducts is not allowed" end
  return "; the price list was not read: " .. (failure.code or failure.message)
end

local function built_in(name)
  local row = instances.find(name)
  if row then return row.price end
  return prices[name]
end

--- The price of `name` and its source, in the context's region or `region`; nil where nobody knows
-- it.
function M.of(ctx, name, region)
  local book = ctx.price_books and ctx.price_books[region or ctx.region]
  local usd = book and book.prices[name]
  if usd then return usd, ("AWS price list of %s, read %s"):format(book.region, book.at) end
  usd = built_in(name)
  return usd, usd and prices.source .. why(book) or nil
end

--- Where the prices of `name` in these regions (default: the context's) come from, as one text.
function M.source(ctx, name, regions)
  local listed, at, others, seen = {}, nil, {}, {}
  for _, region in ipairs(regions or { ctx.region }) do
    local book = ctx.price_books and ctx.price_books[region]
    local _, source = M.of(ctx, name, region)
    if book and book.prices[name] then
      listed[#listed + 1], at = region, book.at
    elseif source and not seen[source] then
      seen[source] = true
      others[#others + 1] = source
    end
  end
  if #listed > 0 then
    local where = #listed <= 3 and table.concat(listed, ", ") or #listed .. " regions"
    table.insert(others, 1, ("AWS price list of %s, read %s"):format(where, at))
  end
  return table.concat(others, "; ")
end

--- The price of a control plane's hour with that version of Kubernetes, and its source.
function M.cluster(ctx, version)
  local usd, source = M.of(ctx, "eks_cluster")
  local book = ctx.price_books and ctx.price_books[ctx.region]
  local extended = book and book.extended[version]
  if not extended then return usd, source, false end
  return usd + M.of(ctx, "eks_extended"), source, true
end

--- The price of a month's GB as one of so many GiB an hour: usd, source.
function M.storage(ctx, name, gib)
  local usd, source = M.of(ctx, name)
  return gib * usd / prices.hours_a_month, source
end

return M
