-- Run by test/unit/wiped_spec.lua: makes secrets in one way, wipes them, and prints how often their
-- bytes are still in this process' memory. `build/rtl test/support/wiped.lua WAY`
--
-- The bytes looked for are never written here in plain: they come from hexadecimal digits, and are
-- looked for with a pattern in which a % stands before each of them.
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local secret = require "rtl.native.secret"
local xml = require "rtl.native.xml"
local yaml = require "rtl.native.yaml"

local MARK = -- hexadecimal digits
  "3d5f7365637265745f2b5f62797465735f2f5f6f665f7468655f746573745f3d"
local PATTERN = (MARK:sub(3):gsub("%x%x", function (digits)
  local char = string.char(tonumber(digits, 16))
  return char:find "%w" and "[" .. char .. "]" or "%" .. char
end))

-- Larger regions are a sanitizer's own books.
local LARGEST = 8 << 20

local function marked(before, after, count)
  return secret.join(before, crypto.unhex(secret.new(MARK:rep(count or 1))), after)
end

local ways = {}

function ways.json()
  local text <close> = marked('{"k":"', '","other":[1,2,{"x":"y"}]}')
  local v = json.decode(text, { secret = { "k" } })
  json.encode({ a = v.k }, { secret = true }):close()
  v.k:close()
end

-- Also where libxml2 has an error to keep, a name, or a text that it decodes.
function ways.xml()
  local latin = "<?xml version='1.0' encoding='ISO-8859-1'?>"
  local members = { { name = "K", wire_out = "k", shape = { kind = "secret" } } }
  for _, head in ipairs { "", latin } do
    local text <close> = marked(head .. "<a b='x'><k>", "</k><b>x</b></a>", 200)
    xml.decode(text, { secret = { "k" } })[1].text:close()
    xml.read(text, xml.plan({ kind = "structure", members = members }, print)).K:close()
    for _, parts in ipairs {
      { "<a><k>", "</k>" }, { "<a b='", "'" }, { "<a>&", ";</a>" }, { "<a><k>x</", "></a>" },
      { "<a ", "></a>" }, { "<!DOCTYPE ", "" }, { "<?p ", "?>" }, { "<!-- ", "" }, { "", "" },
    } do
      local wrong <close> = marked(head .. parts[1], parts[2], 200)
      assert(xml.decode(wrong) == nil)
    end
  end
end

function ways.encodings()
  local bytes <close> = marked("", "")
  local packed <close> = crypto.base64_encode(bytes)
  crypto.base64_decode(packed):close()
  crypto.hmac_sha256(bytes, "x")
  secret.mask("a text without it")
end

function ways.sigv4()
  local token <close> = marked("token", "")
  local key <close> = marked("", "")
  local request = {
    method = "GET", url = "https://sts.us-east-2.amazonaws.com/?a=1", region = "us-east-2",
    service = "sts", time = "20150830T123600Z", access_key_id = "AKIDEXAMPLE",
    secret_access_key = key, session_token = token, headers = { ["x-amz-key"] = key },
  }
  crypto.sigv4.sign(request)
  crypto.sigv4.presign(request):close()
  crypto.sigv4.canonical_request(request):close()
  crypto.sigv4.forget_keys()
end

-- What is not meant to be wiped, to show that it is found.
function ways.revealed()
  local bytes <close> = marked("", "")
  _G.kept = secret.reveal(bytes)
end

function ways.yaml()
  local text <close> = marked("k: '", "'\nother: [1, x]\n")
  yaml.decode(text, { secret = { "k" } }).k:close()
end

ways[arg[1]]()
collectgarbage()
collectgarbage()
local found = 0
local memory <close> = assert(io.open("/proc/self/mem", "rb"))
for line in io.lines "/proc/self/maps" do
  local from, to = line:match "^(%x+)%-(%x+) rw"
  local size = from and tonumber(to, 16) - tonumber(from, 16) or 0
  if size > 0 and size <= LARGEST and not line:find "%[v" then
    memory:seek("set", tonumber(from, 16))
    local bytes = memory:read(size) or ""
    found = found + select(2, bytes:gsub(PATTERN, ""))
  end
end
print(found)
