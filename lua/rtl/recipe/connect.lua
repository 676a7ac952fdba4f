--- How a run reaches its systems: an AWS account, or a cluster that a kubeconfig names.
--
-- With the setting `kubeconfig` there is no AWS in the run: what stands is used and checked.

local aws = require "rtl.aws"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local k8s = require "rtl.k8s"
local proxies = require "rtl.wire.proxy"
local settings = require "rtl.recipe.settings"
local value = require "rtl.recipe.value"
local task = require "rtl.task"

local M = {}

local function open_kubeconfig(values)
  local client, failure = k8s.from_kubeconfig { path = values.kubeconfig,
    context = value.given(values.context) }
  if not client then
    return nil, err.wrap(failure, { doing = "use the setting kubeconfig", exit = "usage" })
  end
  local cluster = client.server:gsub("^https?://", ""):gsub("[^%w.-]", "_")
  return {
    where = { partition = "kube", account = cluster, region = values.namespace,
      deployment = values.name },
    who = "cluster " .. client.server,
    k8s = function () return client end,
  }
end

local function session_of(values, options)
  return aws.session {
    region = options.region or values.region[1], notice = options.notice, ask = options.ask,
    credentials = options.credentials, profile = value.given(values.profile),
  }
end

-- Where the keys come from: "profile dev", "environment", "instance role node".
local function origin_of(session)
  local described = assert(session:describe())
  return described.profile and "profile " .. described.profile
    or (described.source:gsub(" %(.*$", ""))
end

local function who_is(session, identity)
  local role = identity.arn:match("assumed%-role/([^/]+)")
  role = role and "role " .. role or identity.arn:match("[^:]*$"):gsub("/", " ", 1)
  return ("account …%s · %s (%s)"):format(identity.account:sub(-4), role, origin_of(session))
end

-- Base64 of the cluster's certificate, as EKS gives it.
local function certificate(cluster)
  return assert(crypto.base64_decode(cluster.certificateAuthority.data))
end

-- A token for the cluster; `anew` when it has refused one. It does not say why: STS does, should it
-- be that the keys behind it have ended.
local function token_for(session, cluster, anew)
  if anew then
    local known, failure = session:confirm()
    if not known then return nil, failure end
  end
  return aws.eks_token(session, cluster.name)
end

local function client_of(session, cluster, namespace)
  return k8s.client {
    server = cluster.endpoint, ca = certificate(cluster), namespace = namespace,
    token = function (anew) return token_for(session, cluster, anew) end,
  }
end

local function not_yet(name, text)
  return nil, err.new { code = "RTL-STEP-013", absent = true,
    message = ("cluster %s %s"):format(name, text), hint = "rtl recipes/deploy.lua makes it" }
end

-- The name of a new cluster's endpoint and its creator's access reach the world some time after it
-- is ACTIVE, and its servers may restart: what is refused for that is asked again, a while.
local YOUNG, LOOK_EVERY, PATIENCE, UNREACHED = 3600, 5, 600, 120

local function is_too_young(e)
  return e.code == "RTL-NET-001" or e.status == 401 or e.status == 403
end

-- Seconds for which a young cluster is asked again after such a failure.
local function patience(failure)
  if err.find(failure, is_too_young) then return PATIENCE end
  return failure.retryable and UNREACHED or 0
end

local function await_answer(client, cluster)
  if clock.utc() - (cluster.createdAt or 0) > YOUNG then return true end
  local began = clock.mono()
  while true do
    local version, failure = client:version()
    if version then return true end
    if clock.mono() - began >= patience(failure) then return nil, failure end
    task.sleep(LOOK_EVERY)
  end
end

local function find_cluster(session, client_for, values, name)
  local answer, failure = client_for("eks"):describe_cluster { name = name }
  if failure and aws.errors.not_found(failure) then return not_yet(name, "is not there yet") end
  if failure then return nil, failure end
  if answer.cluster.status ~= "ACTIVE" and answer.cluster.status ~= "UPDATING" then
    return not_yet(name, "is " .. (answer.cluster.status or "without a status"))
  end
  local client = client_of(session, answer.cluster, values.namespace)
  local answers, refused = await_answer(client, answer.cluster)
  if not answers then return nil, refused end
  return client
end

local LATELY = 60 -- seconds for which a cluster that did not answer is not waited for again

-- The client of the deployment's EKS cluster, kept once the cluster answers. Tasks that ask at the
-- same time share one look.
local function eks_client(session, client_for, values, link)
  local kept, looking, unreached
  local function name()
    return link.cluster or value.given(values.use_cluster) or values.name
  end
  return function ()
    while looking do
      local found, failure = looking:get()
      if found ~= false then return found, failure end -- else whoever looked was stopped
    end
    if kept then return kept end
    if unreached and clock.mono() < unreached.again then return nil, unreached.failure end
    local mine = task.future()
    looking = mine
    local _ <close> = setmetatable({}, { __close = function ()
      looking = nil
      if not mine:ready() then mine:set(false) end
    end })
    local client, failure = find_cluster(session, client_for, values, name())
    kept, unreached = client, nil
    if failure and not failure.absent then
      unreached = { failure = failure, again = clock.mono() + LATELY }
    end
    mine:set(client, failure)
    return client, failure
  end
end

local function is_nobody_there(e)
  return e.code == "RTL-NET-001" or e.status == 404
end

-- A misspelt region shows as a host that nobody knows.
local function with_region(refused, region)
  if err.find(refused, is_nobody_there) and not refused.hint then
    refused.hint = ("Is '%s' a region of AWS? Else look at the network"):format(region)
  end
  return refused
end

local function open_aws(values, options)
  local session, failure = session_of(values, options)
  if not session then return nil, failure end
  local identity, refused = session:identity()
  if not identity then return nil, with_region(refused, session.region) end
  local clients = {}
  local function client_for(service, of)
    local key = service .. "\0" .. (of and of.region or "")
    clients[key] = clients[key] or session:client(service, of)
    return clients[key]
  end
  local link = {
    where = { partition = identity.partition, account = identity.account,
      region = session.region, deployment = values.name },
    who = who_is(session, identity), caller = identity.arn, aws = client_for, session = session,
  }
  link.k8s = eks_client(session, client_for, values, link)
  return link
end

--- Opens what the settings name. Returns {where = {partition, account, region, deployment}, who =
-- text, aws = function (service[, options]) → client, k8s = function () → client | nil, err}, or
-- nil and an error. With a kubeconfig there is no aws. options: region (overrides the settings'
-- first one), credentials (those of a former session), ask = fn(prompt) → text | nil (a person),
-- notice = fn(text), told when AWS does not answer for a while.
function M.open(values, options)
  local proxy = settings.optional(values, "proxy")
  proxies.use(value.given(proxy))
  if values.kubeconfig ~= "" then return open_kubeconfig(values) end
  return open_aws(values, options or {})
end

return M
