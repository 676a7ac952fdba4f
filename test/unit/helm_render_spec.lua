-- Rendering against helm's own output: test/vectors/helm/*.expected were printed by
-- `helm template rel CHART [-f VALUES] --namespace default --kube-version v1.36.0` (helm 3.19).
local fs = require "rtl.fs"
local helm = require "rtl.helm"
local yaml = require "rtl.native.yaml"

local ROOT = "test/vectors/helm/"

local function rendered_text(r)
  local parts = { r.manifest }
  for _, hook in ipairs(r.hooks) do
    parts[#parts + 1] = "---\n# Source: " .. hook.source .. "\n" .. hook.text .. "\n"
  end
  return table.concat(parts)
end

local function render(chart, values)
  return assert(helm.render(assert(helm.fetch { path = ROOT .. chart }),
    { name = "rel", namespace = "default", kube_version = "v1.36.0", values = values }))
end

describe("helm.render", function ()
  it("prints what helm prints, byte for byte", function ()
    assert.equal(assert(fs.read(ROOT .. "kitchen.expected")), rendered_text(render("kitchen")))
  end)

  it("prints what helm prints for values of the user", function ()
    local values = assert(yaml.decode(assert(fs.read(ROOT .. "kitchen-values.yaml"))))
    assert.equal(assert(fs.read(ROOT .. "kitchen-values.expected")),
      rendered_text(render("kitchen", values)))
  end)

  it("gives objects in install order, their files, the CRDs, the hooks and the notes", function ()
    local r = render("kitchen")
    local kinds = {}
    for i, object in ipairs(r.objects) do kinds[i] = object.kind end
    assert.equal("Namespace ServiceAccount ConfigMap ConfigMap ConfigMap ConfigMap ConfigMap "
      .. "ConfigMap ConfigMap ConfigMap Deployment Apple Zebra", table.concat(kinds, " "))
    assert.equal("kitchen/templates/objects.yaml", r.sources[r.objects[1]])
    assert.equal("things.example.com", r.crds[1].metadata.name)
    assert.equal("kitchen/crds/thing.yaml", r.sources[r.crds[1]])
    assert.same({ "pre-install", "pre-upgrade" }, r.hooks[1].events)
    assert.equal(-5, r.hooks[1].weight)
    assert.equal("Installed rel 1e+06.\n", r.notes)
  end)

  it("keeps whole numbers of objects whole", function ()
    local r = render("kitchen", { replicas = 12 })
    assert.equal("integer", math.type(r.objects[11].spec.replicas))
  end)
end)
