--- Regions, partitions, and where a service lives in them.

local process = require "rtl.process"

local M = {}

local PARTITIONS = {
  { id = "aws-cn", prefix = "cn-", suffix = "amazonaws.com.cn" },
  { id = "aws-us-gov", prefix = "us-gov-", suffix = "amazonaws.com" },
  { id = "aws-eusc", prefix = "eusc-", suffix = "amazonaws.eu" },
  { id = "aws-iso", prefix = "us-iso-", suffix = "c2s.ic.gov" },
  { id = "aws-iso-b", prefix = "us-isob-", suffix = "sc2s.sgov.gov" },
}

local AWS = { id = "aws", suffix = "amazonaws.com" }

local function partition(region)
  for _, candidate in ipairs(PARTITIONS) do
    if region:sub(1, #candidate.prefix) == candidate.prefix then return candidate end
  end
  return AWS
end

--- The partition id of a region: "aws", "aws-cn", "aws-us-gov", …
function M.partition(region)
  return partition(region).id
end

--- The DNS suffix of a region's partition: "amazonaws.com", …
function M.suffix(region)
  return partition(region).suffix
end

-- "Service Quotas" → "SERVICE_QUOTAS"
local function variable_of(svc)
  return (svc.id:upper():gsub("[ -]", "_"))
end

local function present(text)
  return text ~= nil and text ~= "" and text or nil
end

--- The endpoint that the user set for a service, or nil: AWS_ENDPOINT_URL_<SERVICE>,
-- AWS_ENDPOINT_URL, then the profile's `services` section and its `endpoint_url`.
function M.configured(svc, profile)
  local ignore = present(process.getenv "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
    or profile and profile.ignore_configured_endpoint_urls
  if ignore and ignore:lower() == "true" then return nil end
  local own = variable_of(svc)
  local url = present(process.getenv("AWS_ENDPOINT_URL_" .. own))
    or present(process.getenv "AWS_ENDPOINT_URL")
  if url or not profile then return url end
  local services = profile.services and profile.services[own:lower()]
  return services and present(services.endpoint_url) or present(profile.endpoint_url)
end

-- A bucket name that can stand in a host name under the wildcard certificate.
local function is_host_label(bucket)
  return #bucket >= 3 and #bucket <= 63 and bucket:match "^[%l%d][%l%d-]*[%l%d]$" ~= nil
end

--- Where a service is: {url = "https://host", region = signing region, own = true when the user
-- set it}.
function M.resolve(svc, region, given)
  local fixed = svc.fixed and svc.fixed[partition(region).id]
  local signing = fixed and fixed.region or region
  if given then return { url = given:gsub("/+$", ""), region = signing, own = true } end
  local host = fixed and fixed.host
    or ("%s.%s.%s"):format(svc.endpoint, region, partition(region).suffix)
  return { url = "https://" .. host, region = signing }
end

--- The URL of a request: S3's bucket goes into the host where its name allows it.
function M.url(endpoint, request, bucket)
  local base, path = endpoint.url, request.path
  if bucket and not endpoint.own and is_host_label(bucket) then
    base = base:gsub("^https://", "https://" .. bucket .. ".")
    path = path:sub(#bucket + 2)
    if path == "" then path = "/" end
  end
  return base .. path .. (request.query and "?" .. request.query or "")
end

return M
