-- rtl.k8s against a scripted API server: paths, queries, errors, retries, discovery, lists.
local api = require "test.support.apiserver"
local clock = require "rtl.clock"
local err = require "rtl.err"
local json = require "rtl.native.json"
local k8s = require "rtl.k8s"
local secret = require "rtl.native.secret"

local s

local function start(routes, options)
  s = api.start(routes)
  options = options or {}
  options.server = "https://cluster.test:6443/prefix/"
  return k8s.client(options)
end

local function reset(sent)
  return function () return nil, err.new { code = "RTL-NET-008", message = "connection lost",
    retryable = true, sent = sent } end
end

local PODS = "/prefix/api/v1/namespaces/default/pods"

after_each(function ()
  if s then s:stop() end
  s = nil
end)

describe("a request", function ()
  it("goes to the object's path with our name and token", function ()
    local c = start({ ["GET " .. PODS .. "/a%2Fb"] = { 200, { kind = "Pod" } } },
      { token = secret.new "t0ken", as = { user = "jo", groups = { "x", "y" },
        extra = { ["a/b"] = { "1" } } } })
    assert.equal("Pod", assert(c:get("pods", "a/b")).kind)
    local headers = s.log[1].headers
    assert.equal("Bearer t0ken", headers.authorization)
    assert.equal("rtl", headers["user-agent"])
    assert.equal("jo", headers["impersonate-user"])
    assert.equal("1", headers["impersonate-extra-a%2fb"])
  end)

  it("gives the server's reason as code", function ()
    local c = start { ["GET " .. PODS .. "/x"] = { 404,
      api.status(404, "NotFound", 'pods "x" not found') } }
    local value, problem = c:get("Pod", "x")
    assert.is_nil(value)
    assert.equal("NotFound", problem.code)
    assert.equal(404, problem.status)
    assert.equal('get Pod default/x: pods "x" not found (NotFound, HTTP 404)', tostring(problem))
  end)

  it("takes an error that is text", function ()
    local c = start { ["GET " .. PODS .. "/x"] = { 403, "no entry for you\nmore" } }
    local _, problem = c:get("Pod", "x")
    assert.equal("Forbidden", problem.code)
    assert.equal("no entry for you", problem.message)
  end)

  it("refuses an answer that is no JSON", function ()
    local c = start { ["GET " .. PODS .. "/x"] = { 200, "<html>" } }
    local _, problem = c:get("Pod", "x")
    assert.equal("RTL-K8S-003", problem.code)
  end)

  it("waits as long as the server asks, then goes on", function ()
    local c = start { ["GET " .. PODS .. "/x"] = function (_, count)
      if count == 1 then
        return { 429, "Too many requests, please try again later.\n",
          headers = { ["Retry-After"] = "7" } }
      elseif count == 2 then
        return { 503, api.status(503, "ServiceUnavailable", "x") }
      end
      return { 200, { kind = "Pod" } }
    end }
    assert(c:get("Pod", "x"))
    assert.equal(3, #s.log)
    assert.is_true(clock.mono() >= 7)
  end)

  it("does not wait for a day because a server says so, nor read an error without an end",
    function ()
    local read = 0
    local c = start { ["GET " .. PODS .. "/x"] = { 429, "",
      headers = { ["Retry-After"] = "86400" } },
      ["GET " .. PODS] = { 403, stream = setmetatable({}, { __index = function ()
        read = read + 1
        return ("x"):rep(65536)
      end }) } }
    local _, problem = c:get("Pod", "x")
    assert.equal("TooManyRequests", problem.code)
    assert.is_true(clock.mono() < 400)
    _, problem = c:list("Pod")
    assert.equal("Forbidden", problem.code)
    assert.is_true(read < 40)
  end)

  it("gives up after some tries", function ()
    local c = start { ["GET " .. PODS .. "/x"] = { 503, "down" } }
    local _, problem = c:get("Pod", "x")
    assert.equal("ServiceUnavailable", problem.code)
    assert.equal(6, #s.log)
  end)

  it("is patient where the server answered before and nothing gets through now", function ()
    local c = start { ["GET " .. PODS .. "/x"] = function (_, count)
      if count > 1 and count < 9 then return reset(false)() end
      return { 200, { kind = "Pod" } }
    end }
    assert(c:get("Pod", "x"))
    assert(c:get("Pod", "x"))
    assert.equal(9, #s.log)
    assert.is_true(clock.mono() > 15 and clock.mono() < 150)
  end)

  it("sends a create once, an apply again", function ()
    local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = "p" } }
    local c = start { ["POST " .. PODS] = reset(true),
      ["PATCH " .. PODS .. "/p"] = function (_, count)
      if count == 1 then return reset(true)() end
      return { 201, pod }
    end }
    local _, problem = c:create(pod)
    assert.equal("RTL-NET-008", problem.code)
    assert.is_true(problem.sent)
    assert.equal(1, s.counts["POST " .. PODS])
    assert(c:apply(pod))
    assert.equal(2, s.counts["PATCH " .. PODS .. "/p"])
  end)

  it("sends a create again when it surely did not arrive, or was turned away", function ()
    local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = "p" } }
    local c = start { ["POST " .. PODS] = function (_, count)
      if count == 1 then return reset(false)() end
      if count == 2 then return { 429, "busy" } end
      return { 201, pod }
    end }
    assert(c:create(pod))
    assert.equal(3, #s.log)
  end)
end)

