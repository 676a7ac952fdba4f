-- The rows of aws_homes_spec.lua: what (name), files (path in the home → text; HOME is replaced),
-- environment (false: unset), profile (given as argument), answers (of whoever is asked, in order),
-- keys ("ID SECRET TOKEN" that must be found, false for none), region, endpoint_of (a service whose
-- endpoint is compared), asked = true (compare the requests, too), but (the reason why rtl differs
-- from botocore; keys then says what rtl finds).

local CONFIG, CREDENTIALS = ".aws/config", ".aws/credentials"

local function keys(id)
  return ("aws_access_key_id = %s\naws_secret_access_key = %s-secret\n"):format(id, id)
end

local ROLE = "arn:aws:iam::123456789012:role/"

local function role_answer(id, how)
  how = how or "AssumeRole"
  return { body = ([[<HOWResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><HOWResult>
    <AssumedRoleUser><AssumedRoleId>A:b</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/a/b</Arn>
    </AssumedRoleUser><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>role-secret
</SecretAccessKey><SessionToken>role-token</SessionToken><Expiration>2099-01-01T00:00:00Z
</Expiration></Credentials></HOWResult><ResponseMetadata><RequestId>r</RequestId>
    </ResponseMetadata></HOWResponse>]]):gsub("HOW", how):gsub("\n</", "</"):format(id) }
end

local SSO = {
  body = '{"roleCredentials":{"accessKeyId":"ASIASSO","secretAccessKey":"s","sessionToken":"t",'
    .. '"expiration":4070908800000}}',
}

local function login(extra)
  return '{"startUrl":"https://corp/start","region":"eu-west-1","accessToken":"token",'
    .. '"expiresAt":"2099-01-01T00:00:00Z"' .. (extra or "") .. "}"
end

local SSO_PROFILE = "[sso-session corp]\nsso_region = eu-west-1\n"
  .. "sso_start_url = https://corp/start\n"
  .. "sso_registration_scopes = sso:account:access\n[profile dev]\nsso_session = corp\n"
  .. "sso_account_id = 123456789012\nsso_role_name = Admin\nregion = us-east-1\n"

local CONTAINER = { body = '{"AccessKeyId":"ASIAPOD","SecretAccessKey":"s","Token":"t",'
  .. '"Expiration":"2099-01-01T00:00:00Z"}' }
local METADATA = { { body = "imds-token" }, { body = "node-role" }, { body =
  '{"Code":"Success","AccessKeyId":"ASIAI","SecretAccessKey":"s","Token":"t",'
  .. '"Expiration":"2099-01-01T00:00:00Z"}' } }

