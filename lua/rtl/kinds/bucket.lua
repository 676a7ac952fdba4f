--- An S3 bucket for checkpoints: private, tagged, kept at teardown unless data is purged.
-- bucket "checkpoints" { bucket_name = "team-checkpoints" } → bucket_name, arn

local array = require "rtl.array"
local compare = require "rtl.plan.compare"
local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local support = require "rtl.kinds.support"

-- For `actions`.
local ARN = "arn:{partition}:s3:::{bucket_name}"

local function name_of(res)
  return res.given or res.fields.bucket_name
end

local function arn_of(ctx, name)
  return ("arn:%s:s3:::%s"):format(ctx.partition, name)
end

local function tags_of(ctx, name)
  local answer, failure = ctx:aws("s3"):get_bucket_tagging { Bucket = name }
  if answer then return support.tags_of(answer.TagSet) end
  if failure.code == "NoSuchTagSet" or failure.status == 404 then return {} end
  return nil, failure
end

local function missing(failure)
  return failure.status == 404 or failure.code == "NoSuchBucket"
end

local CLOSED = { BlockPublicAcls = true, IgnorePublicAcls = true, BlockPublicPolicy = true,
  RestrictPublicBuckets = true }

-- Whether all ways of making a bucket public are blocked: true, false, or nil, err.
local function is_private(ctx, name)
  local answer, failure = ctx:aws("s3"):get_public_access_block { Bucket = name }
  if answer then return compare.same(CLOSED, answer.PublicAccessBlockConfiguration or {}) end
  if failure.code == "NoSuchPublicAccessBlockConfiguration" or failure.status == 404 then
    return false
  end
  return nil, failure
end

-- A look at a bucket comes without a text.
local function closed(res, name, failure)
  if failure.status ~= 403 then return failure end
  return err.wrap(failure, { code = "RTL-PLAN-007", doing = res.key, exit = "refused",
    message = ("bucket %s belongs to another account, or these credentials may not see it")
      :format(name), hint = "Bucket names are taken world-wide: choose another name" })
end

-- Whether the ledger says that we made it, or were about to.
local function is_noted(ctx, res)
  local entry = ctx.ledger and ctx.ledger:state()[res.key]
  return entry and (entry.state == "open" or entry.state == "made")
end

-- Without our tag it is only ours if the ledger knows of it: a bucket that was there before may
-- hold data of years, and would be tagged, and purged.
local function read(ctx, res)
  local name = name_of(res)
  local answer, failure = ctx:aws("s3"):head_bucket { Bucket = name }
  if not answer and missing(failure) then return nil end
  if not answer then return nil, closed(res, name, failure) end
  local tags, refused = tags_of(ctx, name)
  if not tags then return nil, refused end
  local ours = support.is_ours(ctx, tags) or not tags["rtl:deployment"] and is_noted(ctx, res)
  if not res.given and not ours then
    local problem = support.stranger(res, "bucket " .. name)
    problem.hint = "A bucket that is there is used by use_bucket; choose another name for bucket"
    return nil, problem
  end
  local live = { id = name, bucket_name = name, arn = arn_of(ctx, name),
    tagged = support.is_ours(ctx, tags) }
  if res.given then return live end
  live.private, refused = is_private(ctx, name)
  if live.private == nil then return nil, refused end
  return live
end

-- A bucket made and not yet tagged or closed (the program died between the calls) is so now.
local function diff(_, res, _, live)
  local changes = {}
  if res.given then return changes end
  if not live.tagged then changes[1] = { field = "tags", want = "this deployment's" } end
  if not live.private then
    changes[#changes + 1] = { field = "public access", want = "blocked", have = "open" }
  end
  return changes
end

local function settle(ctx, res, name)
  local s3 = ctx:aws "s3"
  local done, failure = s3:put_bucket_tagging { Bucket = name,
    Tagging = { TagSet = support.tag_list(ctx:tags_for(res)) } }
  if not done then return nil, failure end
  return s3:put_public_access_block { Bucket = name, PublicAccessBlockConfiguration = CLOSED }
end

local function create(ctx, res, f)
  local name = f.bucket_name
  local place = ctx.region ~= "us-east-1" and { LocationConstraint = ctx.region } or nil
  local answer, failure = ctx:aws("s3"):create_bucket { Bucket = name,
    CreateBucketConfiguration = place }
  if not answer and failure.code ~= "BucketAlreadyOwnedByYou" then return nil, failure end
  local live = { id = name, bucket_name = name, arn = arn_of(ctx, name) }
  local done, refused = settle(ctx, res, name)
  if not done then return nil, refused, live end
  return live
end

local function empty(ctx, name)
  local s3 = ctx:aws "s3"
  while true do
    local answer, failure = s3:list_objects_v2 { Bucket = name, MaxKeys = 1000 }
    if not answer then return nil, failure end
    local objects = array {}
    for _, object in ipairs(answer.Contents or {}) do
      objects[#objects + 1] = { Key = object.Key }
    end
    if #objects == 0 then return true end
    local done, refused = s3:delete_objects { Bucket = name,
      Delete = { Objects = objects, Quiet = true } }
    if not done then return nil, refused end
  end
end

local function delete(ctx, item)
  local done, failure = empty(ctx, item.id)
  if not done and not missing(failure) then return nil, failure end
  return support.delete(ctx, item, function ()
    local gone, refused = ctx:aws("s3"):delete_bucket { Bucket = item.id }
    if not gone and missing(refused) then return true end
    return gone, refused
  end)
end

-- From another machine there is no ledger: what carries our tag.
local function find(ctx)
  local list, failure = ctx:aws("tagging"):all("get_resources", {
    TagFilters = { { Key = "rtl:deployment", Values = { ctx.deployment } } },
    ResourceTypeFilters = { "s3" } })
  if not list then return nil, failure end
  local found = {}
  for i, item in ipairs(list) do
    local name = item.ResourceARN:match("([^:]+)$")
    found[i] = { id = name, name = name, outputs = { bucket_name = name, arn = item.ResourceARN } }
  end
  return found
end

return kind.define {
  name = "bucket",
  outputs = { "bucket_name", "arn" },
  fields = { bucket_name = "string" },
  identity = { "bucket_name" },
  known = function (ctx, res)
    return { bucket_name = name_of(res), arn = arn_of(ctx, name_of(res)) }
  end,
  read = read,
  diff = diff,
  create = create,
  update = function (ctx, res, _, live) return settle(ctx, res, live.id) end,
  delete = delete,
  tokened = true,
  data = true,
  find = find,
  ready = { usual = 3, delete_usual = 10 },
  actions = {
    "tag:GetResources",
    { "s3:ListBucket", "s3:GetBucketTagging", "s3:GetBucketPublicAccessBlock", on = ARN },
    { "s3:CreateBucket", "s3:PutBucketTagging", "s3:PutBucketPublicAccessBlock", on = ARN },
    { "s3:DeleteBucket", on = ARN, purge = true },
    { "s3:DeleteObject", on = ARN .. "/*", purge = true },
  },
}
