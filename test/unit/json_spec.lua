local array = require "rtl.array"
local err = require "rtl.err"
local json = require "rtl.native.json"
local null = require "rtl.null"
local secret = require "rtl.native.secret"

local function round(text) return json.encode(assert(json.decode(text))) end

describe("json.decode", function ()
  it("keeps integers exact to 64 bits", function ()
    assert.equal(9007199254740993, json.decode "9007199254740993")
    assert.equal(math.maxinteger, json.decode "9223372036854775807")
    assert.equal(math.mininteger, json.decode "-9223372036854775808")
    assert.equal("integer", math.type(json.decode "1491926160718000000"))
    assert.equal("1491926160718000000", round "1491926160718000000")
    assert.equal("1234567890123460", round "1234567890123460")
    assert.equal("1700000000000000", round "1700000000000000")
  end)

  it("makes floats of what is no 64-bit integer", function ()
    assert.equal("float", math.type(json.decode "18446744073709551615"))
    assert.equal("float", math.type(json.decode "1.0"))
    assert.equal("0.1", round "0.1")
    assert.equal("0.30000000000000004", round "0.30000000000000004")
    assert.equal(5e-324, json.decode "5e-324")
  end)

  it("keeps NULs, escapes and all of Unicode in strings and keys", function ()
    assert.equal("a\0b", json.decode [["a\u0000b"]])
    assert.equal("\0", next(json.decode [[{"\u0000": 1}]]))
    assert.equal("\u{1F600}é€\"\\/\b\f\n\r\t",
      json.decode [["\ud83d\ude00\u00e9\u20ac\"\\\/\b\f\n\r\t"]])
  end)

  it("keeps arrays arrays and null null", function ()
    assert.equal('{"a":[],"b":{},"c":null,"d":[null,false,true]}',
      round '{"d": [null, false, true], "c": null, "b": {}, "a": []}')
    assert.is_true(array.is(json.decode "[]"))
    assert.is_false(array.is(json.decode "{}"))
    assert.equal(null, json.decode "null")
    assert.equal("null", tostring(null))
  end)

  it("takes the last of two equal keys", function ()
    assert.equal(2, json.decode('{"a":1,"a":2}').a)
  end)

  it("reads 256 levels", function ()
    local text = string.rep("[", 256) .. string.rep("]", 256)
    assert.equal(text, round(text))
  end)

  for _, case in ipairs(dofile "test/vectors/json/hostile.lua") do
    local why, text, message, line, column = table.unpack(case)
    it("refuses " .. why .. ", with its place", function ()
      local value, e = json.decode(text)
      assert.is_nil(value)
      assert.is_true(err.has_code(e, "RTL-DATA-001"))
      assert.matches(message, e.message, 1, true)
      assert.same({ line, column }, { e.line, e.column })
    end)
  end

  it("makes secrets of the values under named keys, at any depth below", function ()
    local v = json.decode('{"Credentials":{"SecretAccessKey":"abc","AccessKeyId":"AKID"},'
      .. '"data":{"a":["x",1,{"b":"y\\u0000z"}]}}', { secret = { "SecretAccessKey", "data" } })
    assert.equal("<secret>", tostring(v.Credentials.SecretAccessKey))
    assert.is_true(v.Credentials.SecretAccessKey:equals "abc")
    assert.equal("AKID", v.Credentials.AccessKeyId)
    assert.is_true(v.data.a[1]:equals "x")
    assert.equal(1, v.data.a[2])
    assert.is_true(v.data.a[3].b:equals "y\0z")
  end)

  it("reads a secret text", function ()
    assert.equal(1, json.decode(secret.new '{"a":1}').a)
  end)

  it("raises on misuse, naming the argument", function ()
    assert.error_matches(function () json.decode(1) end, "bad argument #1 to 'decode'")
    assert.error_matches(function () json.decode("1", 2) end, "bad argument #2 to 'decode'")
    assert.error_matches(function () json.decode("1", { secret = "x" }) end, "bad argument #2")
  end)
end)