describe("a token function", function ()
  it("is asked again before the token ends and once after a 401", function ()
    local asked = {}
    local c = start({ ["GET " .. PODS .. "/x"] = function (request, count)
      if count == 3 then return { 401, api.status(401, "Unauthorized", "Unauthorized") } end
      return { 200, { token = request.headers.authorization } }
    end }, { token = function (anew)
      asked[#asked + 1] = anew
      return secret.new("t" .. #asked), clock.utc() + 900
    end })
    assert.equal("Bearer t1", assert(c:get("Pod", "x")).token)
    clock.advance(14 * 60)
    assert.equal("Bearer t2", assert(c:get("Pod", "x")).token)
    assert.equal("Bearer t3", assert(c:get("Pod", "x")).token)
    assert.same({ false, false, true }, asked)
  end)

  it("does not ask for ever", function ()
    local c = start({ ["GET " .. PODS .. "/x"] = { 401, api.status(401, "Unauthorized", "no") } },
      { token = function () return secret.new "t", clock.utc() + 900 end })
    local _, problem = c:get("Pod", "x")
    assert.equal("Unauthorized", problem.code)
    assert.equal(2, #s.log)
  end)

  it("may fail itself", function ()
    local c = start({}, { token = function () return nil,
      err.new { code = "X", message = "no token" } end })
    local _, problem = c:get("Pod", "x")
    assert.equal("X", problem.code)
    assert.equal(0, #s.log)
  end)
end)

describe("apply", function ()
  local deployment = { apiVersion = "apps/v1", kind = "Deployment",
    metadata = { name = "d", namespace = "n" },
    spec = { replicas = 2.0 } }
  local path = "PATCH /prefix/apis/apps/v1/namespaces/n/deployments/d"

  it("is strict, names its manager and forces only when asked", function ()
    local c = start { [path] = { 200, deployment } }
    assert(c:apply(deployment, { manager = "helm", dry_run = true }))
    local request = s.log[1]
    assert.equal("application/apply-patch+yaml", request.headers["content-type"])
    assert.same({ fieldValidation = "Strict", fieldManager = "helm", force = "false",
      dryRun = "All" },
      request.query)
    assert.equal('{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d",'
      .. '"namespace":"n"},'
      .. '"spec":{"replicas":2}}', request.body)
    assert(c:apply(deployment, { force = true }))
    assert.equal("true", s.log[2].query.force)
    assert.is_nil(s.log[2].query.dryRun)
  end)

  it("shows whose fields a conflict is about", function ()
    local c = start { [path] = { 409, api.status(409, "Conflict", "Apply failed with 1 conflict",
      { details =
      { causes = { { reason = "FieldManagerConflict", field = ".spec.replicas",
        message = 'conflict with "kubectl-client-side-apply" using apps/v1' } } } }) } }
    local _, problem = c:apply(deployment)
    assert.equal("Conflict", problem.code)
    assert.equal(".spec.replicas", problem.conflicts[1].field)
    assert.equal("kubectl-client-side-apply", problem.conflicts[1].manager)
    assert.matches(".spec.replicas is kubectl%-client%-side%-apply's", problem.hint)
    assert.equal(1, #s.log)
  end)

  it("waits a while for a kind whose definition has just come", function ()
    local cluster = { apiVersion = "ray.io/v1", kind = "RayCluster", metadata = { name = "r" } }
    local c = start { ["GET /prefix/apis/ray.io/v1"] = function (_, count)
      if count == 1 then return { 404, "404 page not found\n" } end
      return { 200, { kind = "APIResourceList", groupVersion = "ray.io/v1", resources = {
        { name = "rayclusters/status", kind = "RayCluster", namespaced = true },
        { name = "rayclusters", kind = "RayCluster", namespaced = true } } } }
    end,
    ["PATCH /prefix/apis/ray.io/v1/namespaces/default/rayclusters/r"] = function (_, count)
      if count == 1 then return { 404, "404 page not found\n" } end
      return { 201, cluster }
    end }
    assert(c:apply(cluster))
    assert.equal(4, #s.log)
    assert(c:apply(cluster))
    assert.equal(5, #s.log)
  end)

  it("refuses misuse", function ()
    local c = start {}
    assert.error_matches(function () c:apply { kind = "Pod" } end, "bad argument #1 to 'apply'")
    assert.error_matches(function () c:patch("Pod", "x", {}, { type = "odd" }) end,
      "bad argument #4 to 'patch'")
  end)
end)

describe("patch and delete", function ()
  it("send their content type and options", function ()
    local c = start { ["PATCH /prefix/api/v1/nodes/n"] = { 200, { kind = "Node" } },
      ["DELETE " .. PODS .. "/p"] = { 200, api.status(200, nil, nil) },
      ["DELETE " .. PODS .. "/gone"] = { 404, api.status(404, "NotFound", "x") } }
    assert(c:patch("Node", "n", { spec = { unschedulable = true } }))
    assert.equal("application/merge-patch+json", s.log[1].headers["content-type"])
    assert.is_true(c:delete("Pod", "p", { propagation = "Foreground", uid = "u1", grace = 0 }))
    assert.same({ apiVersion = "v1", kind = "DeleteOptions", propagationPolicy = "Foreground",
      gracePeriodSeconds = 0, preconditions = { uid = "u1" } }, json.decode(s.log[2].body))
    local _, problem = c:delete("Pod", "gone")
    assert.equal("NotFound", problem.code)
    assert.is_true(c:delete("Pod", "gone", { missing_ok = true }))
  end)
end)

local function pods(names, more)
  local items = {}
  for i, name in ipairs(names) do items[i] = { metadata = { name = name } } end
  local metadata = { resourceVersion = "9" }
  for k, v in pairs(more or {}) do metadata[k] = v end
  return { kind = "PodList", apiVersion = "v1", metadata = metadata, items = items }
end

local function names(list)
  local out = {}
  for i, item in ipairs(list.items) do out[i] = item.metadata.name end
  return table.concat(out, " ")
end

describe("list", function ()
  it("goes through the pages and fills in kinds", function ()
    local c = start { ["GET " .. PODS] = function (request)
      if request.query.continue == "c1" then return { 200, pods({ "c" }) } end
      local text = json.encode(pods({ "a", "b" }, { continue = "c1" }))
      return { 200, stream = { text:sub(1, 40), text:sub(41) } }
    end }
    local list = assert(c:list("Pod", { labels = "a in (b,c),!d", fields = "spec.nodeName=n" }))
    assert.equal("a b c", names(list))
    assert.equal("9", list.resource_version)
    assert.equal("Pod", list.items[3].kind)
    assert.equal("v1", list.items[3].apiVersion)
    assert.same({ labelSelector = "a in (b,c),!d", fieldSelector = "spec.nodeName=n",
      limit = "500" },
      s.log[1].query)
    assert.equal("c1", s.log[2].query.continue)
  end)

  it("looks into all namespaces when asked", function ()
    local c = start { ["GET /prefix/api/v1/pods"] = { 200, pods {} },
      ["GET /prefix/api/v1/nodes"] = { 200, pods {} } }
    assert.equal("", names(assert(c:list("po", { namespace = false }))))
    assert.equal("", names(assert(c:list("no", { namespace = "any" }))))
  end)

  it("goes on with the token that an expired one brings, or starts again", function ()
    local c = start { ["GET " .. PODS] = function (request, count)
      if request.query.continue == "new" then return { 200, pods { "b" } } end
      if request.query.continue then
        return { 410, api.status(410, "Expired", "too old",
          count < 4 and { metadata = { continue = "new" } } or nil) }
      end
      return { 200, pods({ "a" }, count < 5 and { continue = "old" } or nil) }
    end }
    assert.equal("a b", names(assert(c:list("Pod"))))
    assert.equal("a", names(assert(c:list("Pod"))))
  end)

  it("tries a body again that was cut, and never gives half of it", function ()
    local c = start { ["GET " .. PODS] = function (_, count)
      local text = json.encode(pods { "a", "b" })
      return { 200, stream = { count == 1 and text:sub(1, -20) or text } }
    end }
    assert.equal("a b", names(assert(c:list("Pod"))))
    assert.equal(2, #s.log)
  end)

  it("cut at any byte gives all or nothing", function ()
    local text = json.encode(pods { "a", "b" })
    for count = 0, #text do
      for _, ending in ipairs { false, true } do
        local c = start { ["GET " .. PODS] = { 200, stream = { text:sub(1, count), function ()
          if ending then return nil, err.new { code = "RTL-NET-009", message = "cut" } end
        end } } }
        local list, problem = c:list("Pod")
        if list then
          assert.equal("a b", names(list))
          assert.equal(#text, count)
        else
          assert.matches("^RTL%-", problem.code)
        end
        s:stop()
        s = nil
      end
    end
  end)

  it("refuses what is no list", function ()
    for _, body in ipairs { '{"kind":"Pod"}', "[]", '{"items":[1],"metadata":{}}' } do
      local c = start { ["GET " .. PODS] = { 200, body } }
      local _, problem = c:list("Pod")
      assert.equal("RTL-K8S-003", problem.code)
      s:stop()
      s = nil
    end
  end)
end)

describe("discovery", function ()
  local aggregated = { kind = "APIGroupDiscoveryList",
    items = { { metadata = { name = "ray.io" }, versions = {
    { version = "v1", freshness = "Current",
      resources = { { resource = "rayclusters", scope = "Namespaced",
      responseKind = { group = "ray.io", version = "v1", kind = "RayCluster" },
      singularResource = "raycluster", shortNames = { "rc2" } } } } } } } }
  local core = { kind = "APIResourceList", groupVersion = "v1", resources = {
    { name = "pods", kind = "Pod", namespaced = true },
      { name = "pods/exec", kind = "PodExecOptions" } } }

  it("finds a kind by all its names in one aggregated answer", function ()
    local c = start { ["GET /prefix/apis"] = { 200, aggregated },
      ["GET /prefix/api/v1"] = { 200, core } }
    for _, name in ipairs { "RayCluster", "rayclusters", "raycluster", "rc2", "raycluster.ray.io",
      "rayclusters.v1.ray.io" } do
      assert.equal("rayclusters", assert(c:resolve(name)).plural)
    end
    assert.matches("as=APIGroupDiscoveryList", s.log[1].headers.accept)
  end)

  it("reads the lists of an old server, and a broken group fails alone", function ()
    local c = start { ["GET /prefix/apis"] = { 200, { kind = "APIGroupList", groups = {
      { name = "metrics.k8s.io", versions = { { version = "v1beta1" } } },
      { name = "ray.io", preferredVersion = { version = "v1" },
        versions = { { version = "v1alpha1" }, { version = "v1" } } } } } },
    ["GET /prefix/api/v1"] = { 200, core },
    ["GET /prefix/apis/metrics.k8s.io/v1beta1"] = { 404, "gone" },
    ["GET /prefix/apis/ray.io/v1alpha1"] = { 200, { resources = { { name = "rayclusters",
      kind = "RayCluster", namespaced = true } } } },
    ["GET /prefix/apis/ray.io/v1"] = { 200,
      { resources = { { name = "rayclusters", kind = "RayCluster",
      namespaced = true } } } } }
    assert.equal("v1", assert(c:resolve("RayCluster")).version)
    local all = assert(c:discover())
    assert.equal("NotFound", all.partial["metrics.k8s.io/v1beta1"].code)
    assert.same({ "ray.io/v1", "ray.io/v1/RayCluster", "ray.io/v1alpha1",
      "ray.io/v1alpha1/RayCluster", "v1",
      "v1/Pod" }, c:api_versions())
  end)

  it("says what it does not know", function ()
    local c = start { ["GET /prefix/apis"] = { 200, aggregated },
      ["GET /prefix/api/v1"] = { 200, core } }
    local _, problem = c:resolve("Unicorn")
    assert.equal("RTL-K8S-010", problem.code)
    assert.is_true(c:delete("Unicorn", "x", { missing_ok = true }))
  end)
end)
