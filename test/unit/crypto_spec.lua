local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"
local sigv4 = crypto.sigv4

local VECTORS = "test/vectors/sigv4"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function cases()
  local list = {}
  local pipe <close> = assert(io.popen("ls " .. VECTORS))
  for name in pipe:lines() do list[#list + 1] = name end
  return list
end

describe("digests", function ()
  it("match the published values", function ()
    assert.equal("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      crypto.sha256_hex "")
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      crypto.hex(crypto.sha256 "abc"))
    assert.equal("900150983cd24fb0d6963f7d28e17f72", crypto.hex(crypto.md5 "abc"))
    assert.equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      crypto.hex(crypto.hmac_sha256("Jefe", "what do ya want for nothing?")))
    assert.equal("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad",
      crypto.hex(crypto.hmac_sha256("", "")))
  end)

  it("come in pieces, too", function ()
    local h = crypto.hasher()
    for _ = 1, 1000 do h:update "a":update(secret.new "b") end
    assert.equal(crypto.sha256(string.rep("ab", 1000)), h:finish())
    assert.error_matches(function () h:update "x" end, "hasher is finished")
  end)

  it("take secrets", function ()
    assert.equal(crypto.sha256 "abc", crypto.sha256(secret.new "abc"))
    assert.equal(crypto.hmac_sha256("k", "m"), crypto.hmac_sha256(secret.new "k", secret.new "m"))
  end)
end)

describe("encodings", function ()
  it("write and read base64, base64url and hexadecimal", function ()
    for plain, text in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v",
      foobar = "Zm9vYmFy" } do
      assert.equal(text, crypto.base64_encode(plain))
      assert.equal(plain, crypto.base64_decode(text))
      assert.equal((text:gsub("=", "")), crypto.base64url_encode(plain))
      assert.equal(plain, crypto.base64url_decode(text))
      assert.equal(plain, crypto.base64url_decode((text:gsub("=", ""))))
      assert.equal(plain, crypto.unhex(crypto.hex(plain)))
    end
    assert.equal("-_-_", crypto.base64url_encode "\xfb\xff\xbf")
    assert.equal("+/+/", crypto.base64_encode "\xfb\xff\xbf")
    local all = {}
    for i = 0, 255 do all[#all + 1] = string.char(i) end
    local bytes = table.concat(all)
    assert.equal(bytes, crypto.base64_decode(crypto.base64_encode(bytes)))
    assert.equal(bytes, crypto.unhex(crypto.hex(bytes):upper()))
  end)

  it("refuse what is malformed", function ()
    for _, text in ipairs { "Zg", "Zg=", "Zh==", "Zm9", "Zm9=", "Z===", "====", "=", "Zm 9v",
      "Zm9v\n", "Zm9v=",
      "Zg==Zg==", "-_-_", "Zm9\0" } do
      local bytes, e = crypto.base64_decode(text)
      assert.is_nil(bytes, text)
      assert.is_true(err.has_code(e, "RTL-DATA-004"))
    end
    for _, text in ipairs { "Z", "Zh", "+/+/", "Zg=", "Zg===" } do
      assert.is_nil((crypto.base64url_decode(text)), text)
    end
    for _, text in ipairs { "a", "0g", "0x", " 00" } do
      assert.is_nil((crypto.unhex(text)), text)
    end
  end)

  it("keep secrets secret", function ()
    local hidden = crypto.base64url_encode(secret.new "abc")
    assert.equal("<secret>", tostring(hidden))
    assert.is_true(crypto.base64url_decode(hidden):equals "abc")
    assert.is_true(crypto.hex(secret.new "\1"):equals "01")
    assert.is_true(crypto.unhex(secret.new "01"):equals "\1")
  end)
end)

