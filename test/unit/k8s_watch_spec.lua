-- Watching and waiting against a scripted API server in virtual time.
local api = require "test.support.apiserver"
local clock = require "rtl.clock"
local err = require "rtl.err"
local json = require "rtl.native.json"
local k8s = require "rtl.k8s"
local task = require "rtl.task"

local PODS = "GET /api/v1/namespaces/default/pods"

local s

-- A server whose list answers with lists[n] and whose watch streams are streams[n].
local function start(lists, streams)
  local listed, watched = 0, 0
  s = api.start { [PODS] = function (request)
    if request.query.watch then
      watched = watched + 1
      local stream = streams[watched]
      if stream and stream[1] == "answer" then return stream[2] end
      return { 200, stream = stream or { function () task.sleep(1e6) end } }
    end
    listed = listed + 1
    local items = lists[listed] or lists[#lists]
    return { 200, { kind = "PodList", metadata = { resourceVersion = items.version or "10" },
      items = { table.unpack(items) } } }
  end }
  return k8s.client { server = "https://c.test" }
end

local function take(c, count, options)
  local out = {}
  for event in c:watch("Pod", options) do
    out[#out + 1] = event.type .. " " .. event.object.metadata.name .. "@"
      .. event.object.metadata.resourceVersion
    if #out == count then break end
  end
  return table.concat(out, ", ")
end

after_each(function ()
  if s then s:stop() end
  s = nil
end)

describe("watch", function ()
  it("gives what is there, then what happens", function ()
    local c = start({ { api.pod("a", "5") } }, { {
      api.event("MODIFIED", api.pod("a", "11")):sub(1, 30),
        api.event("MODIFIED", api.pod("a", "11")):sub(31)
        .. api.event("ADDED", api.pod("b", "12")), api.event("DELETED", api.pod("a", "13")) } })
    assert.equal("ADDED a@5, MODIFIED a@11, ADDED b@12, DELETED a@5",
      take(c, 4):gsub("DELETED a@13", "DELETED a@5"))
    local query = s.log[2].query
    assert.equal("10", query.resourceVersion)
    assert.equal("true", query.allowWatchBookmarks)
    assert.equal("290", query.timeoutSeconds)
    assert.equal(1, s.closed)
  end)

  it("goes on from the last version, also of a bookmark, when the stream ends", function ()
    local c = start({ {} }, {
      { api.event("ADDED", api.pod("a", "11")),
        api.event("BOOKMARK", { metadata = { resourceVersion = "20" } }) },
      { api.event("ADDED", api.pod("b", "21")) } })
    assert.equal("ADDED a@11, ADDED b@21", take(c, 2))
    assert.equal("20", s.log[3].query.resourceVersion)
    assert.equal(3, #s.log)
  end)

  it("lists again after a 410, in the stream or as an answer, and tells the difference", function ()
    local gone = api.status(410, "Expired", "too old resource version")
    local c = start({ { api.pod("a", "5"), api.pod("b", "6") },
      { api.pod("a", "7"), api.pod("c", "8"),
      version = "30" }, { api.pod("a", "7"), api.pod("c", "9"), version = "40" } },
    { { api.event("ERROR", gone) }, { "answer", { 410, gone } },
      { api.event("ADDED", api.pod("d", "41")) } })
    assert.equal("ADDED a@5, ADDED b@6, MODIFIED a@7, ADDED c@8, DELETED b@6, "
      .. "MODIFIED c@9, ADDED d@41",
      take(c, 7))
    assert.equal("40", s.log[#s.log].query.resourceVersion)
  end)

  it("does not run hot when streams end at once without events", function ()
    local c = start({ {}, {}, {}, { api.pod("late", "50") } }, { {}, {}, {} })
    assert.equal("ADDED late@50", take(c, 1))
    assert.is_true(clock.mono() >= 3)
    assert.equal(7, #s.log)
  end)

  it("survives broken connections and nonsense, not a refusal", function ()
    local c = start({ {}, {}, {} }, {
      { function () return nil, err.new { code = "RTL-NET-009", message = "cut",
        retryable = true } end },
      { "<html>" }, { api.event("ADDED", api.pod("a", "3")) },
      { api.event("ERROR", api.status(403, "Forbidden", "not any more")) } })
    local watch = c:watch("Pod")
    assert.equal("ADDED", assert(watch:next()).type)
    local event, problem = watch:next()
    assert.is_nil(event)
    assert.equal("Forbidden", problem.code)
    watch:close()
    assert.error_matches(function () take(c, 1, { namespace = "other" }) end, "NotFound")
  end)

  it("watches one object by name", function ()
    local c = start({ { api.pod("a", "1") } }, {})
    assert.equal("ADDED a@1", take(c, 1, { name = "a", labels = "x=y" }))
    assert.equal("metadata.name=a", s.log[1].query.fieldSelector)
  end)
end)

local function ready_pod(version, status, generation, observed)
  return api.pod("a", version, { metadata = { name = "a", namespace = "default", uid = "uid-a",
    resourceVersion = version, generation = generation }, status = { observedGeneration = observed,
    conditions = { { type = "Ready", status = status, reason = "why" } } } })
end

describe("wait", function ()
  it("is done when the condition is true for the newest generation", function ()
    local c = start({ { ready_pod("1", "False") } },
      { { api.event("MODIFIED", ready_pod("2", "True", 3, 2)),
      api.event("MODIFIED", ready_pod("3", "True", 3, 3)) } })
    local pod = assert(c:wait("Pod", "a", { condition = "ready" }))
    assert.equal("3", pod.metadata.resourceVersion)
  end)

  it("says what is not true when time is over", function ()
    local c = start({ { ready_pod("1", "False") } }, {})
    local value, problem = c:wait("Pod", "a", { condition = "Ready", timeout = 30 })
    assert.is_nil(value)
    assert.equal("RTL-K8S-020", problem.code)
    assert.matches("Ready=False %(why%)", problem.message)
    assert.equal("1", problem.last.metadata.resourceVersion)
    assert.equal(30, clock.mono())
  end)

  it("calls a test, also with nothing there, and takes its error", function ()
    local c = start({ {} }, { { api.event("ADDED", api.pod("a", "2")) } })
    local seen = {}
    local _, problem = c:wait("Pod", "a", { test = function (object)
      seen[#seen + 1] = object and object.metadata.name or "nothing"
      if object then return nil, err.new { code = "X", message = "bad" } end
    end })
    assert.equal("X", problem.code)
    assert.same({ "nothing", "a" }, seen)
  end)

  local function deleting(lists, streams)
    local c = start(lists, streams)
    s.routes[PODS .. "/a"] = { 200, api.pod("a", "1") }
    return c
  end

  it("waits for the object that was there to go, by its uid", function ()
    local other = api.pod("a", "9")
    other.metadata.uid = "another"
    local c = deleting({ { api.pod("a", "1") } }, { { api.event("DELETED", api.pod("a", "2")) } })
    assert.is_true(c:wait("Pod", "a", { deleted = true }))
    s:stop()
    c = deleting({ {} }, {})
    assert.is_true(c:wait("Pod", "a", { deleted = true, timeout = 5 }))
    s:stop()
    c = deleting({ { other } }, {})
    assert(c:wait("Pod", "a", { deleted = true, timeout = 5 }))
    s.routes[PODS .. "/a"] = { 404, api.status(404, "NotFound", "x") }
    assert.is_true(c:wait("Pod", "a", { deleted = true }))
  end)

  it("names the finalizers that keep an object", function ()
    local stuck = api.pod("a", "1")
    stuck.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"
    stuck.metadata.finalizers = { "ray.io/x" }
    local c = deleting({ { stuck } }, {})
    s.routes[PODS .. "/a"] = { 200, stuck }
    local _, problem = c:wait("Pod", "a", { deleted = true, timeout = 5 })
    assert.equal("RTL-K8S-020", problem.code)
    assert.matches("being deleted, finalizers: ray.io/x", problem.message)
  end)
end)

describe("ready", function ()
  local function object(text) return json.decode(text) end

  it("knows a Deployment that has rolled out", function ()
    local done = '{"metadata":{"name":"d","generation":2},"spec":{"replicas":1},'
      .. '"status":{"observedGeneration":%d,'
      .. '"replicas":%d,"updatedReplicas":1,"availableReplicas":1%s}}'
    assert.is_true(k8s.ready.deployment(object(done:format(2, 1, ""))))
    assert.is_false(k8s.ready.deployment(object(done:format(1, 1, ""))))
    assert.is_false(k8s.ready.deployment(object(done:format(2, 2, ""))))
    local _, problem = k8s.ready.deployment(object(done:format(2, 2,
      ',"conditions":[{"type":"Progressing",'
      .. '"status":"False","reason":"ProgressDeadlineExceeded","message":"too long"}]')))
    assert.equal("RTL-K8S-021", problem.code)
    assert.is_false(k8s.ready.deployment(nil))
  end)

  it("does not take a DaemonSet without nodes for ready", function ()
    local set = '{"metadata":{"generation":1},"status":{"observedGeneration":1,'
      .. '"desiredNumberScheduled":%d,'
      .. '"updatedNumberScheduled":%d,"numberAvailable":%d}}'
    assert.is_true(k8s.ready.daemonset(object(set:format(2, 2, 2))))
    assert.is_false(k8s.ready.daemonset(object(set:format(0, 0, 0))))
    assert.is_false(k8s.ready.daemonset(object(set:format(2, 2, 1))))
  end)

  it("knows a CRD, a pod and their failures", function ()
    assert.is_true(k8s.ready.crd(object('{"metadata":{},"status":{"conditions":['
      .. '{"type":"Established",'
      .. '"status":"True"},{"type":"NamesAccepted","status":"True"}]}}')))
    assert.is_false(k8s.ready.crd(object '{"metadata":{},"status":{"conditions":null}}'))
    local _, problem = k8s.ready.pod(object('{"metadata":{"name":"p"},"status":{"phase":"Failed",'
      .. '"reason":"Evicted"}}'))
    assert.equal("Evicted", problem.message)
  end)
end)
