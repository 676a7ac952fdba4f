-- Charts apart from rendering well: fetching, errors of templates, versions, release records.
local api = require "test.support.apiserver"
local archive = require "rtl.native.archive"
local array = require "rtl.array"
local crypto = require "rtl.native.crypto"
local fs = require "rtl.fs"
local goyaml = require "rtl.helm.goyaml"
local helm = require "rtl.helm"
local json = require "rtl.native.json"
local null = require "rtl.null"
local yaml = require "rtl.native.yaml"

-- A chart in memory from { path = text }.
local function chart_of(files)
  local charts = require "rtl.helm.chart"
  local list = { { name = "Chart.yaml", data = files["Chart.yaml"]
    or "name: c\nversion: 1.0.0\n" } }
  for name, data in pairs(files) do
    if name ~= "Chart.yaml" then list[#list + 1] = { name = name, data = data } end
  end
  table.sort(list, function (a, b) return a.name < b.name end)
  return charts.from_files(list, "c")
end

local function render(template, values, more)
  local files = { ["templates/t.yaml"] = template }
  for name, data in pairs(more or {}) do files[name] = data end
  return helm.render(assert(chart_of(files)), { name = "r", namespace = "n", values = values })
end

local function text(template, values, more)
  local r = assert(render("v: |-\n  " .. template, values, more))
  return r.objects[1].v
end

describe("a template", function ()
  local refusals = {
    { "a: 1\nb: {{ .Values.a.b }}", 2, "nil pointer evaluating interface {}.b" },
    { "{{ randAlpha 5 }}", 1, 'function "randAlpha" is not supported' },
    { "{{ nope 5 }}", 1, 'function "nope" not defined' },
    { "a: 1\n{{ if true }}", 2, "unexpected {{EOF}} in if" },
    { "{{ end }}", 1, "unexpected {{end}}" },
    { "{{ .Values.x ", 1, "unclosed action" },
    { "{{ \"x }}", 1, "unterminated quoted string" },
    { "{{ $y }}", 1, 'undefined variable "$y"' },
    { "{{ 1 | 2 }}", 1, "non executable command in pipeline stage 2" },
    { "{{ include \"none\" . }}", 1, 'template: no template "none"' },
    { "\n{{ template \"none\" . }}", 2, 'template "none" not defined' },
    { "{{ required \"give a name\" .Values.name }}", 1, "give a name" },
    { "{{ fail \"not like that\" }}", 1, "not like that" },
    { "{{ trunc 1.5 \"a\" }}", 1, "wrong type for value; expected int; got float64" },
    { "{{ upper .Values.none }}", 1, "wrong type for value; expected string; got interface {}" },
    { "{{ upper \"é\" }}", 1, "upper of text that is not ASCII is not supported" },
    { "{{ toYaml .Chart }}", 1, "toYaml of chart.Metadata is not supported" },
    { "{{ toJson .Files }}", 1, "toJson of engine.files is not supported" },
    { "{{ .Chart }}", 1, "printing a whole chart.Metadata is not supported" },
    { "{{ b64dec \"*\" }}", 1, "illegal base64 data" },
    { "{{ upper }}", 1, "wrong number of args for upper: want 1 got 0" },
    { "{{ eq 1 \"a\" }}", 1, "incompatible types for comparison" },
    { "{{ lt true false }}", 1, "invalid type for comparison" },
    { "{{ index .Values.l 9 }}", 1, "index out of range: 9" },
    { "{{ range .Values.s }}{{ end }}", 1, "range can't iterate over text" },
    { "{{ .Values.s.x }}", 1, "can't evaluate field x in type string" },
    { "{{ .Chart.Nope }}", 1, "can't evaluate field Nope in type chart.Metadata" },
    { "{{ break }}", 1, "{{break}} outside {{range}}" },
    { "{{ div 1 0 }}", 1, "integer divide by zero" },
    { "{{ regexMatch \"(\" \"x\" }}", 1, "error parsing regexp: missing closing )" },
    { "{{ regexMatch \"(a*)*(a*)*(a*)*b\" (repeat 90 \"a\") }}", 1,
      "regular expression takes too many steps" },
    { "{{ define \"loop\" }}{{ include \"loop\" . }}{{ end }}{{ include \"loop\" . }}", 1,
      "exceeded maximum template depth (1000)" },
    { "{{ semverCompare \"x!\" \"1.2.3\" }}", 1, 'improper constraint or version: "x!", "1.2.3"' },
  }
  for _, case in ipairs(refusals) do
    it("is refused with file and line: " .. case[1]:gsub("\n", "\\n"), function ()
      local r, problem = render(case[1], { s = "text", l = array { 1 } })
      assert.is_nil(r)
      assert.equal("RTL-HELM-005", problem.code)
      assert.equal("c/templates/t.yaml", problem.file)
      assert.equal(case[2], problem.line)
      assert.matches(case[3], problem.message, 1, true)
    end)
  end

  it("in a helper is named with its own file and name", function ()
    local _, problem = render("a: {{ include \"h\" . }}", {},
      { ["templates/_h.tpl"] = "\n{{ define \"h\" }}\n{{ .Values.a.b }}{{ end }}" })
    assert.equal("c/templates/_h.tpl", problem.file)
    assert.equal(3, problem.line)
    assert.equal("h", problem.template)
  end)

  it("that makes no YAML object is refused", function ()
    for _, template in ipairs { "a: [", "just text", "- a" } do
      local _, problem = render(template)
      assert.equal("RTL-HELM-006", problem.code)
    end
  end)

  it("may name a function that is not supported where nothing comes by", function ()
    assert.equal("a", text "{{ if .Values.none }}{{ uuidv4 }}{{ else }}a{{ end }}")
  end)

  it("forgives missing fields behind a pipeline or a variable only", function ()
    assert.equal("x", text '{{ ((.Values.a).b).c | default "x" }}')
    assert.equal("y", text '{{ $a := .Values.a }}{{ $a.b.c | default "y" }}')
    assert.equal("z", text('{{ include "t" .Values.a }}', {},
      { ["templates/_h.tpl"] = '{{ define "t" }}{{ .q | default "z" }}{{ end }}' }))
  end)

  it("sees integers that are too large for floats as helm does", function ()
    assert.equal("9.007199254740992e+15 9007199254740992",
      text("{{ .Values.n }} {{ .Values.n | int64 }}", { n = 9007199254740993 }))
  end)
end)

describe("a chart", function ()
  it("is refused when it is none", function ()
    local cases = { { "Chart.yaml", "a: [" }, { "Chart.yaml", "name: x\n" },
      { "Chart.yaml", "version: 1" },
      { "Chart.yaml", "name: ../x\nversion: 1.0.0" }, { "Chart.yaml", "name: x\nversion: one" },
      { "Chart.yaml", "name: x\nversion: 1.0.0\ntype: odd" },
      { "values.yaml", "- a" }, { "values.yaml", "a: [" } }
    for _, case in ipairs(cases) do
      local chart, problem = chart_of { [case[1]] = case[2] }
      assert.is_nil(chart)
      assert.equal("RTL-HELM-002", problem.code)
    end
    local _, problem = helm.fetch { path = "test/vectors/helm/none" }
    assert.equal("RTL-HELM-001", problem.code)
    _, problem = helm.fetch { path = "LICENSE" }
    assert.equal("RTL-HELM-002", problem.code)
    _, problem = helm.fetch { repo = "oci://x/y", name = "z" }
    assert.equal("RTL-HELM-004", problem.code)
  end)

  it("that lacks what it lists, or is a library, is not rendered", function ()
    for _, more in ipairs { "dependencies: [{name: d, version: 1.0.0}]", "type: library" } do
      local chart = assert(chart_of { ["Chart.yaml"] = "name: c\nversion: 1.0.0\n" .. more })
      local _, problem = helm.render(chart, { name = "r", namespace = "n" })
      assert.equal("RTL-HELM-002", problem.code)
    end
  end)

  it("may refuse a version of Kubernetes", function ()
    local chart = assert(chart_of {
      ["Chart.yaml"] = "name: c\nversion: 1.0.0\nkubeVersion: '>=1.40'\n" })
    local _, problem = helm.render(chart, { name = "r", namespace = "n", kube_version = "v1.36.0" })
    assert.equal("RTL-HELM-008", problem.code)
  end)
end)

describe("a chart with a schema", function ()
  local schema = [[{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
    "required": ["name"], "additionalProperties": false, "definitions": {"port": {"type": "integer",
    "minimum": 1, "maximum": 65535}}, "properties": {"name": {"type": "string", "minLength": 1,
    "pattern": "^[a-z]+$"}, "port": {"$ref": "#/definitions/port"}, "global": {}, "kind": {"enum":
    ["a", 2]}, "list": {"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": true,
    "maxItems": 2}, "either": {"oneOf": [{"type": "boolean"}, {"type": "object",
    "required": ["x"]}]}, "map": {"patternProperties": {"^x-": {"type": "number"}},
    "additionalProperties": {"type": "string"}}, "when": {"if": {"type": "string"},
    "then": {"minLength": 2}, "else": {"not": {"const": 7}}}}}]]
  local function try(values, schema_text)
    return render("a: 1", values, { ["values.schema.json"] = schema_text or schema })
  end

  it("takes values that fit", function ()
    for _, values in ipairs { { name = "x" },
      { name = "x", port = 80, kind = 2, either = { x = 1 } },
      { name = "x", list = array { "a", null }, map = { ["x-a"] = 1.5, b = "c" }, when = 8 },
      { name = "x", when = "ab", either = true } } do
      assert(try(values))
    end
  end)

  it("refuses others and names the field", function ()
    local cases = {
      { {}, "(root): name is required" },
      { { name = "" }, "name: must have at least 1 characters" },
      { { name = "X" }, "name: does not match ^[a-z]+$" },
      { { name = "x", port = 1.5 }, "port: must be integer" },
      { { name = "x", port = 70000 }, "port: must be at most 65535" },
      { { name = "x", odd = 1 }, "(root): Additional property odd is not allowed" },
      { { name = "x", kind = "b" }, "kind: must be one of" },
      { { name = "x", list = array { 1 } }, "list.0: must be string or null" },
      { { name = "x", list = array { "a", "a" } }, "list: must not have equal items" },
      { { name = "x", list = array { "a", "b", "c" } }, "list: must have at most 2 items" },
      { { name = "x", either = {} }, "either: must fit exactly one alternative, fits 0" },
      { { name = "x", map = { ["x-a"] = "s" } }, "map.x-a: must be number" },
      { { name = "x", map = { a = 1 } }, "map.a: must be string" },
      { { name = "x", when = "a" }, "when: must have at least 2 characters" },
      { { name = "x", when = 7 }, "when: is what the schema excludes" },
    }
    for _, case in ipairs(cases) do
      local r, problem = try(case[1])
      assert.is_nil(r)
      assert.equal("RTL-HELM-009", problem.code)
      assert.matches(case[2], problem.message, 1, true)
    end
  end)

  it("refuses words it does not know, instead of passing them", function ()
    for _, bad in ipairs { '{"dependentSchemas": {}}', '{"$ref": "http://x/y"}',
      '{"$ref": "#/none"}', "{" } do
      local _, problem = try({}, bad)
      assert.equal("RTL-HELM-005", problem.code)
      assert.matches("^schema: ", problem.message)
    end
  end)
end)

-- A tgz of the kitchen chart.
local function packed()
  local w = archive.writer { gzip = true }
  w:add("kitchen/Chart.yaml", "name: kitchen\nversion: 1.2.3\nappVersion: v9\n")
  w:add("kitchen/templates/a.yaml", "kind: A\nmetadata: {name: {{ .Release.Name }}}\n")
  w:finish()
  return w:take()
end

describe("helm.fetch", function ()
  local s
  local function repository(digest, versions)
    local entries = {}
    for i, version in ipairs(versions or { "1.2.3" }) do
      entries[i] = { version = version, digest = digest,
        urls = { "pkg/kitchen-" .. version .. ".tgz" } }
    end
    local function tgz() return { 200, packed() } end
    s = api.start { ["GET /charts/index.yaml"] = { 200, yaml.encode { apiVersion = "v1",
      entries = { kitchen = array(entries) } } }, ["GET /charts/pkg/kitchen-1.2.3.tgz"] = tgz,
      ["GET /charts/pkg/kitchen-1.10.0.tgz"] = tgz,
        ["GET /charts/pkg/kitchen-2.0.0-rc.1.tgz"] = tgz }
  end
  local function fetch(version)
    return helm.fetch { repo = "https://repo.test/charts", name = "kitchen", version = version }
  end
  after_each(function () s:stop() end)

  it("takes the version asked for and checks the digest", function ()
    repository(crypto.sha256_hex(packed()), { "2.0.0-rc.1", "1.2.3", "1.10.0" })
    local chart = assert(fetch "1.2.3")
    assert.same({ "kitchen", "1.2.3", "v9" }, { chart.name, chart.version, chart.app_version })
    assert.equal("https://repo.test/charts/pkg/kitchen-1.2.3.tgz", chart.url)
    assert.equal("https://repo.test/charts/pkg/kitchen-1.10.0.tgz", assert(fetch()).url)
    assert.equal("https://repo.test/charts/pkg/kitchen-1.2.3.tgz", assert(fetch "~1.2").url)
    assert.equal("https://repo.test/charts/pkg/kitchen-2.0.0-rc.1.tgz",
      assert(fetch "2.0.0-rc.1").url)
    local _, problem = fetch "3"
    assert.equal("RTL-HELM-001", problem.code)
    assert.matches("2.0.0%-rc.1, 1.2.3", problem.hint)
  end)

  it("refuses an index that is none", function ()
    repository("")
    for _, index in ipairs { "", "5", "<html>Log in</html>", "a: b: c", "[1]", "entries: 5",
      "entries: {kitchen: 5}", "entries: {kitchen: [null, 5, {}, {version: 1}]}" } do
      s.routes["GET /charts/index.yaml"] = { 200, index }
      local chart, problem = fetch "1.2.3"
      assert.is_nil(chart)
      assert.equal("RTL-HELM-001", problem.code)
      assert.is_nil(tostring(problem):find("table: 0x", 1, true))
    end
  end)

  it("refuses an archive that differs", function ()
    repository(("0"):rep(64))
    local _, problem = fetch()
    assert.equal("RTL-HELM-003", problem.code)
  end)

  it("follows redirects, but not away from https", function ()
    repository(crypto.sha256_hex(packed()))
    s.routes["GET /charts/pkg/kitchen-1.2.3.tgz"] = { 302, "",
      headers = { Location = "/else?x=1" } }
    s.routes["GET /else"] = { 200, packed() }
    assert(fetch())
    s.routes["GET /else"] = { 302, "", headers = { Location = "http://evil.test/" } }
    local _, problem = fetch()
    assert.matches("away from https", problem.message)
    s.routes["GET /else"] = { 302, "", headers = { Location = "/else" } }
    _, problem = fetch()
    assert.matches("too many redirects", problem.message)
  end)

  it("says what the repository lacks", function ()
    s = api.start { ["GET /charts/index.yaml"] = { 200, "entries: {}" } }
    local _, problem = fetch()
    assert.matches("no chart kitchen", problem.message)
    s.routes["GET /charts/index.yaml"] = { 200, "<html>: [" }
    _, problem = fetch()
    assert.matches("index can't be read", problem.message)
    s.routes["GET /charts/index.yaml"] = { 404, "" }
    _, problem = fetch()
    assert.equal(404, problem.status)
  end)

  it("reads a tgz on disk", function ()
    repository()
    local dir = assert(fs.temp_dir())
    assert(fs.write(fs.join(dir, "k.tgz"), packed()))
    local chart = assert(helm.fetch { path = fs.join(dir, "k.tgz") })
    assert.equal(crypto.sha256_hex(packed()), chart.digest)
    fs.remove_tree(dir)
  end)
end)

describe("a release record", function ()
  it("is a Secret that helm can read", function ()
    local chart = assert(helm.fetch { path = "test/vectors/helm/kitchen" })
    local r = assert(helm.render(chart, { name = "rel", namespace = "ns",
      values = { name = "x" } }))
    local secret = helm.release_record { rendered = r, chart = chart, name = "rel",
      namespace = "ns",
      values = { name = "x" }, now = 1.8e9 }
    assert.equal("helm.sh/release.v1", secret.type)
    assert.equal("sh.helm.release.v1.rel.v1", secret.metadata.name)
    assert.same({ name = "rel", owner = "helm", status = "deployed", version = "1",
      createdAt = "1800000000" }, secret.metadata.labels)
    local release = assert(helm.parse_record(secret))
    assert.equal(r.manifest, release.manifest)
    assert.same({ name = "x" }, release.config)
    assert.equal("2027-01-15T08:00:00Z", release.info.first_deployed)
    assert.equal("Install complete", release.info.description)
    assert.equal("1.2.3", release.chart.metadata.version)
    assert.equal("before", release.hooks[1].name)
    assert.equal(3, release.chart.values.replicas)
    local again = helm.release_record { rendered = r, chart = chart, name = "rel", namespace = "ns",
      revision = 2, now = 1.8e9 + 5, first_deployed = 1.8e9 }
    assert.equal("Upgrade complete", assert(helm.parse_record(again)).info.description)
  end)

  it("that is none is refused", function ()
    for _, data in ipairs { "", "*", crypto.base64_encode "*",
      crypto.base64_encode(crypto.base64_encode "x") } do
      local release, problem = helm.parse_record { data = { release = data } }
      assert.is_nil(release)
      assert.equal("RTL-HELM-007", problem.code)
    end
    assert.is_nil(helm.parse_record {})
  end)

  it("goes with objects that helm takes for its own", function ()
    local object = helm.adopt({ kind = "A", metadata = { name = "a", labels = { x = "1" } } },
      "rel", "ns")
    assert.same({ x = "1", ["app.kubernetes.io/managed-by"] = "Helm" }, object.metadata.labels)
    assert.same({ ["meta.helm.sh/release-name"] = "rel",
      ["meta.helm.sh/release-namespace"] = "ns" },
      object.metadata.annotations)
  end)
end)

describe("helm.semver", function ()
  it("orders versions", function ()
    local order = { "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2", "v1.10.0", "2" }
    for i = 2, #order do
      local a, b = helm.semver.parse(order[i - 1]), helm.semver.parse(order[i])
      assert.equal(-1, helm.semver.compare(a, b), order[i])
    end
    assert.is_nil(helm.semver.parse "1.2.3.4")
    assert.is_nil(helm.semver.parse "x")
    assert.is_nil(helm.semver.parse "1.2-01")
  end)

  it("knows constraints", function ()
    local yes = { { "1.2.3", "1.2.3" }, { "1.2.9", "1.2.x" }, { "1.9.0", "^1.2" },
      { "0.2.5", "^0.2.3" },
      { "0.0.3", "^0.0.3" }, { "1.2.9", "~1.2.3" }, { "1.5.0", "~1" }, { "5.0.0", "*" },
        { "5.0.0", "" },
      { "1.31.0-eks-1", ">=1.20-0" }, { "3.0.0", ">1, <4" }, { "2.0.0", "1.0 - 2.5" } }
    for _, case in ipairs(yes) do
      assert.is_true(helm.semver.satisfies(case[1], case[2]), case[1] .. " " .. case[2])
    end
    local no = { { "1.3.0", "1.2.x" }, { "2.0.0", "^1.2" }, { "0.3.0", "^0.2.3" },
      { "0.0.4", "^0.0.3" },
      { "1.3.0", "~1.2.3" }, { "1.31.0-eks-1", ">=1.20" }, { "1.2.5", ">1.2" },
        { "4.0.0", "<4 || >5" } }
    for _, case in ipairs(no) do
      assert.is_false(helm.semver.satisfies(case[1], case[2]), case[1] .. " " .. case[2])
    end
    assert.is_nil(helm.semver.satisfies("1.0.0", ">=y"))
  end)
end)

describe("the YAML writer of charts", function ()
  it("gives back what it was given, whatever the string", function ()
    local strings = { "", "~", "a: b", "- a", "#", "\n", "\n\n", "a\n", " \n x", "\t", "'", '"',
      "\\",
      "0x1", "1e3", "é", "\u{1F600}", "a #b", "x\u{85}y", "\u{2028}", ("word "):rep(60),
      ("'q' "):rep(60), ("\t \" "):rep(40), "---", "|", "? a", "a:\nb: c\n" }
    for _, s in ipairs(strings) do
      local value = { [s] = s, list = array { s, array { s } }, map = { k = { deep = s } } }
      local back = assert(yaml.decode(goyaml.encode(value)))
      assert.equal(json.encode(value), json.encode(back), s)
    end
  end)
end)
