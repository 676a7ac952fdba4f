--- The simulated AWS: from the bytes of a request to the service's handler and back.

local chance = require "rtl.rehearse.chance"
local decode = require "rtl.rehearse.aws.decode"
local encode = require "rtl.rehearse.aws.encode"
local fault = require "rtl.rehearse.aws.fault"
local json = require "rtl.native.json"
local model = require "rtl.aws.model"
local places = require "rtl.rehearse.aws.places"
local region_module = require "rtl.rehearse.aws.region"
local services = require "rtl.rehearse.weather.services"
local rights = require "rtl.rehearse.rights"
local sign = require "rtl.rehearse.aws.sign"

local M = {}

--- The number of the simulated account: no real one begins with so many zeros.
M.ACCOUNT = "000000009012"

-- Each named world is an account of its own, so that what is kept by account never mixes.
local function account_of(name)
  if not name then return M.ACCOUNT end
  return ("00000%07d"):format(chance.hash(0, "account", name) % 10000000)
end

-- First labels of host names → service.
local HOSTS = {
  ec2 = "ec2", eks = "eks", iam = "iam", sts = "sts", autoscaling = "autoscaling", ssm = "ssm",
  servicequotas = "service_quotas", pricing = "pricing", scheduler = "scheduler", logs = "logs",
  ["resource-groups"] = "resource_groups", tagging = "tagging", elasticloadbalancing = "elb",
  s3 = "s3",
}

-- The files with a service's handlers, in rtl.rehearse.aws.
local FILES = {
  ec2 = { "ec2.catalog", "ec2.network", "ec2.gateways", "ec2.routes", "ec2.groups",
          "ec2.templates", "ec2.machines", "ec2.capacity", "ec2.reservations", "ec2.tags" },
  eks = { "eks.clusters", "eks.nodegroups", "eks.addons", "eks.access" },
  elbv2 = { "elb" },
}

local handlers = {}

local function handlers_of(name)
  if handlers[name] then return handlers[name] end
  local all = {}
  for _, file in ipairs(FILES[name] or { name }) do
    for key, handler in pairs(require("rtl.rehearse.aws." .. file).operations) do
      all[key] = handler
    end
  end
  handlers[name] = all
  return all
end

-- A bucket in the host name is the first step of the path.
local function s3_address(request)
  local bucket, rest = request.url.host:match "^(.+)%.(s3[%.-].*)$"
  if not bucket then return request.url.host end
  request.url.path = "/" .. bucket .. (request.url.path == "/" and "" or request.url.path)
  return rest
end

