-- The shared files ~/.aws/config and ~/.aws/credentials, as text.
local profile = require "rtl.aws.profile"
local secret = require "rtl.native.secret"

describe("the shared files", function ()
  local function parse(text, is_config)
    return assert(profile.parse(text, is_config ~= false, "config")).profile
  end

  it("have sections, comments and continuation lines", function ()
    assert.same({ a = { region = "eu-west-1", x = "b#c", s3 = { addressing = "path" } } }, parse(
      "# comment\r\n; another\r\n[profile a] # here\r\nRegion = eu-west-1 # not this\r\nx=b#c\r\n"
      .. "s3 =\r\n  addressing = path\r\n"))
    assert.same({ a = { x = "one\ntwo" } }, parse "[profile a]\nx = one\n  two\n")
    assert.same({ a = { x = "2", y = "3" } }, parse "[profile a]\nx=1\n[profile a]\nx=2\ny=3")
  end)

  it("want the word profile in one and not in the other", function ()
    assert.same({ default = {} }, parse "[default]\n[a]\nx = 1\n")
    assert.same({ a = { x = "1" } }, parse("[a]\nx = 1\n[profile b]\ny = 2\n", false))
    assert.same({ ["Foo Bar"] = { region = "x" } }, parse "[profile Foo Bar]\nregion = x\n")
    assert.same({ ["Foo Bar"] = { region = "x" } }, parse '[profile "Foo Bar"]\nregion = x\n')
    assert.same({ default = { x = "1" } }, parse "[ default ]\nx = 1\n")
  end)

  it("prefer [profile default] to [default]", function ()
    assert.equal("2", parse("[default]\nx=1\n[profile default]\nx=2\n").default.x)
    assert.equal("2", parse("[profile default]\nx=2\n[default]\nx=1\n").default.x)
  end)

  it("keep endpoints of services", function ()
    local all = assert(profile.parse("[profile a]\nservices = s\n[services s]\neks =\n"
      .. "  endpoint_url = http://e\n", true))
    assert.equal("http://e", all.services.s.eks.endpoint_url)
  end)

  it("end at a line that no setting needs, and not after minutes", function ()
    for _, line in ipairs { "x = a" .. (" "):rep(1 << 20) .. "b", (" "):rep(1 << 20) .. "x",
      "x" .. (" "):rep(1 << 20) .. "z", "# " .. ("#"):rep(1 << 20) } do
      local all, e = profile.parse("[profile a]\n" .. line .. "\n", true, "config")
      assert.is_nil(all)
      assert.equal("RTL-CRED-001", e.code)
      assert.matches("line 2: the line is too long", e.message)
    end
    local token = ("t"):rep(12000)
    assert.is_true(secret.equals(token,
      parse("[profile a]\naws_session_token = " .. token .. "\n").a.aws_session_token))
  end)

  it("name the line of what is neither", function ()
    for text, line in pairs {
      ["x = 1\n"] = 1, ["[profile a\n"] = 1, ["[profile a]\nx\n"] = 2, ["[profile a]\n=x\n"] = 2,
    } do
      local all, e = profile.parse(text, true, "config")
      assert.is_nil(all)
      assert.equal("RTL-CRED-001", e.code)
      assert.truthy(e.message:find("config, line " .. line, 1, true))
    end
  end)
end)
