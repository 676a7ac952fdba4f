--- Regions, partitions, and where a service lives in them.

local err = require "rtl.err"
local process = require "rtl.process"

local M = {}

-- `dual` is the suffix of addresses that speak IPv6, too. The plain endpoints of us-gov are FIPS
-- endpoints already (`fips_is_plain`).
local PARTITIONS = {
  { id = "aws-cn", prefix = "cn-", suffix = "amazonaws.com.cn",
    dual = "api.amazonwebservices.com.cn" },
  { id = "aws-us-gov", prefix = "us-gov-", suffix = "amazonaws.com", dual = "api.aws",
    fips_is_plain = true },
  { id = "aws-eusc", prefix = "eusc-", suffix = "amazonaws.eu", dual = "api.amazonwebservices.eu" },
  { id = "aws-iso", prefix = "us-iso-", suffix = "c2s.ic.gov", dual = "api.aws.ic.gov" },
  { id = "aws-iso-b", prefix = "us-isob-", suffix = "sc2s.sgov.gov", dual = "api.aws.scloud" },
  { id = "aws-iso-e", prefix = "eu-isoe-", suffix = "cloud.adc-e.uk",
    dual = "api.cloud-aws.adc-e.uk" },
  { id = "aws-iso-f", prefix = "us-isof-", suffix = "csp.hci.ic.gov", dual = "api.aws.hci.ic.gov" },
}

local AWS = { id = "aws", suffix = "amazonaws.com", dual = "api.aws" }

local function partition(region)
  for _, candidate in ipairs(PARTITIONS) do
    if region:sub(1, #candidate.prefix) == candidate.prefix then return candidate end
  end
  return AWS
end

--- Whether a text has the form of a region's name: it becomes part of a host's.
function M.is_region(text)
  return text:match "^%l%l[%l%d-]*%-%d+$" ~= nil
end

--- The partition id of a region: "aws", "aws-cn", "aws-us-gov", …
function M.partition(region)
  return partition(region).id
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
  local ignore = process.variable "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
    or profile and profile.ignore_configured_endpoint_urls
  if ignore and ignore:lower() == "true" then return nil end
  local own = variable_of(svc)
  local url = process.variable("AWS_ENDPOINT_URL_" .. own)
    or process.variable "AWS_ENDPOINT_URL"
  if url or not profile then return url end
  local services = profile.services and profile.services[own:lower()]
  return services and present(services.endpoint_url) or present(profile.endpoint_url)
end

-- A bucket name that can stand in a host name under the wildcard certificate.
local function is_host_label(bucket)
  return #bucket >= 3 and #bucket <= 63 and bucket:match "^[%l%d][%l%d-]*[%l%d]$" ~= nil
end

-- The form of a host where the service's table says nothing else.
local RULE = {
  plain = "{service}.{region}.{suffix}", dual = "{service}.{region}.{dual}",
  fips = "{service}-fips.{region}.{suffix}", fips_dual = "{service}-fips.{region}.{dual}",
}

local WORDS = {
  plain = "plain", dual = "dual-stack", fips = "FIPS", fips_dual = "FIPS dual-stack",
}

local function kind_of(variant)
  if not variant then return "plain" end
  return variant.fips and (variant.dual and "fips_dual" or "fips")
    or variant.dual and "dual" or "plain"
end

-- The host's form: what the table has for the partition, for all of them, or the rule. False: none.
local function form_of(svc, part, kind)
  for _, key in ipairs { part.id, "any" } do
    local own = svc.hosts and svc.hosts[key]
    if own and own[kind] ~= nil then return own[kind] end
  end
  return RULE[kind == "fips" and part.fips_is_plain and "plain" or kind]
end

local function filled(form, fields)
  return (form:gsub("{(%w+)}", fields))
end

local function absent(svc, region, kind)
  return err.fail {
    code = "RTL-AWS-008", message = ("%s has no %s endpoint in %s (%s)"):format(
      svc.id, WORDS[kind], region, partition(region).id),
    hint = "unset AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT (or the profile's "
      .. "use_fips_endpoint and use_dualstack_endpoint), or set AWS_ENDPOINT_URL_"
      .. variable_of(svc),
  }
end

-- An endpoint of the user's own: no login in it, and nothing behind its path.
local function own_endpoint(svc, given, signing, variant)
  local authority, rest = given:match "^https?://([^/?#@%s]+)(.*)$"
  if not authority or rest:find "^[^/]" or rest:find "[?#%s]" then
    return err.fail {
      code = "RTL-AWS-010", message = ("the endpoint of %s can't be '%s'"):format(svc.id,
        (given:gsub("//.*@", "//…@"))),
      hint = "it is written like https://host:port/path (AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_"
        .. variable_of(svc) .. " or the profile's endpoint_url)",
    }
  end
  if variant and variant.fips then
    return err.fail {
      code = "RTL-AWS-008",
      message = ("a FIPS endpoint of %s is wanted, and the endpoint %s is set"):format(svc.id,
        given),
      hint = "unset AWS_USE_FIPS_ENDPOINT (use_fips_endpoint), or AWS_ENDPOINT_URL",
    }
  end
  return {
    url = given:gsub("/+$", ""), root = rest == "" and given .. "/" or given, region = signing,
    own = true, kind = "plain",
  }
end

--- Where a service is: {url = "https://host", root = the URL of a request without a path of its own
-- ("https://host/"), region = signing region, kind = "plain|dual|fips|fips_dual", own = true when
-- the user set it}, or nil and RTL-AWS-002, -008 or -010. `variant` is
-- nil or {fips = bool, dual = bool}. An endpoint of the user's own is taken as it is, except that
-- nobody can say of it that it is a FIPS endpoint.
function M.resolve(svc, region, given, variant)
  if not M.is_region(region) then
    return err.fail {
      code = "RTL-AWS-002", message = "'" .. region .. "' is not the name of a region",
    }
  end
  local part, kind = partition(region), kind_of(variant)
  local fixed = svc.hosts and svc.hosts[part.id]
  local signing = fixed and fixed.region or region
  if given then return own_endpoint(svc, given, signing, variant) end
  local form = form_of(svc, part, kind)
  if not form then return absent(svc, region, kind) end
  local url = "https://" .. filled(form, {
    service = svc.endpoint, region = signing, suffix = part.suffix, dual = part.dual,
  })
  return { url = url, root = url .. "/", region = signing, kind = kind }
end

--- What a person may look at when the host of an endpoint has no address.
function M.unknown_host(endpoint, svc, region)
  if endpoint.own then return nil end
  if endpoint.kind == "plain" then return ("is '%s' a region?"):format(region) end
  return ("is there a %s endpoint of %s in '%s'? (AWS_USE_FIPS_ENDPOINT, "
    .. "AWS_USE_DUALSTACK_ENDPOINT, use_fips_endpoint, use_dualstack_endpoint)"):format(
    WORDS[endpoint.kind], svc.id, region)
end

--- The URL of a request: S3's bucket goes into the host where its name allows it.
function M.url(endpoint, request, bucket)
  local base, path = endpoint.url, request.path
  local query = request.query and "?" .. request.query or ""
  if path == "/" then return endpoint.root .. query end
  if bucket and not endpoint.own and is_host_label(bucket) then
    base = base:gsub("^https://", "https://" .. bucket .. ".")
    path = path:sub(#bucket + 2)
    if path == "" then path = "/" end
  end
  return base .. path .. query
end

return M