describe("sigv4", function ()
  local names = cases()

  it("finds its vectors", function () assert.is_true(#names >= 30) end)

  for _, name in ipairs(names) do
    it("signs " .. name .. " as the vector says, stage by stage", function ()
      local folder = VECTORS .. "/" .. name .. "/"
      local request = assert(json.decode(read(folder .. "request.json"), {
        secret = { "secret_access_key" } }))
      local kind = request.presign and "presign" or "header"
      local canonical, _, payload_hash = sigv4.canonical_request(request, kind)
      assert.equal(read(folder .. "canonical-request.txt"), secret.reveal(canonical))
      assert.equal(payload_hash, secret.reveal(canonical):match "[^\n]+$")
      assert.equal(read(folder .. "string-to-sign.txt"), sigv4.string_to_sign(request, kind))
      assert.equal(read(folder .. "signature.txt"), sigv4.signature(request, kind))
      if request.presign then
        local url = secret.reveal(sigv4.presign(request))
        local wanted = {}
        for part in read(folder .. "url.txt"):gmatch "[^?&]+" do wanted[part] = true end
        local found = {}
        for part in url:gmatch "[^?&]+" do found[part] = true end
        assert.same(wanted, found)
        assert.matches("&X%-Amz%-Signature=%x+$", url)
      else
        local headers = sigv4.sign(request)
        assert.same({ "authorization", read(folder .. "authorization.txt") }, headers[#headers])
      end
    end)
  end

  local function request(changes)
    local r = {
      method = "GET", url = "https://example.amazonaws.com/", region = "us-east-1",
        service = "service",
      time = "20150830T123600Z", access_key_id = "AKIDEXAMPLE",
      secret_access_key = secret.new "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    }
    for k, v in pairs(changes or {}) do r[k] = v end
    return r
  end

  it("derives the published keys", function ()
    for service, key in pairs {
      ec2 = "f683de3415e2edd5bd3ecba80fa9f855f4018470ccc66c03bb658895fef3aed2",
      eks = "2e2a886fabe79b33c1b5eb426656583e6953c1224d7d5c6cc99641be3b55272f",
      iam = "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9",
      sts = "a9d028e9e96178f3ed6acfa66eff308447119de7ba1dd1dc7b666bbcb5686dfd",
    } do
      local made = sigv4.signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830",
        "us-east-1", service)
      assert.is_true(crypto.hex(made):equals(key))
    end
  end)

  it("takes each header once, and never those that change on the way", function ()
    local _, names_signed = sigv4.canonical_request(request { headers = {
      { "Host", "other" }, { "X-Amz-Date", "now" }, { "Authorization", "x" },
      { "Expect", "100-continue" },
      { "Proxy-Authorization", "x" }, { "Content-Length", "0" }, { "x-amz-foo", "" },
    } })
    assert.equal("content-length;host;x-amz-date", names_signed)
  end)

  it("gives the same whether headers come as a map or as a list", function ()
    assert.equal(sigv4.signature(request { headers = { { "b", "2" }, { "A", "1" } } }),
      sigv4.signature(request { headers = { A = "1", b = "2" } }))
  end)

  it("returns the headers to add", function ()
    local token = secret.new "TOKEN/+=x"
    local headers = sigv4.sign(request { session_token = token, service = "s3" })
    assert.equal("x-amz-date", headers[1][1])
    assert.same({ "x-amz-content-sha256", crypto.sha256_hex "" }, headers[2])
    assert.equal("x-amz-security-token", headers[3][1])
    assert.equal(token, headers[3][2])
    assert.matches("SignedHeaders=host;x%-amz%-content%-sha256;x%-amz%-date;"
      .. "x%-amz%-security%-token,",
      headers[4][2])
  end)

  it("treats an empty token as none and can add a token after signing", function ()
    assert.equal(2, #sigv4.sign(request { session_token = "" }))
    local late = sigv4.sign(request { session_token = "T", token_unsigned = true })
    assert.equal(sigv4.sign(request())[2][2], late[3][2])
    assert.same({ "x-amz-security-token", "T" }, late[2])
    local url = secret.reveal(sigv4.presign(request { session_token = "T", token_unsigned = true }))
    assert.matches("&X%-Amz%-Security%-Token=T&X%-Amz%-Signature=", url)
  end)

  it("hides a canonical request that holds a secret", function ()
    local text = sigv4.canonical_request(request { session_token = "T" })
    assert.is_true(secret.is(text))
    text = sigv4.canonical_request(request { headers = { ["x-amz-k"] = secret.new "s" } })
    assert.is_true(secret.is(text))
    assert.equal("string", type((sigv4.canonical_request(request()))))
  end)

  it("signs an unhashed payload when told to", function ()
    local text, _, hash = sigv4.canonical_request(request { payload_hash = "UNSIGNED-PAYLOAD",
      body = "x" })
    assert.equal("UNSIGNED-PAYLOAD", hash)
    assert.matches("UNSIGNED%-PAYLOAD$", text)
  end)

  it("escapes what is raw in an S3 path, once", function ()
    local text = sigv4.canonical_request(request { url = "https://b/a=b/c d/%3d/100%",
      service = "s3" })
    assert.equal("/a%3Db/c%20d/%3d/100%25", text:match "^GET\n([^\n]*)")
  end)

  it("treats a plus in a query as a plus", function ()
    local text = sigv4.canonical_request(request { url = "https://b/?a=1+2&&=x#fragment" })
    assert.equal("=x&a=1%2B2", text:match "^GET\n[^\n]*\n([^\n]*)")
  end)

  it("signs the same with a cached key, and tells secrets apart", function ()
    local first = sigv4.signature(request())
    assert.equal(first, sigv4.signature(request()))
    for i = 1, 40 do sigv4.signature(request { region = "region-" .. i }) end
    assert.equal(first, sigv4.signature(request()))
    sigv4.forget_keys()
    assert.equal(first, sigv4.signature(request()))
    assert.not_equal(first, sigv4.signature(request { secret_access_key = "other" }))
    -- Across midnight there and back, with keys that are replaced meanwhile: as with no cache.
    local times, seen = { "20150830T235959Z", "20150831T000000Z" }, {}
    for round = 1, 6 do
      for key = 1, 3 do
        local hidden <close> = secret.new("secret " .. key)
        local time = times[round % 2 + 1]
        local changes = { time = time, secret_access_key = hidden }
        if round > 2 then
          assert.equal(seen[time .. key], sigv4.signature(request(changes)))
        else
          sigv4.forget_keys()
          seen[time .. key] = sigv4.signature(request(changes))
        end
      end
    end
  end)

  it("signs requests larger than its first buffers", function ()
    local query, headers = {}, {}
    for i = 1, 400 do query[i] = ("key%d=%s"):format(400 - i, string.rep("v", i % 40)) end
    for i = 1, 100 do headers["x-amz-meta-" .. i] = string.rep("h", i) end
    local text, signed = sigv4.canonical_request(request { headers = headers,
      url = "https://b/" .. string.rep("p/", 3000) .. "?" .. table.concat(query, "&") })
    assert.equal(string.rep("h", 100), text:match "\nx%-amz%-meta%-100:(h+)")
    assert.equal(101, select(2, signed:gsub(";", "")))
  end)

  it("percent-encodes as AWS does", function ()
    assert.equal("a%2Bb%20c~d%2A%2F%C3%A9", sigv4.encode "a+b c~d*/é")
    assert.equal("a/b%3D", sigv4.encode("a/b=", true))
    local plain = "AZaz09-_.~"
    assert.equal(plain, sigv4.encode(plain))
    assert.equal("%2F" .. plain, sigv4.encode("/" .. plain))
    for _, text in ipairs { plain, "a b" } do -- a secret stays one, whether it changes or not
      assert.equal(sigv4.encode(text), secret.reveal(sigv4.encode(secret.new(text))))
      assert.is_true(secret.is(sigv4.encode(secret.new(text))))
    end
  end)

  it("raises on misuse, naming the field", function ()
    for message, changes in pairs {
      ["field 'method': string or secret expected, got boolean"] = { method = false },
      ["field 'time': a time like"] = { time = "2015-08-30" },
      ["https:// or http:// expected"] = { url = "ftp://x/" },
      ["without user information"] = { url = "https://user@x/" },
      ["field 'headers': table expected"] = { headers = 1 },
      ["field 'headers': names and values"] = { headers = { a = 1 } },
      ["field 'headers': {name, value} expected"] = { headers = { "a" } },
      ["region and a service of at most"] = { region = string.rep("r", 200) },
      ["payload hash of at most 64"] = { payload_hash = string.rep("0", 65) },
    } do
      local ok, e = pcall(sigv4.signature, request(changes))
      assert.is_false(ok)
      assert.matches(message, e, 1, true)
    end
    assert.error_matches(function () sigv4.presign(request { expires = 0 }) end, "1 to 604800")
  end)
end)
