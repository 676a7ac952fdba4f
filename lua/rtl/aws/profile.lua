--- The shared files ~/.aws/config and ~/.aws/credentials, with the rules of the SDKs.

local err = require "rtl.err"
local fs = require "rtl.fs"
local process = require "rtl.process"
local secret = require "rtl.native.secret"

local M = {}

local SECRET = { aws_secret_access_key = true, aws_session_token = true, aws_security_token = true }

-- What makes a pair of keys: it is taken from one file, never from both.
local KEYS = { "aws_access_key_id", "aws_secret_access_key", "aws_session_token",
  "aws_security_token" }

local function trim(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- A comment inside a line needs white space before it: `a=b#c` keeps all of it.
local function without_comment(text)
  return trim((text:gsub("%s[#;].*$", "")))
end

local function unquote(text)
  return text:match '^"(.*)"$' or text:match "^'(.*)'$" or text
end

-- The kind and the name of a section's header: "profile", "x".
local function section_of(header, is_config)
  header = trim(header)
  if not is_config then
    return header:match "^profile%s" and "ignored" or "profile", unquote(header)
  end
  if header == "default" then return "profile", "default" end
  local kind, name = header:match "^([%w-]+)%s+(.+)$"
  if kind == "profile" or kind == "sso-session" or kind == "services" then
    return kind, unquote(trim(name))
  end
  return "ignored", header
end

local function store(section, key, text)
  section[key] = SECRET[key] and text ~= "" and secret.new(text) or text
end

local function malformed(path, number, why)
  return err.fail {
    code = "RTL-CRED-001", message = ("%s, line %d: %s"):format(path, number, why),
    hint = "write [profile NAME] sections with key = value lines",
  }
end

-- Continuation lines: a group of sub-keys under `key =`, or more lines of its value.
local function continue(section, key, text)
  local value = section[key]
  local sub, rest = text:match "^([^=%s]+)%s*=%s*(.*)$"
  if (value == "" or type(value) == "table") and sub then
    if value == "" then section[key] = {} end
    section[key][sub:lower()] = without_comment(rest)
  elseif secret.is(value) then
    section[key] = secret.join(value, "\n", text)
  elseif type(value) == "string" then
    store(section, key, value .. "\n" .. text)
  end
end

-- Sections of the config file that are the AWS CLI's own.
local NO_PROFILES = { plugins = true, preview = true }

-- What a person should know about a section: that it counts for nothing, or not for the AWS CLI.
local function remark(header, kind, name, is_config)
  local text = trim(header)
  if kind == "ignored" and is_config then
    local meant = not text:find "%s" and not NO_PROFILES[text]
    return meant and ("is no profile here: write [profile %s]"):format(text) or nil
  elseif kind == "ignored" then
    return ("is no profile here: write [%s]"):format(text:match "^profile%s+(.*)$")
  elseif header ~= text then
    return "is seen by rtl, but not by the AWS CLI: take the blanks out"
  elseif is_config and name:find "%s" and not header:find "[\"']" then
    return ("is seen by rtl, but not by the AWS CLI: write [%s \"%s\"]"):format(kind, name)
  end
end

local function header_line(state, line, place)
  local header = line:match "^%[([^%]]*)%]"
  if not header then return false end
  local kind, name = section_of(header, state.is_config)
  local said = remark(header, kind, name, state.is_config)
  if said then table.insert(state.found.notes, ("%s: [%s] %s"):format(place, header, said)) end
  -- In the config file [profile default] beats [default].
  local weight = header:match "^%s*profile%s" and 2 or 1
  local sections = state.found[kind] or {}
  state.found[kind] = sections
  local known = sections[name]
  if known and name == "default" and state.weight and weight ~= state.weight then
    if weight < state.weight then
      state.section, state.key = {}, nil
      return true
    end
    known = nil
  end
  if name == "default" then state.weight = weight end
  sections[name] = known or {}
  state.section, state.key = sections[name], nil
  return true
end

-- `key = value`; botocore reads `key: value`, too.
local function value_line(state, line)
  local key, text = line:match "^([^=:]-)%s*[=:]%s*(.*)$"
  if not key or key == "" then return false end
  state.key = trim(key):lower()
  store(state.section, state.key, without_comment(text))
  return true
end

-- More than any token has; what takes a line apart may take the square of its length.
local LONGEST_LINE = 16 << 10

-- A line that is indented deeper than the setting before it goes on with that setting.
local function read_line(state, line, number, path)
  if #line > LONGEST_LINE then return malformed(path, number, "the line is too long") end
  local indent, text = line:match "^(%s*)(.-)%s*$"
  if text == "" or text:find "^[#;]" then return true end
  if state.key and #indent > state.indent then
    continue(state.section, state.key, text)
    return true
  end
  state.indent = #indent
  if text:sub(1, 1) == "[" then
    if header_line(state, text, ("%s, line %d"):format(path, number)) then return true end
    return malformed(path, number, "a section has no end")
  end
  if not state.section then return malformed(path, number, "a setting before any section") end
  if value_line(state, text) then return true end
  return malformed(path, number, "neither [section] nor key = value")
end

local function empty()
  return { profile = {}, services = {}, ["sso-session"] = {}, in_credentials = {}, notes = {} }
end

--- Parses the text of a file. `is_config`: sections need the word `profile` before their name.
-- Returns {profile = {name → {key → text}}, ["sso-session"] = …, services = …, notes = texts for a
-- person whose section counts for nothing}, or nil, err.
function M.parse(text, is_config, path)
  local state = { found = empty(), is_config = is_config }
  local number = 0
  text = text:gsub("^\u{FEFF}", "") -- a byte order mark, which editors of Windows write
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    local good, failure = read_line(state, line:gsub("\r$", ""), number, path or "file")
    if not good then return nil, failure end
  end
  return state.found
end

-- A path with `~`, $NAME and ${NAME} filled in; an unknown variable stays as it is written.
local function at_home(path)
  local home = process.variable "HOME" or ""
  path = path:gsub("%$([%w_]+)", process.getenv):gsub("%${([%w_]+)}", process.getenv)
  return (path:gsub("^~%f[/\0]", (home:gsub("%%", "%%%%"))))
end

local function location(variable, default)
  return at_home(process.variable(variable) or default)
end

local function read(path, is_config)
  if not fs.exists(path) then return empty() end
  local text, failure = fs.read(path)
  if not text then return nil, failure end
  return M.parse(text, is_config, path)
end

-- Settings that rtl reads hold no group of sub-keys: where one stands, nothing is set.
local function drop_groups(sections)
  for _, section in pairs(sections) do
    for key, text in pairs(section) do
      if type(text) == "table" then section[key] = "" end
    end
  end
end

-- The credentials file wins over the config file, key by key, but for the pair of keys.
local function merge(config, credentials)
  for name, section in pairs(credentials.profile) do
    local merged = config.profile[name] or {}
    local owner = section.aws_access_key_id and section or merged
    local pair = {}
    for _, key in ipairs(KEYS) do pair[key] = owner[key] end
    for key, text in pairs(section) do merged[key] = text end
    for _, key in ipairs(KEYS) do merged[key] = pair[key] end
    config.profile[name], config.in_credentials[name] = merged, owner == section
  end
  drop_groups(config.profile)
  drop_groups(config["sso-session"])
  table.move(credentials.notes, 1, #credentials.notes, #config.notes + 1, config.notes)
  return config
end

--- Reads both files (AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE or their places in ~/.aws).
-- Returns all sections as M.parse does, with in_credentials = {name → whether the profile's keys
-- lie in the credentials file}; nil and an error for a malformed file.
function M.load()
  local config, failure = read(location("AWS_CONFIG_FILE", "~/.aws/config"), true)
  if not config then return nil, failure end
  local credentials
  credentials, failure = read(location("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"))
  if not credentials then return nil, failure end
  return merge(config, credentials)
end

--- The folder where logins of SSO sessions are kept.
function M.sso_cache()
  return at_home "~/.aws/sso/cache"
end

--- The name of the profile to use, and whether it was chosen: as given, AWS_PROFILE,
-- AWS_DEFAULT_PROFILE, "default".
function M.chosen(given)
  local name = given or process.variable "AWS_PROFILE" or process.variable "AWS_DEFAULT_PROFILE"
  return name or "default", name ~= nil
end

return M
