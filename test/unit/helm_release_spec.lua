-- The kind helm_release against the simulated world's API server: what it makes, what it leaves.
local charts = require "rtl.rehearse.charts"
local context = require "rtl.plan.context"
local err = require "rtl.err"
local fs = require "rtl.fs"
local helm_release = require "rtl.kinds.helm_release"
local null = require "rtl.null"
local world = require "test.support.world"

local CRD = "CustomResourceDefinition"
local SPACE = "ray-system"

describe("helm_release", function ()
  local client, server, dir, ctx

  before_each(function ()
    server = world.start()
    client = select(2, server:cluster {})
    dir = assert(fs.temp_dir("rtl-charts-"))
    for _, chart in ipairs(charts.all()) do
      for version in pairs(chart.versions) do
        assert(fs.write(fs.join(dir, chart.name .. version), charts.archive(chart, version)))
        assert(fs.rename(fs.join(dir, chart.name .. version),
          fs.join(dir, ("%s-%s.tgz"):format(chart.name, version))))
      end
    end
    ctx = context.new { deployment = "unit", run_id = "r1", settings = {}, tags = {},
      emit = function () end, k8s = function () return client end }
  end)

  after_each(function ()
    server:stop()
    assert(fs.remove_tree(dir))
  end)

  local function release(version)
    return helm_release "kuberay-operator" {
      chart = { path = ("%s/kuberay-operator-%s.tgz"):format(dir, version), version = version },
      namespace = SPACE, create_namespace = true, values = { labels = { team = "a" } } }
  end

  -- A client that answers `methods` itself and leaves the rest to the real one.
  local function around(methods)
    local whole = client
    return setmetatable(methods, { __index = function (_, name)
      return function (_, ...) return whole[name](whole, ...) end
    end })
  end

  local function create(res, through)
    local former = client
    client = through or client
    local live, failure = res.kind.create(ctx, res, res.fields)
    client = former
    return live, failure
  end

  local function delete(res)
    return assert(res.kind.delete(ctx, { id = SPACE .. "/kuberay-operator", key = res.key,
      kind_name = "helm_release", name = res.name }))
  end

  local function names(kind)
    local out = {}
    for _, object in ipairs(assert(client:list(kind, { namespace = false })).items) do
      out[#out + 1] = object.metadata.name
    end
    table.sort(out)
    return out
  end

  local KINDS = { "Namespace", CRD, "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
    "Deployment", "Service", "ServiceAccount", "Secret" }

  local function everything()
    local all = {}
    for _, kind in ipairs(KINDS) do all[kind] = names(kind) end
    return all
  end

  it("takes all away that it made, definitions and namespace too", function ()
    local before = everything()
    local res = release "1.4.0"
    assert(create(res))
    assert.equal(3, #names(CRD) - #before[CRD])
    delete(res)
    assert.same(before, everything())
  end)

  it("leaves definitions alone that were there", function ()
    local foreign = { apiVersion = "apiextensions.k8s.io/v1", kind = CRD,
      metadata = { name = "rayjobs.ray.io", labels = { theirs = "yes" } },
      spec = { group = "ray.io", scope = "Namespaced",
        names = { kind = "RayJob", plural = "rayjobs", singular = "rayjob" },
        versions = { { name = "v1", served = true, storage = true, schema = {
          openAPIV3Schema = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } } }
        } } }
    assert(client:create(foreign))
    local res = release "1.4.0"
    assert(create(res))
    assert.same({ theirs = "yes" }, assert(client:get(CRD, "rayjobs.ray.io")).metadata.labels)
    delete(res)
    assert.same({ "rayjobs.ray.io" }, names(CRD))
  end)

  it("waits for a definition that the server has only just taken: conditions are null then",
    function ()
      local asked, whole = 0, client
      local through = around { get = function (_, kind, ...)
        local object, failure = whole:get(kind, ...)
        if kind == CRD and object then
          asked = asked + 1
          if asked == 1 then object.status = { conditions = null, storedVersions = null } end
        end
        return object, failure
      end }
      assert(create(release "1.4.0", through))
      assert.is_true(asked > 3)
    end)

  it("leaves definitions whose objects are still there", function ()
    local res = release "1.4.0"
    assert(create(res))
    assert(client:create { apiVersion = "ray.io/v1", kind = "RayCluster",
      metadata = { name = "theirs", namespace = "default" }, spec = {} })
    delete(res)
    assert.same({ "rayclusters.ray.io" }, names(CRD))
    assert(client:get("ray.io/v1/RayCluster", "theirs", { namespace = "default" }))
  end)

  -- The client, whose n-th apply fails as if the run died there.
  local function dying(n)
    local applied, whole = 0, client
    return around { apply = function (_, ...)
      applied = applied + 1
      if applied >= n then return err.fail { code = "RTL-NET-006", message = "cut" } end
      return whole:apply(...)
    end }
  end

  it("can be taken away and gone on with wherever its making ended", function ()
    local before = everything()
    for n = 1, 40 do
      local res = release "1.4.0"
      local through = dying(n)
      if create(res, through) then
        assert.is_true(n > 12)
        return delete(res)
      end
      if n % 2 == 0 then
        delete(res)
      else
        local live = res.kind.read(ctx, res, res.fields)
        if live then
          assert.equal("pending-install", live.status)
          assert(res.kind.update(ctx, res, res.fields, live))
        else
          assert(create(res))
        end
        assert.equal("deployed", assert(res.kind.read(ctx, res, res.fields)).status)
        delete(res)
      end
      assert.same(before, everything())
    end
    error("it never got through")
  end)

  it("leaves one deployed revision, the newest, after an upgrade", function ()
    local first, second = release "1.4.0", release "1.4.2"
    assert(create(first))
    local live = assert(second.kind.read(ctx, second, second.fields))
    assert.same("chart version", second.kind.diff(ctx, second, second.fields, live)[1].field)
    assert(second.kind.update(ctx, second, second.fields, live))
    local now = assert(second.kind.read(ctx, second, second.fields))
    assert.same({ 2, "deployed", "1.4.2" }, { now.revision, now.status, now.chart_version })
    local old = assert(client:get("Secret", "sh.helm.release.v1.kuberay-operator.v1",
      { namespace = SPACE }))
    assert.equal("superseded", old.metadata.labels.status)
    delete(second)
  end)
end)
