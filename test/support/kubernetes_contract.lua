-- luacheck: std +busted
--- What an API server must do for rtl, as specs: run against a real one (test/lab) and against
-- every imitation of one. `with` has client() → client, image (one with sh, in which a pod can be
-- run; nil leaves out what needs pods) and ready_in (seconds). To be loaded in a spec's
-- environment: assert(loadfile("test/support/kubernetes_contract.lua", "t", _ENV))() { … }
local k8s = require "rtl.k8s"
local task = require "rtl.task"

local NAMESPACE = "rtl-contract"

local function map(name, data)
  return { apiVersion = "v1", kind = "ConfigMap", data = data,
    metadata = { name = name, namespace = NAMESPACE } }
end

local here = { namespace = NAMESPACE }

local function refused(code, value, problem)
  assert.is_nil(value)
  assert.equal(code, problem.code)
  return problem
end

local function objects(with)
  local c
  lazy_setup(function ()
    c = with.client()
    assert(c:apply { apiVersion = "v1", kind = "Namespace", metadata = { name = NAMESPACE } })
  end)

  it("keeps what is applied, and is content with the same again", function ()
    local data = { text = "é\"\\/\n\t\u{1F600}", empty = "" }
    local first = assert(c:apply(map("kept", data)))
    assert.same(data, first.data)
    assert.is_string(first.metadata.uid)
    local again = assert(c:apply(map("kept", data)))
    assert.equal(first.metadata.resourceVersion, again.metadata.resourceVersion)
    assert.same(data, assert(c:get("ConfigMap", "kept", here)).data)
  end)

  it("drops fields that their manager no longer names, and keeps others'", function ()
    assert(c:apply(map("owned", { a = "1", b = "2" })))
    assert(c:apply(map("owned", { c = "3" }), { manager = "other" }))
    assert.same({ a = "1", c = "3" }, assert(c:apply(map("owned", { a = "1" }))).data)
  end)

  it("tells whose a field is, and gives it to who insists", function ()
    assert(c:apply(map("contested", { a = "1" })))
    local problem = refused("Conflict", c:apply(map("contested", { a = "2" }),
      { manager = "other" }))
    assert.equal(409, problem.status)
    assert.equal(".data.a", problem.conflicts[1].field)
    assert.equal("rtl", problem.conflicts[1].manager)
    assert.equal("2", assert(c:apply(map("contested", { a = "2" }),
      { manager = "other", force = true })).data.a)
  end)

  it("changes nothing in a dry run", function ()
    assert.equal("1", assert(c:apply(map("dry", { a = "1" }), { dry_run = true })).data.a)
    refused("NotFound", c:get("ConfigMap", "dry", here))
  end)

  it("refuses a field that it does not know", function ()
    local object = map("strict", {})
    object.dota = {}
    assert.is_nil(c:apply(object))
    refused("NotFound", c:get("ConfigMap", "strict", here))
  end)

  it("creates once, replaces and patches", function ()
    local made = assert(c:create(map("made", { a = "1" })))
    refused("AlreadyExists", c:create(map("made", { a = "1" })))
    made.data.a = "2"
    local replaced = assert(c:replace(made))
    assert.equal("2", replaced.data.a)
    refused("Conflict", c:replace(made))
    local null = require "rtl.null"
    local patched = assert(c:patch("ConfigMap", "made", { data = { a = null, b = "3" } }, here))
    assert.same({ b = "3" }, patched.data)
  end)

  it("lists in pages, by label, with kinds filled in", function ()
    for i = 1, 5 do
      local object = map("page-" .. i, {})
      object.metadata.labels = { page = "yes" }
      assert(c:apply(object))
    end
    local list = assert(c:list("ConfigMap", { namespace = NAMESPACE, labels = "page=yes",
      limit = 2 }))
    assert.equal(5, #list.items)
    assert.equal("ConfigMap", list.items[5].kind)
    assert.is_string(list.resource_version)
    assert.equal(1, #assert(c:list("ConfigMap", { namespace = NAMESPACE,
      fields = "metadata.name=page-3" })).items)
  end)

  it("deletes one, and the right one", function ()
    local object = assert(c:apply(map("deleted", {})))
    refused("Conflict", c:delete("ConfigMap", "deleted",
      { namespace = NAMESPACE, uid = "another" }))
    assert(c:delete("ConfigMap", "deleted", { namespace = NAMESPACE, uid = object.metadata.uid }))
    refused("NotFound", c:delete("ConfigMap", "deleted", here))
    assert.is_true(c:wait("ConfigMap", "deleted", { namespace = NAMESPACE, deleted = true }))
  end)

  it("shows what happens to those who watch", function ()
    assert(c:apply(map("watched", { n = "1" })))
    local seen = {}
    task.group(function (g)
      local watcher = g:spawn(function ()
        for event in c:watch("ConfigMap", { namespace = NAMESPACE, name = "watched" }) do
          seen[#seen + 1] = event.type .. " " .. event.object.data.n
          if #seen == 1 then assert(c:apply(map("watched", { n = "2" }))) end
          if #seen == 2 then assert(c:delete("ConfigMap", "watched", here)) end
          if event.type == "DELETED" then break end
        end
      end)
      watcher:join()
    end)
    assert.same({ "ADDED 1", "MODIFIED 2", "DELETED 2" }, seen)
  end)

  it("knows its kinds and its version", function ()
    assert.matches("^v1%.%d+", assert(c:version()).gitVersion)
    local all = assert(c:discover { refresh = true })
    assert.same({}, all.partial)
    assert.equal("deployments", assert(c:resolve("deploy")).plural)
    refused("RTL-K8S-010", c:resolve("unicorns"))
    refused("RTL-K8S-010", c:get("Unicorn", "x", { api_version = "none.example/v1" }))
  end)
end

local function pod(image, name, script)
  return { apiVersion = "v1", kind = "Pod", metadata = { name = name, namespace = NAMESPACE },
    spec = { restartPolicy = "Never", terminationGracePeriodSeconds = 0, containers = { {
      name = "main", image = image, imagePullPolicy = "IfNotPresent",
      command = { "sh", "-c", script } } } } }
end

local function pods(with)
  local c
  local function run(more)
    more.namespace, more.pod, more.container = NAMESPACE, "runner", "main"
    return c:exec(more)
  end

  lazy_setup(function ()
    c = with.client()
    assert(c:apply(pod(with.image, "runner",
      "for i in 1 2 3; do echo line $i; sleep 1; done; sleep 3600")))
    assert(c:wait("Pod", "runner", { namespace = NAMESPACE, test = k8s.ready.pod,
      timeout = with.ready_in or 120 }))
  end)

  it("runs commands with their output and exit code", function ()
    assert.same({ code = 7, stdout = "out\n", stderr = "err\n" },
      assert(run { argv = { "sh", "-c", "echo out; echo err >&2; exit 7" } }))
    assert.equal("a b+c&d=é%\n", assert(run { argv = { "echo", "a b+c&d=é%" } }).stdout)
    refused("RTL-K8S-031", run { argv = { "/no/such/program" } })
    refused("NotFound", c:exec { namespace = NAMESPACE, pod = "nobody", argv = { "true" } })
  end)

  it("takes stdin to its end", function ()
    local text = ("0123456789abcdef"):rep(10000)
    assert.equal(text, assert(run { argv = { "cat" }, stdin = text }).stdout)
  end)

  it("does not lose the end of a long output", function ()
    assert.equal(5000000, #assert(run { argv = { "head", "-c", "5000000", "/dev/zero" } }).stdout)
  end)

  it("copies in and out, equal byte for byte", function ()
    local bytes = ("\0\1\2\255"):rep(1 << 20)
    local where = { namespace = NAMESPACE, pod = "runner", container = "main" }
    assert(c:cp_to(setmetatable({ bytes = bytes, to = "/tmp/a b" }, { __index = where })))
    local back = assert(c:cp_from(setmetatable({ from = "/tmp/a b" }, { __index = where })))
    assert.is_true(bytes == back)
  end)

  it("gives the log, and follows it", function ()
    assert(c:wait("Pod", "runner", { namespace = NAMESPACE, test = k8s.ready.pod }))
    local seen = ""
    local _, stopped = pcall(c.logs, c, NAMESPACE, "runner", { follow = true,
      on_bytes = function (bytes)
        seen = seen .. bytes
        if seen:find("line 3", 1, true) then error("enough", 0) end
      end })
    assert.matches("^enough", tostring(stopped))
    assert.equal("line 1\nline 2\nline 3\n", seen)
    assert.equal("line 3\n", assert(c:logs(NAMESPACE, "runner", { tail = 1 })))
  end)

  it("lets a pod go", function ()
    assert(c:delete("Pod", "runner", here))
    assert.is_true(c:wait("Pod", "runner",
      { namespace = NAMESPACE, deleted = true, timeout = 120 }))
  end)
end

return function (with)
  describe("Kubernetes objects", function () objects(with) end)
  if with.image then describe("Kubernetes pods", function () pods(with) end) end
  describe("Kubernetes namespaces", function ()
    it("go with all that is in them", function ()
      local c = with.client()
      assert(c:delete("Namespace", NAMESPACE))
      assert.is_true(c:wait("Namespace", NAMESPACE, { deleted = true, timeout = 120 }))
    end)
  end)
end