local function place_of(request)
  local host = s3_address(request)
  local labels = {}
  for label in host:gsub("%.amazonaws%.com$", ""):gsub("%.api%.aws$", ""):gmatch "[^.]+" do
    labels[#labels + 1] = label
  end
  if labels[1] == "api" then table.remove(labels, 1) end
  local name = HOSTS[labels[1]]
  if name == "elb" and request.body:find("Version=2015-12-01", 1, true) then name = "elbv2" end
  return name, labels[2] or "us-east-1"
end

local function request_id(world)
  return chance.uuid(world.seed, "request", world.runs, world.calls_made or 0)
end

local function token_key(svc, op, region, params)
  local token = op.token and params[op.token]
  return token and table.concat({ svc.name, op.key, region, token }, " ")
end

-- Runs a handler; the same client token gets the same answer, other parameters are refused.
local function handle(world, svc, op, region, params)
  local handler = handlers_of(svc.name)[op.key]
  if not handler then
    return fault.fail("NotSimulated", ("the world does not know %s"):format(op.action), 501)
  end
  local key = token_key(svc, op, region, params)
  local print = key and json.encode(params)
  local before = key and world.aws.tokens[key]
  if before then
    if before.print == print then return before.result end
    return fault.fail(svc.name == "ec2" and "IdempotentParameterMismatch"
      or "InvalidParameterException", "the client token was used with other parameters")
  end
  local result, refused = handler(region_module.call(world, region), params)
  if not result then return nil, refused end
  if key then world.aws.tokens[key] = { print = print, result = result } end
  if not op.reads then world:touch() end
  return result
end

local function perform(world, args)
  local svc = model.service(args.s)
  return handle(world, svc, svc.ops[args.o], args.r, args.p)
end

local function page_of(world, op, params, result)
  local page = op.page
  local items = page and result[page.items]
  if not items then return result end
  local asked = tonumber(params[page.size]) or (op.service.name == "eks" and 100) or math.huge
  local size = services.page_size(world, asked)
  local from = tonumber(((params[page.send] or ""):match "^page%-(%d+)$")) or 0
  if size < asked and from + size < #items then world:struck "small-pages" end
  if from == 0 and #items <= size then
    if page.more then result[page.more] = false end
    return result
  end
  local out = {}
  for key, value in next, result do out[key] = value end
  out[page.items] = table.move(items, from + 1, math.min(from + size, #items), 1, {})
  local more = from + size < #items
  if page.more then out[page.more] = more end
  out[page.receive] = more and "page-" .. (from + size) or nil
  return out
end

local function dispatch(world, svc, op, region, params)
  if op.reads then return handle(world, svc, op, region, params) end
  if params.DryRun then
    return fault.fail("DryRunOperation", "Request would have succeeded, but DryRun flag is set.",
                      412)
  end
  return world:change("aws", { s = svc.name, r = region, o = op.key, p = params })
end

local INVALID = "The security token included in the request is invalid"
local UNRECOGNIZED = { "UnrecognizedClientException", INVALID .. "." }
local NOT_ENABLED = {
  ec2query = { "AuthFailure", "AWS was not able to validate the provided access credentials" },
  awsquery = { "InvalidClientTokenId", INVALID },
}

-- A region that the account has not enabled knows its keys as little as any others.
local function not_enabled(svc, region)
  if not places.disabled[region] then return nil end
  return fault.new(table.unpack(NOT_ENABLED[svc.protocol] or UNRECOGNIZED))
end

--- Answers an HTTP request to an AWS host.
function M.answer(world, request)
  local name, region = place_of(request)
  local id = request_id(world)
  if not name or not places.regions[region] then
    return { status = 404, headers = {}, body = "", content_type = "text/plain" }
  end
  local svc = model.service(name)
  local function refuse(why)
    return encode.fault(svc, fault.complete(svc, why), id, request.method == "HEAD")
  end
  local refused = not_enabled(svc, region) or sign.refusal(world, svc, region, request)
  if refused then return refuse(refused) end
  local op, params = decode.request(svc, request)
  if not op then return refuse(params) end
  local denied = rights.refusal(region_module.call(world, region), op, params)
  if denied then return refuse(denied) end
  local stroke = services.before(world, svc, op, region)
  if stroke then return refuse(stroke) end
  local result, why = dispatch(world, svc, op, region, params)
  why = services.after(world, svc) or why
  if why then return refuse(why) end
  return encode.result(op, page_of(world, op, params, result), id)
end

--- Prepares a new world's account. `keys`: the credentials that its environment gives.
function M.open(world, keys)
  local account = account_of(world.keys.name)
  local caller = {
    access_key_id = keys.access_key_id, secret_access_key = keys.secret_access_key,
    session_token = keys.session_token, user_id = "AROARTLWORLD00000ADMIN:operator",
    arn = ("arn:aws:sts::%s:assumed-role/Admin/operator"):format(account),
    principal = ("arn:aws:iam::%s:role/Admin"):format(account),
  }
  world.keys_of = { [keys.access_key_id] = caller }
  world.aws = { account = account, caller = caller, tokens = {}, regions = {}, region_names = {} }
  world.performers.aws = perform
  require "rtl.rehearse.aws.iam".open(world)
  rights.open(world)
end

--- The operations that the world answers: array of "SERVICE:OPERATION", sorted. The portal of a
-- login (sso) has no host here: the world's environment holds keys.
function M.answered()
  local list, played = {}, { elbv2 = true }
  for _, name in pairs(HOSTS) do played[name] = true end
  for _, name in ipairs(model.services()) do
    local operations = model.service(name).operations
    for key in pairs(played[name] and handlers_of(name) or {}) do
      if operations[key] then list[#list + 1] = name .. ":" .. key end
    end
  end
  table.sort(list)
  return list
end

--- What stands in the account that a call made: array of { service, kind, id, region }.
function M.standing(world)
  local list = {}
  for _, name in ipairs(world.aws.region_names) do
    region_module.standing(world.aws.regions[name], list)
  end
  require "rtl.rehearse.aws.iam".standing(world, list)
  return list
end

return M