describe("json.encode", function ()
  it("sorts keys, by bytes", function ()
    assert.equal('{"B":1,"a":2,"aa":3,"b":4}', json.encode { b = 4, aa = 3, a = 2, B = 1 })
  end)

  it("writes integral floats below 2^53 without a fraction", function ()
    assert.equal("2", json.encode(4 / 2))
    assert.equal("-9007199254740991", json.encode(-(2.0 ^ 53 - 1)))
    assert.equal("1e+300", json.encode(1e300))
    assert.equal("0.3333333333333333", json.encode(1 / 3))
  end)

  it("tells arrays from objects", function ()
    assert.equal("{}", json.encode {})
    assert.equal("[]", json.encode(array {}))
    assert.equal("[1,[2],{\"a\":[]}]", json.encode { 1, { 2 }, { a = array() } })
  end)

  it("writes NULs and control characters, and U+FFFD for bytes that are not UTF-8", function ()
    assert.equal([["a\u0000\u0001\n\"\\"]], json.encode("a\0\1\n\"\\"):gsub("\\u000a", "\\n") .. "")
    assert.equal('"a\u{FFFD}b"', json.encode "a\xffb")
    assert.equal('"/\u{7f}"', json.encode "/\u{7f}")
  end)

  it("lays text out when asked", function ()
    assert.equal('{\n  "a": [1, 2],\n  "b": {\n    "c": "x:\\ty"\n  }\n}',
      json.encode({ a = { 1, 2 }, b = { c = "x:\ty" } }, { pretty = true }))
  end)

  it("raises, with the place, for what JSON can't say", function ()
    local cyclic = { a = {} }
    cyclic.a.b = cyclic
    local deep = {}
    for _ = 1, 256 do deep = { deep } end
    for message, value in pairs {
      ["value.a[2]: a function can't be encoded"] = { a = { 1, print } },
      ["value.a: NaN and infinity"] = { a = 0 / 0 },
      ["value: NaN and infinity"] = 1 / 0,
      ["value.a.b: a table that contains itself"] = cyclic,
      ["value: an array with holes"] = { 1, nil, 3 },
      ["value.x: an array with a key that is no index"] = { x = { 1, a = 2 } },
      ["an object with a key that is no string"] = { [2] = 1 },
      ["a key that is not UTF-8 text"] = { ["\0"] = 1 },
      ["nested deeper than 256 levels"] = deep,
      ["a secret needs the option"] = { password = secret.new "x" },
      ["a thread can't be encoded"] = coroutine.create(print),
    } do
      local ok, e = pcall(json.encode, value)
      assert.is_false(ok)
      assert.matches(message, e, 1, true)
    end
  end)

  it("writes the same table twice where it is no cycle", function ()
    local shared = { 1 }
    assert.equal('{"a":[1],"b":[1]}', json.encode { a = shared, b = shared })
  end)

  it("writes secrets into a secret when asked", function ()
    local text = json.encode({ a = secret.new "x\"y", b = { 1 } }, { secret = true })
    assert.equal("<secret>", tostring(text))
    assert.is_true(text:equals [[{"a":"x\"y","b":[1]}]])
    local long = json.encode({ secret.new(string.rep("s", 5000)) }, { secret = true })
    assert.equal(5004, #long)
  end)

  it("reads back what it wrote, for many shapes", function ()
    local seed = 42
    local function random(n)
      seed = (seed * 6364136223846793005 + 1442695040888963407) & math.maxinteger
      return (seed >> 33) % n
    end
    local function value(depth)
      local kind = random(depth > 4 and 5 or 7)
      if kind == 0 then return random(2) == 0 end
      if kind == 1 then return null end
      if kind == 2 then return (random(1 << 30) << 33) - (random(1 << 30) << 20) end
      if kind == 3 then return random(1 << 30) / 1024 + 0.5 end
      if kind == 4 then
        local chars = {}
        for i = 1, random(9) do chars[i] = utf8.char(random(0x700)) end
        return table.concat(chars)
      end
      local t = kind == 5 and array {} or {}
      for i = 1, random(6) do t[kind == 5 and i or "k" .. i .. utf8.char(random(300) + 1)] = value(
        depth + 1) end
      return t
    end
    for _ = 1, 200 do
      local v = value(0)
      assert.same(v, (json.decode(json.encode(v))))
    end
  end)
end)
