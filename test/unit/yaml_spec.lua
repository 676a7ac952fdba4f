local array = require "rtl.array"
local err = require "rtl.err"
local json = require "rtl.native.json"
local null = require "rtl.null"
local secret = require "rtl.native.secret"
local yaml = require "rtl.native.yaml"

local function as_json(text) return json.encode((assert(yaml.decode(text)))) end

describe("yaml.decode", function ()
  for _, case in ipairs(dofile "test/vectors/yaml/scalars.lua") do
    local text, wanted, warns = table.unpack(case)
    it("reads the scalar '" .. text .. "' as kubectl does", function ()
      local value, warnings = assert(yaml.decode("a: " .. text .. "\n"))
      assert.equal('{"a":' .. wanted .. "}", json.encode(value))
      assert.equal(warns and 1 or 0, #warnings)
      if warns then assert.same({ 1, 4 }, { warnings[1].line, warnings[1].column }) end
    end)
  end

  for _, case in ipairs(dofile "test/vectors/yaml/hostile.lua") do
    local why, text, message, line, column = table.unpack(case)
    it("refuses " .. why .. ", with its place", function ()
      local value, e = yaml.decode_all(text)
      assert.is_nil(value)
      assert.is_true(err.has_code(e, "RTL-DATA-002"))
      assert.matches(message, e.message, 1, true)
      if line then assert.equal(line, e.line) end
      if column then assert.equal(column, e.column) end
    end)
  end

  it("keeps types, shapes and quoted strings", function ()
    local v = yaml.decode 'a: []\nb: {}\nc: "1"\nd: \'yes\'\ne: 9007199254740993\nf: null\n'
    assert.is_true(array.is(v.a))
    assert.is_false(array.is(v.b))
    assert.same({ "1", "yes", 9007199254740993, null }, { v.c, v.d, v.e, v.f })
  end)

  it("keeps keys as they were written, and warns where kubectl does not", function ()
    local v, warnings = yaml.decode "y: 1\nno: 2\n1: 3\ntrue: 4\n'on': 5\n"
    assert.same({ y = 1, no = 2, ["1"] = 3, ["true"] = 4, on = 5 }, v)
    assert.same({ 1, 2, 3, 4 }, { warnings[1].line, warnings[2].line, warnings[3].line,
      warnings[4].line })
    assert.equal(4, #warnings)
  end)

  it("expands anchors into copies, the last of two equal anchors", function ()
    local v = yaml.decode "a: &x 1\nb: &x {c: [2]}\nd: *x\ne: *x\n"
    assert.same({ c = { 2 } }, v.d)
    assert.are_not.equal(v.d, v.e)
    assert.equal(2, yaml.decode("a: &x 1\nb: &x 2\nc: *x\n").c)
  end)

  it("merges as kubectl does: what stands lower wins, of a sequence the first", function ()
    local head = 'x: &x {a: "1", b: "2"}\nz: &z {a: "5", c: "7"}\ny:\n'
    local function merged(text) return json.encode(yaml.decode(head .. text).y) end
    assert.equal('{"a":"9","b":"2"}', merged '  <<: *x\n  a: "9"\n')
    assert.equal('{"a":"1","b":"2"}', merged '  a: "9"\n  <<: *x\n')
    assert.equal('{"a":"1","b":"2","c":"7","d":"9"}', merged '  <<: [*x, *z]\n  d: "9"\n')
    assert.equal('{"a":"5","b":"2","c":"7","d":"9"}', merged '  <<: *x\n  <<: *z\n  d: "9"\n')
    assert.equal('{"<<":{"a":1},"d":"9"}', merged '  "<<": {a: 1}\n  d: "9"\n')
  end)

  it("reads block and folded scalars", function ()
    assert.equal('{"a":"x\\ny","b":"folded text\\nmore\\n","c":"keep\\n\\n","d":"strip",'
      .. '"e":"  lead\\n"}',
      as_json('a: "x\n\n   y"\nb: >\n  folded\n  text\n\n  more\nc: |+\n  keep\n\nd: |-\n  strip\n'
        .. "e: |2\n    lead\n"))
    assert.equal('{"a":"x\\ny\\n"}', as_json "a: |\r\n  x\r\n  y\r\n")
    assert.equal('{"a":"#!/bin/sh\\r\\necho hi\\r\\n"}',
      as_json 'a: "#!/bin/sh\\r\\necho hi\\r\\n"')
  end)

  it("skips a byte order mark before any document", function ()
    assert.equal('{"a":1}', as_json "\u{FEFF}a: 1\n")
    assert.equal('[{"a":1},{"b":2}]', json.encode((
      yaml.decode_all "\u{FEFF}a: 1\n---\n\u{FEFF}b: 2\n")))
  end)

  it("accepts directives, document ends and CRLF", function ()
    assert.equal('{"a":1}', as_json "%YAML 1.2\n---\na: 1\n...\n")
    assert.equal('{"a":[1]}', as_json "--- # first\r\na:\r\n- 1\r\n")
  end)

  it("gives null for no document and refuses several", function ()
    assert.equal(null, (yaml.decode ""))
    assert.equal(null, (yaml.decode "# nothing\n"))
    local value, e = yaml.decode "a: 1\n---\nb: 2\n"
    assert.is_nil(value)
    assert.equal("line 3, column 1: one document expected, here begins a second one", e.message)
  end)

  it("counts documents that hold nothing", function ()
    local list, info = yaml.decode_all "---\n# only a comment\n---\n{a: 1}\n---\nnull\n---\n"
    assert.equal('[{"a":1}]', json.encode(list))
    assert.equal(3, info.empty)
    assert.same({ array {}, { empty = 0, warnings = {} } }, { yaml.decode_all "" })
  end)

  it("reads 256 levels and a hundred thousand values", function ()
    assert.truthy(yaml.decode(string.rep("[", 256) .. string.rep("]", 256)))
    local lines = {}
    for i = 1, 100001 do lines[i] = "- x" .. i end
    assert.equal(100001, #(yaml.decode(table.concat(lines, "\n"))))
  end)

  it("makes secrets of the values under named keys", function ()
    local v = yaml.decode("users:\n- name: a\n  user:\n    token: abc\n    keys: [1, x]\n",
      { secret = { "token", "keys" } })
    assert.equal("a", v.users[1].name)
    assert.is_true(v.users[1].user.token:equals "abc")
    assert.equal(1, v.users[1].user.keys[1])
    assert.is_true(v.users[1].user.keys[2]:equals "x")
    assert.is_true(yaml.decode_all("token: abc", { secret = { "token" } })[1].token:equals "abc")
    assert.is_nil((yaml.decode("token: [abc", { secret = { "token" } })))
  end)

  it("raises on misuse, naming the argument", function ()
    assert.error_matches(function () yaml.decode(1) end, "bad argument #1 to 'decode'")
    assert.equal(1, yaml.decode(secret.new "a: 1").a)
  end)
end)

describe("yaml.encode", function ()
  it("writes block style with sorted keys", function ()
    assert.equal("a:\n- 1\n- b: []\n  c: {}\nd: null\ne: true\nf: 2\ng: 0.5\n",
      yaml.encode { a = { 1, { b = array(), c = {} } }, d = null, e = true, f = 2.0, g = 0.5 })
  end)

  it("leaves plain what no reader mistakes, and quotes the rest", function ()
    for _, text in ipairs { "abc", "ray-train", "a b", "/dev/shm", "kuberay.io/v1", "a:b", "v1.4.0",
      "Yes sir",
      "nothing", "one two  three" } do
      assert.equal(text .. "\n", (yaml.encode(text):gsub("%.%.%.\n", "")))
    end
    for _, text in ipairs { "", "y", "n", "Y", "yes", "No", "on", "OFF", "true", "FALSE", "null",
      "~", "NaN", "inf",
      "1", "-1", "0744", "0o7", "08", "1e3", "1e+3", "72225e2", "0e1234", "0x1F", "1_000",
        "12:30:45", "2024-01-02",
      ".5", ".inf", "=", "<<", "- a", "a: b", "a #b", "#b", " a", "a ", "a:", "{a}", "[a]", "a,b",
        "*a", "&a", "!a",
      "%a", "@a", "`a", "'a'", '"a"', "a\tb", "---", "...", "? a", "| a", "> a", "é", "a\\b",
        "{{ x }}" } do
      assert.matches('^"', yaml.encode(text))
      assert.equal(text, (yaml.decode(yaml.encode(text))))
      assert.matches('^".*": 1\n$', yaml.encode { [text] = 1 })
    end
  end)

  it("never folds", function ()
    local long = string.rep("word ", 60) .. "end"
    assert.equal("a: " .. long .. "\n", yaml.encode { a = long })
    assert.equal('a: "' .. long .. ',"\n', yaml.encode { a = long .. "," })
  end)

  it("writes lines of text as a block scalar where it reads back the same", function ()
    assert.equal("a: |\n  x: 1\n    y\n\n  z\n", yaml.encode { a = "x: 1\n  y\n\nz\n" })
    assert.equal("a: |-\n  x\n  y\n", yaml.encode { a = "x\ny" })
    assert.equal('a: "x \\ny"\n', yaml.encode { a = "x \ny" })
    assert.equal('a: "x\\r\\ny"\n', yaml.encode { a = "x\r\ny" })
  end)

  it("reads back every text it wrote", function ()
    local parts = { "a", "\n", " ", "\t", "-", ":", "#", "'", '"', "\\", "\r", "é", "\u{2028}",
      "\u{FEFF}", "\0",
      "\u{1F600}", "0", "|", "---", "...", "\u{85}", "~", "," }
    local seed = 1
    for _ = 1, 3000 do
      local text = {}
      seed = (seed * 6364136223846793005 + 1442695040888963407) & math.maxinteger
      local bits = seed >> 8
      for i = 1, bits % 8 do
        text[i] = parts[(bits >> (i * 5)) % #parts + 1]
      end
      local value = { [table.concat(text, "k")] = table.concat(text), list = {
        table.concat(text, "\n") } }
      assert.same(value, (assert(yaml.decode(yaml.encode(value)))))
      assert.same({ value, "x" }, (assert(yaml.decode_all(yaml.encode_all { value, "x" }))))
    end
  end)

  it("separates documents so that each reads back", function ()
    local text = yaml.encode_all { "foo", { a = "b\n\n" }, "bar", { 1 } }
    assert.same({ "foo", { a = "b\n\n" }, "bar", { 1 } }, (yaml.decode_all(text)))
    assert.equal("", yaml.encode_all {})
  end)

  it("keeps numbers apart from strings", function ()
    local value = { 1, "1", 1.5, "1.5", 1e300, "1e300", math.maxinteger, "null", null, true, "true",
      -0.5 }
    assert.same(value, (yaml.decode(yaml.encode(value))))
    assert.equal("1.0e+300\n", (yaml.encode(1e300):gsub("%.%.%.\n", "")))
  end)

  it("writes U+FFFD for bytes that are not UTF-8", function ()
    assert.equal("a\u{FFFD}b", (yaml.decode(yaml.encode "a\xffb")))
  end)

  it("raises, with the place, for what YAML can't say", function ()
    local cyclic = {}
    cyclic.a = { cyclic }
    for message, value in pairs {
      ["value.a[2]: a function can't be encoded"] = { a = { 1, print } },
      ["value.b: a userdata can't be encoded"] = { b = secret.new "x" },
      ["value: an array with holes"] = { 1, nil, 3 },
      ["value.a[1]: a table that contains itself"] = cyclic,
      ["value: NaN and infinity"] = 1 / 0,
      ["a key that is no string"] = { [2] = 1 },
    } do
      local ok, e = pcall(yaml.encode, value)
      assert.is_false(ok)
      assert.matches(message, e, 1, true)
    end
  end)
end)
