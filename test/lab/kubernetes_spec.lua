-- rtl.k8s against the lab's API server and kubelets: KUBECONFIG names it (test/lab/in sets that).
local contract = assert(loadfile("test/support/kubernetes_contract.lua", "t", _ENV))()
local fs = require "rtl.fs"
local k8s = require "rtl.k8s"
local task = require "rtl.task"

local IMAGE = "docker.io/lab/ray:2.58.0"
local NAMESPACE = "rtl-lab-client"

contract {
  client = function () return assert(k8s.from_kubeconfig {}) end,
  image = IMAGE,
}

describe("rtl.k8s on a real cluster", function ()
  local c
  local where = { namespace = NAMESPACE, pod = "runner", container = "main" }

  local function here(more) return setmetatable(more, { __index = where }) end

  lazy_setup(function ()
    c = assert(k8s.from_kubeconfig {})
    assert(c:apply { apiVersion = "v1", kind = "Namespace", metadata = { name = NAMESPACE } })
    assert(c:apply { apiVersion = "v1", kind = "Pod",
      metadata = { name = "runner", namespace = NAMESPACE },
      spec = { terminationGracePeriodSeconds = 0, containers = { { name = "main", image = IMAGE,
        imagePullPolicy = "IfNotPresent", command = { "sleep", "3600" } } } } })
    assert(c:wait("Pod", "runner", { namespace = NAMESPACE, test = k8s.ready.pod, timeout = 120 }))
  end)

  lazy_teardown(function ()
    assert(c:delete("Namespace", NAMESPACE))
    assert(c:wait("Namespace", NAMESPACE, { deleted = true, timeout = 120 }))
  end)

  local MARK = { apiVersion = "lab.example/v1", kind = "Mark",
    metadata = { name = "one", namespace = NAMESPACE } }

  local function define_marks()
    assert(c:apply { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
      metadata = { name = "marks.lab.example" },
      spec = { group = "lab.example", scope = "Namespaced",
        names = { kind = "Mark", plural = "marks", singular = "mark" },
        versions = { { name = "v1", served = true, storage = true,
          schema = { openAPIV3Schema = { type = "object" } } } } } })
    assert(c:wait("CustomResourceDefinition", "marks.lab.example", { test = k8s.ready.crd }))
    assert(c:apply(MARK))
  end

  -- The server remembers a kind's changes from when it began to serve the kind.
  it("takes a watch up again whose place is long gone", function ()
    define_marks()
    local answer = assert(c:raw { method = "GET",
      path = ("/apis/lab.example/v1/namespaces/%s/marks"):format(NAMESPACE),
      query = { { "watch", "true" }, { "resourceVersion", "1" }, { "timeoutSeconds", "5" } } })
    assert.same({ "ERROR", 410 }, { answer.type, answer.object.code })
    local watch = c:watch("lab.example/v1/Mark", { namespace = NAMESPACE, resource_version = "1" })
    local first = assert(watch:next())
    watch:close()
    assert.same({ "ADDED", "one" }, { first.type, first.object.metadata.name })
    assert(c:delete("CustomResourceDefinition", "marks.lab.example"))
    assert(c:wait("CustomResourceDefinition", "marks.lab.example", { deleted = true }))
  end)

  it("ends a command's input and still hears what it says then", function ()
    local parts = { "one\n", "two\n" }
    local done = assert(c:exec(here { argv = { "sh", "-c", "cat; echo end; exit 3" },
      stdin = function () return table.remove(parts, 1) end }))
    assert.same({ 3, "one\ntwo\nend\n" }, { done.code, done.stdout })
  end)

  it("copies a tree in, whole and checked", function ()
    local dir = assert(fs.temp_dir("rtl-tree-"))
    assert(fs.mkdirs(fs.join(dir, "a/b")))
    assert(fs.write(fs.join(dir, "a/b/deep é"), ("x"):rep(300000)))
    assert(fs.write(fs.join(dir, "top.sh"), "echo top\n", 493))
    local sent = assert(c:cp_tree_to(here { path = dir, to = "/tmp/tree" }))
    assert.equal(2, sent.files)
    local seen = assert(c:exec(here { argv = { "sh", "-c",
      "cd /tmp/tree && ./top.sh && wc -c < 'a/b/deep é'" } }))
    assert.equal("top\n300000\n", seen.stdout)
    assert(fs.remove_tree(dir))
  end)

  it("leaves at its deadline a command that says nothing", function ()
    local answer, problem = task.run(function ()
      return task.deadline(2, function ()
        return c:exec(here { argv = { "sleep", "60" } })
      end)
    end)
    assert.is_nil(answer)
    assert.equal("RTL-TASK-001", problem.code)
  end)
end)