return {
  -- the files
  { what = "finds nothing in an empty home", keys = false },
  { what = "reads [default] of the credentials file", keys = "A A-secret ",
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "reads [default] of the config file", keys = "A A-secret ", region = "eu-west-1",
    files = { [CONFIG] = "[default]\nregion = eu-west-1\n" .. keys "A" } },
  { what = "reads [profile default] of the config file", keys = "A A-secret ",
    files = { [CONFIG] = "[profile default]\n" .. keys "A" } },
  { what = "prefers [profile default] that comes last", keys = "B B-secret ",
    files = { [CONFIG] = "[default]\n" .. keys "A" .. "[profile default]\n" .. keys "B" } },
  { what = "prefers [profile default] that comes first", keys = "B B-secret ",
    files = { [CONFIG] = "[profile default]\n" .. keys "B" .. "[default]\n" .. keys "A" },
    but = "the SDKs prefer [profile default] wherever it stands; botocore takes the last" },
  { what = "prefers the credentials file", keys = "B B-secret ", profile = "x",
    files = { [CONFIG] = "[profile x]\n" .. keys "A", [CREDENTIALS] = "[x]\n" .. keys "B" } },
  { what = "takes the region of the other file", keys = "B B-secret ", region = "eu-west-1",
    profile = "x", files = { [CONFIG] = "[profile x]\nregion = eu-west-1\n",
      [CREDENTIALS] = "[x]\n" .. keys "B" } },
  { what = "takes a region that stands in the credentials file", keys = "B B-secret ",
    region = "eu-west-2", profile = "x",
    files = { [CREDENTIALS] = "[x]\nregion = eu-west-2\n" .. keys "B" } },
  { what = "ignores a config section without the word profile", keys = false, profile = "x",
    files = { [CONFIG] = "[x]\n" .. keys "A" } },
  { what = "does not know a profile by its name with the word", keys = false, profile = "x",
    files = { [CREDENTIALS] = "[profile x]\n" .. keys "A" } },
  { what = "reads names in quotes with blanks", keys = "A A-secret ", profile = "Foo Bar",
    files = { [CONFIG] = '[profile "Foo Bar"]\n' .. keys "A" } },
  { what = "reads names with blanks and no quotes", keys = "A A-secret ", profile = "Foo Bar",
    files = { [CONFIG] = "[profile Foo Bar]\n" .. keys "A" },
    but = "botocore ignores the section without a word" },
  { what = "reads names with all the signs that are allowed", keys = "A A-secret ",
    profile = "a_b-c/d.e%f@g:h+i",
    files = { [CREDENTIALS] = "[a_b-c/d.e%f@g:h+i]\n" .. keys "A" } },
  { what = "reads carriage returns and a last line without end", keys = "A A-secret ",
    profile = "x", files = { [CREDENTIALS] =
      "[x]\r\naws_access_key_id = A\r\naws_secret_access_key = A-secret" } },
  { what = "reads keys in any case", keys = "A A-secret ", profile = "x", files = { [CREDENTIALS] =
    "[x]\nAWS_Access_Key_Id=A\nAWS_SECRET_ACCESS_KEY=A-secret\n" } },
  { what = "keeps = and # in a value", keys = "A a=b#c== ", profile = "x", files = { [CREDENTIALS] =
    "[x]\naws_access_key_id=A\naws_secret_access_key=a=b#c==\n" } },
  { what = "cuts comments off after white space", keys = "A A-secret ", profile = "x",
    files = { [CREDENTIALS] = "[x]\naws_access_key_id = A # note\n"
      .. "aws_secret_access_key = A-secret ; note\n" },
    but = "the SDKs allow comments behind a value; botocore takes them for the value" },
  { what = "reads comment lines", keys = "A A-secret ", profile = "x", files = { [CREDENTIALS] =
    "# one\n; two\n[x]\n# three\n" .. keys "A" .. "  # four\n" } },
  { what = "merges a section that stands twice", keys = "A B-secret ", profile = "x",
    files = { [CREDENTIALS] = "[x]\naws_access_key_id = A\naws_secret_access_key = A-secret\n[x]\n"
      .. "aws_secret_access_key = B-secret\n" },
    but = "the SDKs merge; botocore refuses the whole file" },
  { what = "takes the last of a key that stands twice", keys = "B A-secret ", profile = "x",
    files = { [CREDENTIALS] = "[x]\naws_access_key_id = A\naws_access_key_id = B\n"
      .. "aws_secret_access_key = A-secret\n" },
    but = "the SDKs take the last; botocore refuses the whole file" },
  { what = "goes on after keys with an empty value", keys = "A A-secret ", profile = "x",
    files = { [CREDENTIALS] = "[x]\naws_session_token =\n" .. keys "A" } },
  { what = "reads nested settings and goes on", keys = "A A-secret ", profile = "x",
    files = { [CONFIG] = "[profile x]\ns3 =\n  max_concurrent_requests = 20\n\n" .. keys "A" } },
  { what = "refuses a file that is none", keys = false, profile = "x",
    files = { [CREDENTIALS] = "[x]\nwhat is this\n" .. keys "A" } },
  { what = "refuses settings before any section", keys = false, profile = "x",
    files = { [CREDENTIALS] = keys "A" } },
  { what = "reads files that variables name, with a tilde", keys = "A A-secret ",
    region = "eu-west-1", environment = { AWS_CONFIG_FILE = "~/c", AWS_PROFILE = "x",
      AWS_SHARED_CREDENTIALS_FILE = "HOME/d" },
    files = { c = "[profile x]\nregion = eu-west-1\n", d = "[x]\n" .. keys "A" } },
  { what = "takes a file that is missing for an empty one", keys = false,
    environment = { AWS_CONFIG_FILE = "/nowhere/c" } },

  -- oddities of the files
  { what = "reads sections whose settings are all indented", keys = "A A-secret ", profile = "x",
    files = { [CREDENTIALS] = "[x]\n  aws_access_key_id = A\n  aws_secret_access_key = A-secret\n"
      .. "[y]\n  aws_access_key_id = B\n" } },
  { what = "reads indented settings after nested ones", keys = "A A-secret ", profile = "x",
    region = "eu-west-1", files = { [CONFIG] = "[profile x]\n  s3 =\n    max_queue_size = 1\n"
      .. "    region = us-east-2\n  region = eu-west-1\n  aws_access_key_id = A\n"
      .. "  aws_secret_access_key = A-secret\n" } },
  { what = "keeps nested settings out of the profile", keys = "A A-secret ", profile = "x",
    files = { [CONFIG] = "[profile x]\n" .. keys "A" .. "s3 =\n  aws_access_key_id = N\n"
      .. "  region = eu-west-3\n" } },
  { what = "reads nested settings with blank lines and comments between", keys = "A A-secret ",
    profile = "x", endpoint_of = "ec2", files = { [CONFIG] = "[profile x]\nservices = s\n"
      .. keys "A" .. "[services s]\nec2 =\n\n  # a note\n  endpoint_url = http://127.0.0.1:6\n" } },
  { what = "reads tabs for white space", keys = "A A-secret ", profile = "x", files = {
      [CREDENTIALS] = "[x]\naws_access_key_id\t=\tA\t\naws_secret_access_key\t=A-secret\n" } },
  { what = "reads tabs in front of settings", keys = "A A-secret ", profile = "x", files = {
      [CREDENTIALS] = "[x]\n\taws_access_key_id = A\n\taws_secret_access_key = A-secret\n" } },
  { what = "refuses a key that goes on in the next line", keys = false, profile = "x",
    files = { [CREDENTIALS] =
      "[x]\naws_access_key_id = A\naws_secret_access_key = A-\n  secret\n" },
    but = "no key of AWS' has a line end in it; botocore signs with it, and is refused" },
  { what = "reads a colon for the sign of equality", keys = "A A:s=t ", profile = "x",
    files = { [CREDENTIALS] = "[x]\naws_access_key_id: A\naws_secret_access_key : A:s=t\n" } },
  { what = "reads a file that begins with a byte order mark", keys = "A A-secret ", profile = "x",
    files = { [CREDENTIALS] = "\u{FEFF}[x]\n" .. keys "A" },
    but = "an editor of Windows writes it and nobody sees it; botocore refuses the file" },
  { what = "reads blanks inside of brackets", keys = "A A-secret ", profile = "x",
    files = { [CONFIG] = "[ profile   x ]\n" .. keys "A" },
    but = "the SDKs trim the name; botocore does not see the section" },
  { what = "reads [ default ]", keys = "A A-secret ",
    files = { [CREDENTIALS] = "[ default ]\n" .. keys "A" },
    but = "the SDKs trim the name; botocore knows no profile of that name" },
  { what = "reads a comment behind a section", keys = "A A-secret ", profile = "x",
    files = { [CREDENTIALS] = "[x] # mine\n" .. keys "A" } },
  { what = "reads a name in single quotes", keys = "A A-secret ", profile = "Foo Bar",
    files = { [CONFIG] = "[profile 'Foo Bar']\n" .. keys "A" } },
  { what = "reads names of other scripts", keys = "A A-secret ", profile = "größe-大",
    files = { [CONFIG] = "[profile größe-大]\n" .. keys "A" } },
  { what = "tells names in capitals from others", keys = false, profile = "dev",
    files = { [CREDENTIALS] = "[Dev]\n" .. keys "A" } },
  { what = "tells the word PROFILE from profile", keys = false, profile = "x",
    files = { [CONFIG] = "[PROFILE x]\n" .. keys "A" } },
  { what = "keeps quotes around a value", keys = 'A "A-secret" ', profile = "x", files = {
      [CREDENTIALS] = '[x]\naws_access_key_id = A\naws_secret_access_key = "A-secret"\n' } },
  { what = "keeps percent and dollar signs in a value", keys = "A %(x)s$USER ", profile = "x",
    files = { [CREDENTIALS] =
      "[x]\naws_access_key_id = A\naws_secret_access_key = %(x)s$USER\n" } },
  { what = "gives no section's settings to all", keys = false, profile = "x",
    files = { [CREDENTIALS] = "[DEFAULT]\n" .. keys "A" .. "[x]\nregion = us-east-1\n" },
    but = "the SDKs know no such section; it is a habit of Python's parser" },
  { what = "takes an empty region for none", keys = "A A-secret ", profile = "x",
    region = "eu-west-1", environment = { AWS_DEFAULT_REGION = "eu-west-1" },
    files = { [CREDENTIALS] = "[x]\nregion =\n" .. keys "A" } },
  { what = "goes through an empty file", keys = "A A-secret ",
    files = { [CONFIG] = "", [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "refuses a section without its end", keys = false, profile = "x",
    files = { [CREDENTIALS] = "[x\n" .. keys "A" } },
  { what = "refuses a setting without a name", keys = false, profile = "x",
    files = { [CREDENTIALS] = "[x]\n= A\n" .. keys "A" } },
  { what = "takes the three keys from one file", keys = "B B-secret ", profile = "x",
    files = { [CONFIG] = "[profile x]\n" .. keys "A" .. "aws_session_token = old\n",
      [CREDENTIALS] = "[x]\n" .. keys "B" } },
  { what = "does not make a pair of two files", keys = false, profile = "x",
    files = { [CONFIG] = "[profile x]\naws_secret_access_key = A-secret\n",
      [CREDENTIALS] = "[x]\naws_access_key_id = B\n" } },
  { what = "refuses half a pair in a file", keys = false, profile = "x",
    files = { [CREDENTIALS] = "[x]\naws_access_key_id = A\n" } },
  { what = "knows the old name of the session token in a file", keys = "A A-secret old",
    profile = "x",
    files = { [CREDENTIALS] = "[x]\n" .. keys "A" .. "aws_security_token = old\n" } },
  { what = "reads a config file whose place holds a variable", keys = "A A-secret ",
    environment = { PLACE = "HOME", AWS_CONFIG_FILE = "$PLACE/c",
      AWS_SHARED_CREDENTIALS_FILE = "${PLACE}/d" },
    files = { c = "[default]\nregion = eu-west-1\n", d = "[default]\n" .. keys "A" },
    region = "eu-west-1" },
  { what = "takes empty places for the usual ones", keys = "A A-secret ",
    environment = { AWS_CONFIG_FILE = "", AWS_SHARED_CREDENTIALS_FILE = "" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" },
    but = "an empty variable is none; botocore reads no file then" },

  -- the environment
  { what = "prefers the environment's keys", keys = "E e t", environment = {
      AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e", AWS_SESSION_TOKEN = "t" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "prefers them to AWS_PROFILE, too", keys = "E e ", environment = { AWS_PROFILE = "x",
      AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e" },
    files = { [CREDENTIALS] = "[x]\n" .. keys "A" } },
  { what = "prefers a profile that was named to them", keys = "A A-secret ", profile = "x",
    environment = { AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e" },
    files = { [CREDENTIALS] = "[x]\n" .. keys "A" } },
  { what = "knows the old name of the session token", keys = "E e old", environment = {
      AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e", AWS_SECURITY_TOKEN = "old" } },
  { what = "refuses half a pair", keys = false,
    environment = { AWS_ACCESS_KEY_ID = "E" } },
  { what = "takes empty variables for unset ones", keys = "A A-secret ", environment = {
      AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "", AWS_SESSION_TOKEN = "" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "takes the profile of AWS_PROFILE", keys = "A A-secret ",
    environment = { AWS_PROFILE = "x" }, files = { [CREDENTIALS] = "[x]\n" .. keys "A" } },
  { what = "takes the profile of AWS_DEFAULT_PROFILE", keys = "A A-secret ",
    environment = { AWS_DEFAULT_PROFILE = "x" }, files = { [CREDENTIALS] = "[x]\n" .. keys "A" } },
  { what = "prefers AWS_PROFILE of the two", keys = "A A-secret ",
    environment = { AWS_PROFILE = "x", AWS_DEFAULT_PROFILE = "y" },
    files = { [CREDENTIALS] = "[x]\n" .. keys "A" .. "[y]\n" .. keys "B" },
    but = "AWS_PROFILE is the documented name; botocore looks at the other one first" },
  { what = "refuses a profile that AWS_PROFILE names and nobody has", keys = false,
    environment = { AWS_PROFILE = "nobody" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "takes the region of AWS_DEFAULT_REGION", region = "eu-west-3", keys = "A A-secret ",
    environment = { AWS_DEFAULT_REGION = "eu-west-3" },
    files = { [CREDENTIALS] = "[default]\nregion = us-east-2\n" .. keys "A" } },
  { what = "takes the region of AWS_REGION first", region = "eu-west-1", keys = "A A-secret ",
    environment = { AWS_REGION = "eu-west-1", AWS_DEFAULT_REGION = "eu-west-3" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" },
    but = "AWS_REGION is the SDKs' name; botocore knows the other one only" },

  { what = "leaves a secret alone that has no id", keys = "A A-secret ",
    environment = { AWS_SECRET_ACCESS_KEY = "e" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "refuses half a pair in spite of a profile", keys = false,
    environment = { AWS_ACCESS_KEY_ID = "E" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "prefers the new name of the session token", keys = "E e new", environment = {
      AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e", AWS_SESSION_TOKEN = "new",
      AWS_SECURITY_TOKEN = "old" },
    but = "AWS_SESSION_TOKEN is the documented name; botocore prefers the other" },
  { what = "takes an empty AWS_PROFILE for none", keys = "A A-secret ",
    environment = { AWS_PROFILE = "" }, files = { [CREDENTIALS] = "[default]\n" .. keys "A" },
    but = "an empty variable is none; botocore looks for a profile without name" },
  { what = "refuses a default profile that was named and is not there", keys = false,
    environment = { AWS_PROFILE = "default",
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" }, answers = { CONTAINER } },

  -- roles
  { what = "assumes a role with the keys of a profile", keys = "R role-secret role-token",
    profile = "r", asked = true, answers = { role_answer "R" },
    files = { [CONFIG] = "[profile b]\n" .. keys "B" .. "[profile r]\nrole_arn = " .. ROLE
      .. "r\nsource_profile = b\nexternal_id = ext\nduration_seconds = 1800\n"
      .. "region = eu-west-1\n" } },
  { what = "assumes a chain of roles", keys = "R2 role-secret role-token", profile = "r2",
    asked = true, answers = { role_answer "R1", role_answer "R2" },
    files = { [CONFIG] = "[profile b]\n" .. keys "B" .. "[profile r1]\nrole_arn = " .. ROLE
      .. "r1\nsource_profile = b\nregion = us-east-1\n[profile r2]\nrole_arn = " .. ROLE
      .. "r2\nsource_profile = r1\nregion = us-east-1\n" } },
  { what = "assumes a role with its own profile's keys", keys = "R role-secret role-token",
    profile = "r", asked = true, answers = { role_answer "R" },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = r\n"
      .. "region = us-east-1\n" .. keys "B" } },
  { what = "prefers the role to keys in the same profile", keys = "R role-secret role-token",
    profile = "r", asked = true, answers = { role_answer "R" },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = b\n"
      .. "region = us-east-1\n" .. keys "X" .. "[profile b]\n" .. keys "B" } },
  { what = "assumes a role with the environment's keys", keys = "R role-secret role-token",
    profile = "r", asked = true, answers = { role_answer "R" },
    environment = { AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e" },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE
      .. "r\ncredential_source = Environment\nregion = us-east-1\n" } },
  { what = "assumes a role with the container's keys", keys = "R role-secret role-token",
    profile = "r", asked = true, answers = { CONTAINER, role_answer "R" },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE
      .. "r\ncredential_source = EcsContainer\nregion = us-east-1\n" } },
  { what = "assumes a role with the instance's keys", keys = "R role-secret role-token",
    profile = "r", asked = true,
    answers = { METADATA[1], METADATA[2], METADATA[3], role_answer "R" },
    environment = { AWS_EC2_METADATA_DISABLED = false },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE
      .. "r\ncredential_source = Ec2InstanceMetadata\nregion = us-east-1\n" } },
  { what = "refuses a role with two sources", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE
      .. "r\nsource_profile = b\ncredential_source = Environment\n[profile b]\n" .. keys "B" } },
  { what = "refuses a role with no source", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\n" } },
  { what = "refuses a source that it does not know", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\ncredential_source = Moon\n" } },
  { what = "refuses profiles that go in a circle", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = s\n"
      .. "[profile s]\nrole_arn = " .. ROLE .. "s\nsource_profile = r\n" } },
  { what = "refuses a source profile that is missing", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = b\n" } },
  { what = "does not look further when STS refuses", keys = false, profile = "r",
    answers = { { status = 403, body = "<ErrorResponse><Error><Type>Sender</Type>"
      .. "<Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>" } },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" },
    files = { [CONFIG] = "[profile b]\n" .. keys "B" .. "[profile r]\nrole_arn = " .. ROLE
      .. "r\nsource_profile = b\nregion = us-east-1\n" } },

  { what = "names the session as the profile says", keys = "R role-secret role-token",
    profile = "r", asked = true, answers = { role_answer "R" },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = b\n"
      .. "role_session_name = me@corp\nregion = us-east-1\n",
      [CREDENTIALS] = "[b]\n" .. keys "B" } },
  { what = "assumes a chain of three with the environment's keys", profile = "r3",
    keys = "R3 role-secret role-token", asked = true,
    answers = { role_answer "R1", role_answer "R2", role_answer "R3" },
    environment = { AWS_ACCESS_KEY_ID = "E", AWS_SECRET_ACCESS_KEY = "e",
      AWS_DEFAULT_REGION = "us-east-1" },
    files = { [CONFIG] = "[profile r1]\nrole_arn = " .. ROLE
      .. "r1\ncredential_source = Environment\n[profile r2]\nrole_arn = " .. ROLE
      .. "r2\nsource_profile = r1\n[profile r3]\nrole_arn = " .. ROLE
      .. "r3\nsource_profile = r2\n" } },
  { what = "takes the keys, not the role, of a source that has both", profile = "r",
    keys = "R role-secret role-token", asked = true, answers = { role_answer "R" },
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = s\n"
      .. "region = us-east-1\n[profile s]\nrole_arn = " .. ROLE .. "s\nsource_profile = b\n"
      .. keys "S" .. "[profile b]\n" .. keys "B" } },
  { what = "refuses a profile that is its own source without keys", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = r\n" } },
  { what = "refuses a circle of three", keys = false, profile = "r1",
    files = { [CONFIG] = "[profile r1]\nrole_arn = " .. ROLE .. "1\nsource_profile = r2\n"
      .. "[profile r2]\nrole_arn = " .. ROLE .. "2\nsource_profile = r3\n"
      .. "[profile r3]\nrole_arn = " .. ROLE .. "3\nsource_profile = r1\n" } },
  { what = "refuses the environment as a source when it holds no keys", keys = false,
    profile = "r", files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE
      .. "r\ncredential_source = Environment\nregion = us-east-1\n" } },
  { what = "refuses a source profile that holds nothing", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = s\n"
      .. "region = us-east-1\n[profile s]\nregion = us-east-1\n" } },
  { what = "refuses a duration that is too short", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE .. "r\nsource_profile = b\n"
      .. "duration_seconds = 10\nregion = us-east-1\n[profile b]\n" .. keys "B" } },
  { what = "refuses a duration that is no number", keys = false, profile = "r",
    answers = { role_answer "R" }, files = { [CONFIG] = "[profile r]\nrole_arn = " .. ROLE
      .. "r\nsource_profile = b\nduration_seconds = 1h\nregion = us-east-1\n[profile b]\n"
      .. keys "B" }, but = "a setting that says something is not passed over; botocore does so" },
  { what = "refuses a role that is no ARN", keys = false, profile = "r",
    files = { [CONFIG] = "[profile r]\nrole_arn = admin\nsource_profile = b\n"
      .. "region = us-east-1\n[profile b]\n" .. keys "B" } },

  -- web identity
  { what = "refuses a web identity whose file is missing", keys = false,
    environment = { AWS_ROLE_ARN = ROLE .. "w", AWS_WEB_IDENTITY_TOKEN_FILE = "HOME/nothing",
      AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "looks further when a web identity has no role", keys = "ASIAPOD s t",
    environment = { AWS_WEB_IDENTITY_TOKEN_FILE = "HOME/token",
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" }, answers = { CONTAINER },
    files = { token = "web.token" },
    but = "botocore takes it for a mistake; the SDKs look at it when both are set" },
  { what = "shows a web identity's token", keys = "W role-secret role-token", asked = true,
    answers = { role_answer("W", "AssumeRoleWithWebIdentity") },
    environment = { AWS_ROLE_ARN = ROLE .. "w", AWS_WEB_IDENTITY_TOKEN_FILE = "HOME/token",
      AWS_DEFAULT_REGION = "us-east-1", AWS_ROLE_SESSION_NAME = "me" },
    files = { token = "web.token" } },
  { what = "shows the web identity of a profile", keys = "W role-secret role-token", asked = true,
    profile = "w", answers = { role_answer("W", "AssumeRoleWithWebIdentity") },
    files = { token = "web.token", [CONFIG] = "[profile w]\nregion = us-east-1\nrole_arn = "
      .. ROLE .. "w\nweb_identity_token_file = HOME/token\n" } },
  { what = "uses a web identity as a role's source", keys = "R role-secret role-token",
    asked = true, profile = "r",
    answers = { role_answer("W", "AssumeRoleWithWebIdentity"), role_answer "R" },
    files = { token = "web.token", [CONFIG] = "[profile w]\nregion = us-east-1\nrole_arn = "
      .. ROLE .. "w\nweb_identity_token_file = HOME/token\n[profile r]\nregion = us-east-1\n"
      .. "role_arn = " .. ROLE .. "r\nsource_profile = w\n" } },

  -- SSO
  { what = "shows the token of a login to the portal", keys = "ASIASSO s t", profile = "dev",
    asked = true, answers = { SSO },
    files = { [CONFIG] = SSO_PROFILE, [".aws/sso/cache/SHA1(corp).json"] = login() } },
  { what = "finds the login of a profile of the old form", keys = "ASIASSO s t", profile = "dev",
    asked = true, answers = { SSO },
    files = { [CONFIG] = "[profile dev]\nsso_region = eu-west-1\n"
      .. "sso_start_url = https://corp/start\nsso_account_id = 123456789012\n"
      .. "sso_role_name = Admin\n", [".aws/sso/cache/SHA1(https://corp/start).json"] = login() } },
  { what = "wants a login", keys = false, profile = "dev",
    files = { [CONFIG] = SSO_PROFILE } },
  { what = "refuses a session that is not there", keys = false, profile = "dev",
    files = { [CONFIG] = "[profile dev]\nsso_session = corp\nsso_account_id = 123456789012\n"
      .. "sso_role_name = Admin\n" } },
  { what = "uses a login as a role's source", keys = "R role-secret role-token", profile = "r",
    answers = { SSO, role_answer "R" },
    files = { [CONFIG] = SSO_PROFILE .. "[profile r]\nregion = us-east-1\nrole_arn = " .. ROLE
      .. "r\nsource_profile = dev\n", [".aws/sso/cache/SHA1(corp).json"] = login() } },

  { what = "refuses a login that has ended", keys = false, profile = "dev",
    files = { [CONFIG] = SSO_PROFILE, [".aws/sso/cache/SHA1(corp).json"] =
      (login():gsub("2099", "2001")) } },
  { what = "refuses a session that says other than the profile", keys = false, profile = "dev",
    answers = { SSO }, files = { [CONFIG] = SSO_PROFILE .. "sso_region = eu-west-3\n",
      [".aws/sso/cache/SHA1(corp).json"] = login() } },
  { what = "refuses an SSO profile without a role", keys = false, profile = "dev",
    answers = { SSO }, files = { [CONFIG] = (SSO_PROFILE:gsub("sso_role_name = Admin\n", "")),
      [".aws/sso/cache/SHA1(corp).json"] = login() } },
  { what = "reads a session's name with blanks", keys = "ASIASSO s t", profile = "dev",
    asked = true, answers = { SSO }, files = { [".aws/sso/cache/SHA1(my corp).json"] = login(),
      [CONFIG] = SSO_PROFILE:gsub("%[sso%-session corp", '[sso-session "my corp"')
        :gsub("sso_session = corp", "sso_session = my corp"), } },
  { what = "prefers a login to keys in the same profile", keys = "ASIASSO s t", profile = "dev",
    answers = { SSO }, files = { [CONFIG] = SSO_PROFILE .. keys "A",
      [".aws/sso/cache/SHA1(corp).json"] = login() } },
  { what = "prefers a role to a login in the same profile", keys = "R role-secret role-token",
    profile = "dev", answers = { role_answer "R" }, files = { [CREDENTIALS] = "[b]\n" .. keys "B",
      [CONFIG] = SSO_PROFILE .. "role_arn = " .. ROLE .. "r\nsource_profile = b\n",
      [".aws/sso/cache/SHA1(corp).json"] = login() } },

  -- a process
  { what = "runs a credential process", keys = "P p t", profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat 'HOME/my keys'\n", ["my keys"] =
      '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p","SessionToken":"t"}' } },
  { what = "refuses a process that fails", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = false\n" } },
  { what = "refuses a version that it does not know", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n", keys =
      '{"Version":2,"AccessKeyId":"P","SecretAccessKey":"p"}' } },
  { what = "uses a process as a role's source", keys = "R role-secret role-token", profile = "r",
    asked = true, answers = { role_answer "R" },
    files = { keys = '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p"}', [CONFIG] =
      "[profile p]\ncredential_process = cat HOME/keys\n[profile r]\nregion = us-east-1\n"
      .. "role_arn = " .. ROLE .. "r\nsource_profile = p\n" } },
  { what = "prefers a profile's keys to its process", keys = "A A-secret ", profile = "p",
    files = { [CREDENTIALS] = "[p]\n" .. keys "A",
      [CONFIG] = "[profile p]\ncredential_process = false\n" } },

  { what = "prefers a process to keys in the config file", keys = "P p ", profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n" .. keys "A",
      keys = '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p"}' } },
  { what = "prefers a login to a process", keys = "ASIASSO s t", profile = "dev",
    answers = { SSO }, files = { [CONFIG] = SSO_PROFILE .. "credential_process = false\n",
      [".aws/sso/cache/SHA1(corp).json"] = login() } },
  { what = "runs a process whose words are quoted and escaped", keys = "P p ", profile = "p",
    files = { [CONFIG] = '[profile p]\ncredential_process = cat "HOME/my \\"keys\\"" \n',
      ['my "keys"'] = '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p"}' } },
  { what = "runs no shell for a process", keys = false, profile = "p",
    files = { keys = '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p"}',
      [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys | cat\n" } },
  { what = "takes keys of a process that never end", keys = "P p ", profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n", keys =
      '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p","Expiration":""}' },
    but = "an empty end is none (K105); botocore can't read it" },
  { what = "takes keys of a process that end much later", keys = "P p t", profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n", keys =
      '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p","SessionToken":"t",'
      .. '"Expiration":"2099-01-01T00:00:00+00:00"}' } },
  { what = "refuses keys of a process that have ended", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n", keys =
      '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p","SessionToken":"t",'
      .. '"Expiration":"2001-01-01T00:00:00Z"}' } },
  { what = "refuses a process that prints no JSON", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n", keys = "hello" } },
  { what = "refuses a process that prints a list", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n", keys = "[1]" } },
  { what = "refuses a process without a secret", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat HOME/keys\n",
      keys = '{"Version":1,"AccessKeyId":"P"}' } },
  { what = "refuses a process that is not there", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = /nowhere/at-all\n" } },
  { what = "refuses a process of quotes without end", keys = false, profile = "p",
    files = { [CONFIG] = "[profile p]\ncredential_process = cat 'HOME/keys\n",
      keys = '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"p"}' } },

  -- the machine
  { what = "shows the container a token", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER }, environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI =
      "http://127.0.0.2:9/keys?x=y", AWS_CONTAINER_AUTHORIZATION_TOKEN = "Bearer it" } },
  { what = "prefers the token in a file", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER }, environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI =
      "http://[fd00:ec2::23]/v1/credentials", AWS_CONTAINER_AUTHORIZATION_TOKEN = "Bearer it",
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE = "HOME/token" }, files = { token = "pod.token" } },
  { what = "shows a relative address a token, too", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER }, environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x",
      AWS_CONTAINER_AUTHORIZATION_TOKEN = "it" } },
  { what = "prefers the relative address", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER }, environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x",
      AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://127.0.0.1/y" } },
  { what = "asks any container's address over TLS", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER }, environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI =
      "https://keys.example.com:8443/y" } },
  { what = "refuses a token of two lines", keys = false, answers = { CONTAINER },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x",
      AWS_CONTAINER_AUTHORIZATION_TOKEN = "it\r\nX-Other: 1" } },
  { what = "refuses a token whose file is missing", keys = false, answers = { CONTAINER },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x",
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE = "HOME/nothing" } },
  { what = "refuses an address that only looks local", keys = false, answers = { CONTAINER },
    environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://127.0.0.1.example.com/" } },
  { what = "refuses an address with a name in front", keys = false, answers = { CONTAINER },
    environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://127.0.0.1@example.com/" } },
  { what = "does not look further when the container refuses", keys = false,
    answers = { { status = 403, body = "no" }, METADATA[1], METADATA[2], METADATA[3] },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x",
      AWS_EC2_METADATA_DISABLED = false, AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "prefers the container to the instance", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER }, environment = { AWS_EC2_METADATA_DISABLED = false,
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x", AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "asks the instance at an address of the user's", keys = "ASIAI s t", asked = true,
    answers = METADATA, environment = { AWS_EC2_METADATA_DISABLED = "false",
      AWS_EC2_METADATA_SERVICE_ENDPOINT = "http://127.0.0.1:7/",
      AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "asks the instance by IPv6", keys = "ASIAI s t", asked = true,
    answers = METADATA, environment = { AWS_EC2_METADATA_DISABLED = false,
      AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE = "IPv6", AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "asks no instance without a token", keys = false,
    answers = { { status = 405, body = "" }, METADATA[2], METADATA[3] },
    environment = { AWS_EC2_METADATA_DISABLED = false, AWS_DEFAULT_REGION = "us-east-1" },
    but = "version 1 is open to whoever makes a program fetch a page; botocore falls back to it" },
  { what = "leaves the instance alone when told so, in capitals", keys = false,
    answers = METADATA, environment = { AWS_EC2_METADATA_DISABLED = "TRUE",
      AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "asks the container", keys = "ASIAPOD s t", asked = true, answers = { CONTAINER },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" } },
  { what = "asks the container's whole address", keys = "ASIAPOD s t", asked = true,
    answers = { CONTAINER },
    environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://169.254.170.23/v1/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE = "HOME/token" }, files = { token = "pod.token" } },
  { what = "refuses a container's address in the world", keys = false,
    environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://192.0.2.1/" } },
  { what = "asks the instance", keys = "ASIAI s t", asked = true, answers = METADATA,
    environment = { AWS_EC2_METADATA_DISABLED = false, AWS_DEFAULT_REGION = "us-east-1" } },
  { what = "prefers a profile to the container", keys = "A A-secret ",
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" } },
  { what = "looks further when the default profile holds a region only", keys = "ASIAPOD s t",
    region = "eu-west-1", answers = { CONTAINER },
    files = { [CONFIG] = "[default]\nregion = eu-west-1\n" },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" } },
  { what = "does not look further when a chosen profile holds a region only", keys = false,
    profile = "x", answers = { CONTAINER },
    files = { [CONFIG] = "[profile x]\nregion = eu-west-1\n" },
    environment = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI = "/v2/x" },
    but = "a profile that was chosen and holds nothing is a mistake; botocore takes other keys" },

  -- endpoints
  { what = "takes the endpoint of AWS_ENDPOINT_URL", endpoint_of = "ec2", keys = "A A-secret ",
    environment = { AWS_ENDPOINT_URL = "http://127.0.0.1:1" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "takes a service's own variable first", endpoint_of = "eks", keys = "A A-secret ",
    environment = { AWS_ENDPOINT_URL = "http://127.0.0.1:1",
      AWS_ENDPOINT_URL_EKS = "http://127.0.0.1:2" },
    files = { [CREDENTIALS] = "[default]\n" .. keys "A" } },
  { what = "takes the endpoint of a profile's services section", endpoint_of = "service-quotas",
    keys = "A A-secret ", files = { [CONFIG] = "[default]\nservices = here\n"
      .. "endpoint_url = http://127.0.0.1:1\n" .. keys "A" .. "[services here]\nservice_quotas =\n"
      .. "  endpoint_url = http://127.0.0.1:3\n" } },
  { what = "takes the endpoint of a profile", endpoint_of = "iam", keys = "A A-secret ",
    files = { [CONFIG] = "[default]\nendpoint_url = http://127.0.0.1:4\n" .. keys "A" } },
  { what = "prefers a variable to the profile", endpoint_of = "iam", keys = "A A-secret ",
    environment = { AWS_ENDPOINT_URL = "http://127.0.0.1:5" },
    files = { [CONFIG] = "[default]\nendpoint_url = http://127.0.0.1:4\n" .. keys "A" } },
  { what = "leaves configured endpoints alone when told so", endpoint_of = "eks",
    keys = "A A-secret ", files = { [CONFIG] = "[default]\nendpoint_url = http://127.0.0.1:4\n"
      .. "ignore_configured_endpoint_urls = true\n" .. keys "A" } },
  { what = "asks a FIPS endpoint when a variable says so", endpoint_of = "eks",
    keys = "A A-secret ", environment = { AWS_USE_FIPS_ENDPOINT = "TRUE" },
    files = { [CONFIG] = "[default]\nuse_fips_endpoint = false\n" .. keys "A" } },
  { what = "asks dual-stack endpoints when the profile says so", endpoint_of = "s3",
    keys = "A A-secret ", files = { [CONFIG] = "[default]\nuse_dualstack_endpoint = true\n"
      .. keys "A" } },
  { what = "asks endpoints of both kinds at once", endpoint_of = "eks", keys = "A A-secret ",
    environment = { AWS_USE_DUALSTACK_ENDPOINT = "true" },
    files = { [CONFIG] = "[default]\nuse_fips_endpoint = true\n" .. keys "A" } },
  { what = "takes no word but true and false for them", keys = false, region = false,
    environment = { AWS_USE_FIPS_ENDPOINT = "yes" },
    files = { [CONFIG] = "[default]\n" .. keys "A" },
    but = "botocore reads `yes` as no, and asks the plain endpoint of who wanted a FIPS one" },
}
