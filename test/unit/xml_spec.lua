local err = require "rtl.err"
local secret = require "rtl.native.secret"
local xml = require "rtl.native.xml"

describe("xml.decode", function ()
  it("reads an answer of EC2", function ()
    local node = assert(xml.decode [[<?xml version="1.0" encoding="UTF-8"?>
<DescribeVpcsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <requestId>8f7724cf-496f-496e-8fe3-example</requestId>
    <vpcSet>
        <item><vpcId>vpc-1</vpcId><isDefault>false</isDefault><tagSet/></item>
        <item><vpcId>vpc-2</vpcId></item>
    </vpcSet>
</DescribeVpcsResponse>
]])
    assert.equal("DescribeVpcsResponse", node.name)
    assert.same({ xmlns = "http://ec2.amazonaws.com/doc/2016-11-15/" }, node.attr)
    assert.equal("", node.text)
    assert.equal("8f7724cf-496f-496e-8fe3-example", node[1].text)
    assert.equal(2, #node[2])
    assert.same({ name = "vpcId", attr = {}, text = "vpc-2" }, node[2][2][1])
    assert.same({ name = "tagSet", attr = {}, text = "" }, node[2][1][3])
  end)

  it("keeps an element's own text as it is", function ()
    assert.equal("  a\n b ", xml.decode("<a>  a\n b </a>").text)
    assert.equal(" ", xml.decode("<a> </a>").text)
    assert.equal("xy", xml.decode("<a>x<b>1</b>y</a>").text)
    assert.equal("1", xml.decode("<a>x<b>1</b>y</a>")[1].text)
  end)

  it("reads the five entities, references, CDATA, comments and instructions", function ()
    assert.equal("<&>\"'é\u{1F600}", xml.decode(
      "<a>&lt;&amp;&gt;&quot;&apos;&#233;&#x1F600;</a>").text)
    assert.equal("1 < 2 && x", xml.decode("<a>1 <![CDATA[< 2 &&]]> x</a>").text)
    assert.equal("", xml.decode("<a><![CDATA[]]></a>").text)
    assert.equal("ab", xml.decode("<a>a<!-- no -->b<?pi x?></a>").text)
    assert.equal("a b", xml.decode("<a x='a\nb'/>").attr.x)
  end)

  it("reads the encodings that the text names, or that its byte order mark shows", function ()
    local declared = '<?xml version="1.0" encoding="%s"?><a b="%s">%s</a>'
    for _, case in ipairs {
      { "ISO-8859-1", "\xe9", "é" }, { "iso-8859-1", "\x80", "\u{80}" }, { "US-ASCII", "e", "e" },
      { "UTF-8", "é\u{1F600}", "é\u{1F600}" }, { "utf-8", "é", "é" },
    } do
      local node = assert(xml.decode(declared:format(case[1], case[2], case[2]:rep(9000))))
      assert.equal(case[3], node.attr.b)
      assert.equal(case[3]:rep(9000), node.text)
    end
    assert.equal("é", xml.decode("\u{FEFF}<a>é</a>").text)
  end)

  it("reads UTF-16 in both orders", function ()
    local text = "é\u{1F600}" .. ("x&lt;"):rep(9000)
    for _, format in ipairs { "<I2", ">I2" } do
      for _, head in ipairs { "", '<?xml version="1.0" encoding="UTF-16"?>' } do
        local units = { format:pack(0xFEFF) }
        for _, c in utf8.codes(head .. "<a b='é'>" .. text .. "</a>") do
          local high, low = 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF)
          units[#units + 1] = c < 0x10000 and format:pack(c)
            or format:pack(high) .. format:pack(low)
        end
        local node = assert(xml.decode(table.concat(units)))
        assert.equal("é", node.attr.b)
        assert.equal((text:gsub("&lt;", "<")), node.text)
      end
    end
  end)

  it("keeps names as they are written, whatever their prefix means", function ()
    local node = assert(xml.decode "<p:a xmlns:q='' r:b='1' xml:space='no'><:c/><d:e:f/></p:a>")
    assert.equal("p:a", node.name)
    assert.same({ ["xmlns:q"] = "", ["r:b"] = "1", ["xml:space"] = "no" }, node.attr)
    assert.same({ ":c", "d:e:f" }, { node[1].name, node[2].name })
  end)

  it("reads a text of any length in one piece", function ()
    local part = ("x"):rep(999) .. "&amp;" .. "\r\n" .. "<![CDATA[<]]>" .. "<!-- -->"
    local node = assert(xml.decode("<a>" .. part:rep(12000) .. "</a>"))
    assert.equal((("x"):rep(999) .. "&\n<"):rep(12000), node.text)
    assert.equal(1 << 20, #xml.decode("<a b='" .. ("y"):rep(1 << 20) .. "'/>").attr.b)
  end)

  it("refuses a document that is cut at any byte", function ()
    local text = "\u{FEFF}<?xml version='1.0' encoding='UTF-8'?>\n<!-- c --><?p i?><a b='&lt;é'>x"
      .. "<c d=\"1\"/>&#233;<![CDATA[y]]>é<e></e>\n</a>"
    assert(xml.decode(text))
    for i = 0, #text - 1 do
      local node, e = xml.decode(text:sub(1, i))
      assert.is_nil(node)
      assert.equal("RTL-DATA-003", e.code)
    end
  end)

  it("makes secrets of named elements and what is below them", function ()
    local node = xml.decode(
      "<r><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>a&amp;b</SecretAccessKey>"
      .. "<t>x<u>y</u></t></r>", { secret = { "SecretAccessKey", "t" } })
    assert.equal("AKID", node[1].text)
    assert.is_true(node[2].text:equals "a&b")
    assert.is_true(node[3].text:equals "x")
    assert.is_true(node[3][1].text:equals "y")
    assert.equal("a", xml.decode(secret.new "<r>a</r>").text)
  end)

  for _, case in ipairs(dofile "test/vectors/xml/hostile.lua") do
    local why, text, message, line, column = table.unpack(case)
    it("refuses " .. why .. ", with its place", function ()
      for _, options in ipairs { {}, { secret = { "a" } } } do
        local node, e = xml.decode(text, options)
        assert.is_nil(node)
        assert.is_true(err.has_code(e, "RTL-DATA-003"))
        assert.matches(message, e.message, 1, true)
        assert.same({ line, column }, { e.line, e.column })
      end
    end)
  end

  it("holds to the limits given", function ()
    assert.truthy(xml.decode(string.rep("<a>", 256) .. string.rep("</a>", 256)))
    local node, e = xml.decode("<a><b/></a>", { depth = 1 })
    assert.is_nil(node)
    assert.matches("nested too deep", e.message, 1, true)
    node, e = xml.decode("<a>12345</a>", { size = 11 })
    assert.is_nil(node)
    assert.matches("larger than the limit", e.message, 1, true)
    assert.truthy(xml.decode("<a b='1'><c/></a>", { nodes = 3 }))
    for _, text in ipairs { "<a b='1'><c/><c/></a>", "<a b='1' c='1' d='1'/>" } do
      node, e = xml.decode(text, { nodes = 3 })
      assert.is_nil(node)
      assert.truthy(tostring(e):find("more elements than the limit", 1, true))
    end
    assert.truthy(xml.decode("<a><?p?><?p?></a>", { nodes = 3 }))
    assert.is_nil((xml.decode("<a><?p?><?p?><?p?></a>", { nodes = 3 })))
  end)

  -- Each of these would take libxml2 minutes, or gigabytes.
  it("refuses what would take too long", function ()
    local function attributes(count)
      local list = {}
      for i = 1, count do list[i] = (" a%d='>'"):format(i) end
      return table.concat(list)
    end
    local function refused(message, text)
      local node, e = xml.decode(text)
      assert.is_nil(node)
      assert.matches(message, e.message, 1, true)
    end
    assert.equal(">", xml.decode("<a" .. attributes(1000) .. "/>").attr.a1000)
    refused("more attributes", "<a" .. attributes(1001) .. "/>")
    local odd = "<!-- <b --><a><![CDATA[<]]><?p <?><c"
    refused("more attributes", odd .. attributes(1001) .. "/></a>")
    refused("more attributes", "\xff\xfe" .. ("<a" .. attributes(1001) .. "/>"):gsub(".", "%0\0"))
    for _, name in ipairs { "<n%d/>", "<?n%d?>", "<n a%d=''/>" } do
      local list = {}
      for i = 1, 70000 do list[i] = name:format(i) end
      refused("more different names", "<a>" .. table.concat(list) .. "</a>")
    end
    -- After an error, nothing more is read.
    refused("not well-formed", "<a><!-- -- -->" .. ("<a>"):rep(1 << 20))
    refused("undefined entity", "<a>&x;" .. ("<a>"):rep(1 << 20))
  end)

  it("reads many equals signs where they are no attributes'", function ()
    local many = ("="):rep(2000)
    local text = ("<!--<a %s--><a b='%s'>%s<![CDATA[<a %s]]><?p <a %s?></a>"):gsub("%%s", many)
    local node = assert(xml.decode(text))
    assert.equal(many, node.attr.b)
    assert.equal(many .. "<a " .. many, node.text)
  end)

  it("says nothing of a text that is a secret but where it is wrong", function ()
    for _, text in ipairs {
      "<a>&hush;</a>", "<a>hu<sh</a>", "<a></hush>", "<a hush>", "<a>hu\xffsh</a>",
    } do
      local node, e = xml.decode(secret.new(text))
      assert.is_nil(node)
      assert.is_nil(tostring(e):find "hu")
    end
  end)

  it("needs no libxml2 until the first text, and says when it is missing", function ()
    local fs, program = require "rtl.fs", require "test.support.program"
    local dir = assert(fs.temp_dir "xml")
    assert(fs.write(fs.join(dir, "libxml2.so.2"), "no library"))
    local r = program.rtl({ "-e", [[
      local xml = require "rtl.native.xml"
      for _ = 1, 2 do
        local node, e = xml.decode "<a/>"
        print(node, e.code, e.message)
      end]] }, { env = { LD_LIBRARY_PATH = dir } })
    assert(fs.remove_tree(dir))
    assert.equal("", r.stderr)
    assert.equal(("nil\tRTL-DATA-009\tlibxml2.so.2 can't be loaded\n"):rep(2), r.stdout)
  end)

  it("raises on misuse, naming the argument", function ()
    assert.error_matches(function () xml.decode(1) end, "bad argument #1 to 'decode'")
    assert.error_matches(function () xml.decode("<a/>", 1) end, "bad argument #2 to 'decode'")
    assert.error_matches(function () xml.decode("<a/>", { depth = 0 }) end, "limit above zero")
    assert.error_matches(function () xml.decode("<a/>", { depth = 9999 }) end, "at most 1000")
    assert.error_matches(function () xml.decode("<a/>", { secret = "x" }) end, "array of names")
  end)
end)

describe("xml.read", function ()
  local array = require "rtl.array"

  local function scalar(kind) return { kind = kind } end

  local function member(name, shape, wire)
    return { name = name, wire_out = wire or name, shape = shape, where = "body" }
  end

  local item = { kind = "structure", members = {
    member("Text", scalar "string", "text"), member("On", scalar "bool", "on"),
    member("Count", scalar "int", "count"), member("At", scalar "time", "at"),
    member("Hidden", scalar "secret", "hidden"),
    member("Map", { kind = "map", member = scalar "int" }, "map"),
    member("Flat", { kind = "list", flat = true, member = scalar "string" }, "flat"),
  } }
  item.members[8] = member("Items", { kind = "list", member = item }, "items")

  -- The reader leaves "time" and long numbers to this.
  local function put(out, key, shape, text) out[key] = shape.kind .. ":" .. text end

  local function read(text, ...)
    return xml.read(text, xml.plan(item, put), ...)
  end

  it("makes the tables that a shape describes, and none for the rest", function ()
    local out, root = assert(read [[<a><text>t&amp;</text><on>true</on><count>-12</count>
      <at>now</at><other><text>no</text></other><flat>1</flat><x/><flat>2</flat>
      <map><entry><key>k</key><value>7</value></entry><entry><key>l</key></entry></map>
      <items><item><count>1</count></item><item/></items></a>]])
    assert.equal("a", root)
    assert.same({ Text = "t&", On = true, Count = -12, At = "time:now", Flat = { "1", "2" },
      Map = { k = 7 }, Items = { { Count = 1, Flat = {}, Map = {}, Items = {} },
        { Flat = {}, Map = {}, Items = {} } } }, out)
    assert.is_true(array.is(out.Flat) and array.is(out.Items) and array.is(out.Items[2].Items))
    assert.is_false(array.is(out.Map))
  end)

  it("leaves numbers of many digits, and what is none, to the function given", function ()
    for _, text in ipairs { "9223372036854775807", "1.5", "", "-", "0x10", " 1" } do
      assert.equal("int:" .. text, read("<a><count>" .. text .. "</count></a>").Count)
    end
    assert.equal(999999999999999999, read("<a><count>999999999999999999</count></a>").Count)
  end)

  it("begins below the child that is named", function ()
    local out, root = read("<r><b><text>x</text></b></r>", "b")
    assert.equal("x", out.Text)
    assert.equal("r", root)
    out, root = read("<r><text>x</text></r>", "b")
    assert.is_false(out)
    assert.equal("r", root)
  end)

  it("keeps secrets out of strings", function ()
    local out = read("<a><hidden>hush</hidden></a>", nil, { secret = true })
    assert.is_true(secret.equals(out.Hidden, "hush"))
  end)

  it("reads a map and a list in any form they come in", function ()
    local out = assert(read [[<a>
      <map>t<x><value>1</value><y/><key>k</key><key>no</key></x><z/></map>
      <items>t<x><on>false</on></x><y><items/></y></items><flat/></a>]])
    assert.same({ Map = { k = 1 }, Flat = { "" }, Items = {
      { On = false, Map = {}, Flat = {}, Items = {} }, { Map = {}, Flat = {}, Items = {} } } }, out)
  end)

  it("leaves out what the shape does not know, however much it is", function ()
    local other = ("<o p='1'>" .. ("<text>no</text>"):rep(5) .. "no</o>"):rep(1000)
    local out = assert(read("<a>" .. other .. "<text>x<text>no</text>y</text>" .. other .. "</a>"))
    assert.same({ Text = "xy", Map = {}, Flat = {}, Items = {} }, out)
    local deep = ("<o>"):rep(255) .. ("</o>"):rep(255)
    assert.truthy(read("<a>" .. deep .. "</a>"))
    assert.is_nil((read("<a><o>" .. deep .. "</o></a>")))
  end)

  it("tells names apart that differ at their end only", function ()
    local members, text, want = {}, {}, {}
    for i = 1, 200 do
      members[i] = member("M" .. i, scalar "int", "name" .. i)
      text[i] = ("<name%d>%d</name%d>"):format(i, i, i)
      want["M" .. i] = i
    end
    local plan = xml.plan({ kind = "structure", members = members }, put)
    assert.same(want, (assert(xml.read("<a>" .. table.concat(text):rep(3) .. "</a>", plan))))
  end)

  it("fails as decode does, and refuses what is no shape", function ()
    local out, failure = read "<a><b></a>"
    assert.is_nil(out)
    assert.equal("RTL-DATA-003", failure.code)
    assert.is_nil((read "<!DOCTYPE a><a/>"))
    assert.has_error(function () xml.plan({ kind = "list", member = item }, put) end)
    assert.has_error(function () xml.plan({}, put) end)
    assert.has_error(function () xml.read("<a/>", {}) end)
  end)

  it("raises what the function given raises", function ()
    local plan = xml.plan(item, function () error("no", 0) end)
    assert.has_error(function () xml.read("<a><at>x</at></a>", plan) end, "no")
  end)
end)
