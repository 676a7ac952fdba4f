--- S3, as far as a bucket for checkpoints needs it. Bucket names are the account's own here.

local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local fault = require "rtl.rehearse.aws.fault"
local region_module = require "rtl.rehearse.aws.region"

local M = { operations = {} }
local ops = M.operations

local function find(call, name)
  for _, region_name in ipairs(call.aws.region_names) do
    local bucket = call.aws.regions[region_name].buckets:get(name)
    if bucket then return bucket, call.aws.regions[region_name] end
  end
  return nil
end

local function need(call, p)
  local bucket, region = find(call, p.Bucket)
  if bucket then return bucket, region end
  return fault.fail("NoSuchBucket", "The specified bucket does not exist", 404)
end

function ops.create_bucket(call, p)
  if find(call, p.Bucket) then
    return fault.fail("BucketAlreadyOwnedByYou", "Your previous request to create the named bucket "
                      .. "succeeded and you already own it.", 409)
  end
  local wanted = (p.CreateBucketConfiguration or {}).LocationConstraint
  if (wanted or "us-east-1") ~= call.region.name then
    return fault.fail("IllegalLocationConstraintException", "The location constraint is "
                      .. "incompatible for the region specific endpoint this request was sent to.")
  end
  region_module.of(call.world, call.region.name).buckets:add(p.Bucket, { Name = p.Bucket,
    CreationDate = call.world:second(), BucketRegion = call.region.name, objects = {}, tags = nil })
  return { Location = "/" .. p.Bucket }
end

function ops.head_bucket(call, p)
  local bucket, refused = need(call, p)
  return bucket and { BucketRegion = bucket.BucketRegion }, not bucket and refused or nil
end

function ops.list_buckets(call)
  local list = array {}
  for _, name in ipairs(call.aws.region_names) do
    for _, bucket in ipairs(call.aws.regions[name].buckets:all()) do list[#list + 1] = bucket end
  end
  table.sort(list, function (a, b) return a.Name < b.Name end)
  return { Buckets = list }
end

function ops.delete_bucket(call, p)
  local bucket, region = need(call, p)
  if not bucket then return nil, region end
  if next(bucket.objects) then
    return fault.fail("BucketNotEmpty", "The bucket you tried to delete is not empty", 409)
  end
  region.buckets:remove(p.Bucket)
  return {}
end

function ops.put_bucket_tagging(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  bucket.tags = p.Tagging.TagSet
  return {}
end

function ops.get_bucket_tagging(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  if not bucket.tags then return fault.fail("NoSuchTagSet", "The TagSet does not exist", 404) end
  return { TagSet = bucket.tags }
end

-- Settings of a bucket that are kept as they come.
local function keeper(field, code, message)
  return function (call, p)
    local bucket, refused = need(call, p)
    if not bucket then return nil, refused end
    bucket[field] = p[field]
    return {}
  end, function (call, p)
    local bucket, refused = need(call, p)
    if not bucket then return nil, refused end
    if not bucket[field] then return fault.fail(code, message, 404) end
    return { [field] = bucket[field] }
  end
end

ops.put_public_access_block, ops.get_public_access_block = keeper("PublicAccessBlockConfiguration",
  "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found")
ops.put_bucket_encryption, ops.get_bucket_encryption = keeper("ServerSideEncryptionConfiguration",
  "ServerSideEncryptionConfigurationNotFoundError", "no encryption configuration")
ops.put_bucket_lifecycle_configuration = keeper("LifecycleConfiguration", "", "")

function ops.get_bucket_versioning(call, p)
  local bucket, refused = need(call, p)
  return bucket and {}, not bucket and refused or nil
end

local function sorted_keys(bucket, prefix)
  local keys = {}
  for key in next, bucket.objects do
    if key:sub(1, #prefix) == prefix then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

function ops.list_objects_v2(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  local list = array {}
  for i, key in ipairs(sorted_keys(bucket, p.Prefix or "")) do list[i] = bucket.objects[key] end
  return { Name = p.Bucket, Prefix = p.Prefix or "", KeyCount = #list, MaxKeys = p.MaxKeys or 1000,
           IsTruncated = false, Contents = list, CommonPrefixes = array {} }
end

function ops.list_object_versions(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  local list = array {}
  for i, key in ipairs(sorted_keys(bucket, p.Prefix or "")) do
    local object = bucket.objects[key]
    list[i] = { Key = key, VersionId = "null", IsLatest = true, Size = object.Size,
                ETag = object.ETag, LastModified = object.LastModified }
  end
  return { Name = p.Bucket, IsTruncated = false, Versions = list, DeleteMarkers = array {},
           CommonPrefixes = array {} }
end

function ops.list_multipart_uploads(call, p)
  local bucket, refused = need(call, p)
  return bucket and { Bucket = p.Bucket, IsTruncated = false, Uploads = array {} },
         not bucket and refused or nil
end

function ops.put_object(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  local body = p.Body or ""
  local tag = '"' .. crypto.hex(crypto.md5(body)) .. '"'
  bucket.objects[p.Key] = { Key = p.Key, Size = #body, ETag = tag, body = body,
    LastModified = call.world:second(), StorageClass = "STANDARD", ContentType = p.ContentType }
  return { ETag = tag }
end

function ops.get_object(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  local object = bucket.objects[p.Key]
  if not object then return fault.fail("NoSuchKey", "The specified key does not exist.", 404) end
  return { Body = object.body, ETag = object.ETag, LastModified = object.LastModified,
           ContentType = object.ContentType or "binary/octet-stream" }
end

function ops.delete_object(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  bucket.objects[p.Key] = nil
  return {}
end

function ops.delete_objects(call, p)
  local bucket, refused = need(call, p)
  if not bucket then return nil, refused end
  local deleted = array {}
  for i, object in ipairs(p.Delete.Objects) do
    bucket.objects[object.Key] = nil
    deleted[i] = { Key = object.Key }
  end
  return { Deleted = deleted, Errors = array {} }
end

return M
