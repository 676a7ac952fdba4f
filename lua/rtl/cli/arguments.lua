--- The words after a recipe: options of the runner, settings, and the recipe's own words.

local err = require "rtl.err"
local nearest = require "rtl.nearest"
local settings = require "rtl.recipe.settings"
local text = require "rtl.recipe.text"

local M = {}

--- The runner's own options. `value` says what follows the option.
M.options = {
  { name = "plan", help = "show what would be done, hold and change nothing" },
  { name = "exit-code", help = "with --plan: exit 4 when there are changes" },
  { name = "out", value = "DIR", help = "with --plan: write what would be sent into DIR" },
  { name = "policy", help = "print the least IAM policy for the plan and its teardown" },
  { name = "yes", short = "y", help = "don't ask" },
  { name = "json", help = "events as one JSON object a line" },
  { name = "only", value = "STEP,…", help = "apply and verify these steps only" },
  { name = "from", value = "STEP", help = "apply and verify from this step on" },
  { name = "to", value = "STEP", help = "apply and verify up to this step" },
  { name = "help", short = "h", help = "show the recipe's help" },
}

-- What every recipe takes: how it speaks, and an answer to a question that it may not have.
local EVERYWHERE = { json = true, help = true, yes = true }

-- Whether a recipe lists an option in its `options`.
local function lists(recipe, name)
  for _, own in ipairs(recipe.options or {}) do
    if own == name then return true end
  end
  return false
end

--- Whether a recipe heeds the runner's option `name`. One with steps heeds all; one without heeds
-- those that it lists in its `options`.
function M.heeds(recipe, name)
  return EVERYWHERE[name] or #(recipe.steps or {}) > 0 or lists(recipe, name)
end

-- What says how a plan is shown means nothing without one.
local WITH_PLAN = { "exit-code", "out" }

local function check_together(options)
  for _, name in ipairs(WITH_PLAN) do
    if options[name:gsub("-", "_")] and not options.plan then
      error(err.new { code = "RTL-CLI-001", message = ("--%s goes with --plan"):format(name) }, 0)
    end
  end
end

--- Refuses options that the recipe would not heed: `--only job` would else be no limit at all.
-- `parsed` is what parse() returned. Raises RTL-CLI-001.
function M.check(recipe, parsed)
  for _, option in ipairs(M.options) do
    if parsed.options[option.name:gsub("-", "_")] and not M.heeds(recipe, option.name) then
      error(err.new { code = "RTL-CLI-001",
        message = ("%s takes no --%s"):format(recipe.name, option.name),
        hint = ("rtl help %s shows what it takes"):format(recipe.name) }, 0)
    end
  end
  check_together(parsed.options)
end

local function option_of(word)
  for _, option in ipairs(M.options) do
    if option.name == word or option.short == word then return option end
  end
  return nil
end

local function all_names(set)
  local names = {}
  for _, option in ipairs(M.options) do names[#names + 1] = option.name end
  for _, name in ipairs(set:names()) do names[#names + 1] = (name:gsub("_", "-")) end
  return names
end

local function unknown(word, bare, set)
  return err.fail {
    code = "RTL-CLI-001",
    message = ("unknown option '%s'%s"):format(word, nearest.hint(bare, all_names(set))),
    hint = "rtl help settings lists all of them",
  }
end

-- One option: what it means and whether a value follows. Returns kind, declaration, negated.
local function meaning(bare, set)
  local option = option_of(bare)
  if option then return "option", option end
  local declaration = set:find(bare)
  if declaration then return "setting", declaration end
  local positive = bare:match("^no%-(.+)$")
  declaration = positive and set:find(positive)
  if declaration and declaration.type == "boolean" then return "setting", declaration, true end
  return nil
end

local function takes_value(kind, what)
  if kind == "option" then return what.value ~= nil end
  return what.type ~= "boolean"
end

local function put(out, kind, what, given)
  if kind == "setting" then
    local before = out.settings[what.name]
    -- A list given twice is one longer list: -r us-east-2 -r us-west-2.
    out.settings[what.name] = what.list and before and before .. "," .. given or given
  else
    out.options[what.name:gsub("-", "_")] = given
  end
end

-- Splits "--name=value", "-rvalue" and "-y" into shown, bare name and joined value.
local function split(word)
  local long, joined = word:match("^%-%-([^=]+)=(.*)$")
  if long then return long, joined end
  if word:match("^%-%-") then return word:sub(3), nil end
  local letter, rest = word:sub(2, 2), word:sub(3)
  if rest == "" then return letter, nil end
  return letter, (rest:gsub("^=", ""))
end

local function one(words, i, set, out)
  local bare, joined = split(words[i])
  local kind, what, negated = meaning(bare, set)
  if not kind then return unknown(words[i], bare, set) end
  if kind == "option" and joined and not what.value then
    return err.fail { code = "RTL-CLI-001",
      message = ("'%s': --%s takes no value"):format(words[i], what.name) }
  end
  if not takes_value(kind, what) then
    put(out, kind, what, kind == "option" or joined or (negated and "false" or "true"))
    return i + 1
  end
  local given = joined or words[i + 1]
  if not given or (not joined and given:match("^%-%-")) then
    return err.fail { code = "RTL-CLI-002", message = ("'%s' needs a value"):format(words[i]) }
  end
  put(out, kind, what, given)
  return joined and i + 1 or i + 2
end

--- Sorts `words` (array) by the set of settings: returns {settings = {name → text}, options =
-- {name → true or text}, words = array}, or nil and an error with the nearest name.
function M.parse(words, set)
  local out, i = { settings = {}, options = {}, words = {} }, 1
  while i <= #words do
    local word = words[i]
    if word == "--" then
      table.move(words, i + 1, #words, #out.words + 1, out.words)
      break
    elseif word:match("^%-.") then
      local after, e = one(words, i, set, out)
      if not after then return nil, e end
      i = after
    else
      out.words[#out.words + 1] = word
      i = i + 1
    end
  end
  return out
end

--- Lines that describe the runner's options which `recipe` heeds, for help.
function M.describe(recipe)
  local lines = {}
  for _, option in ipairs(M.options) do
    local asks = option.name ~= "yes" or M.heeds(recipe, "plan") or lists(recipe, "yes")
    if M.heeds(recipe, option.name) and asks then
      local short = option.short and "-" .. option.short .. ", " or "    "
      local left = short .. "--" .. option.name .. (option.value and " " .. option.value or "")
      lines[#lines + 1] = ("  %s %s"):format(text.pad(left, 24), option.help)
    end
  end
  return lines
end

local WIDTH, HELP_AT = 100, 35

-- "help [default]" from column HELP_AT on, in lines of WIDTH columns.
local function setting_lines(left, declaration)
  local default = M.default_text(declaration)
  if declaration.unit then default = default .. " " .. declaration.unit end
  local lines = text.wrap(("%s [%s]"):format(declaration.help, default), WIDTH - HELP_AT)
  for i, line in ipairs(lines) do
    lines[i] = text.pad(i == 1 and "    " .. left or "", HELP_AT) .. line
  end
  return lines
end

--- Lines that describe the settings of a set, under their groups.
function M.describe_settings(set)
  local lines, group = {}, nil
  for _, declaration in ipairs(set.list) do
    if declaration.group and declaration.group ~= group then
      group = declaration.group
      lines[#lines + 1] = "  " .. group
    end
    local option = settings.spellings(declaration.name)
    local short = declaration.short and "-" .. declaration.short .. ", " or ""
    local shown = setting_lines(short .. option, declaration)
    table.move(shown, 1, #shown, #lines + 1, lines)
  end
  return lines
end

--- A declaration's default as text: "none" for an empty one.
function M.default_text(declaration)
  local default = declaration.default
  if type(default) == "table" then default = table.concat(default, ",") end
  return default == "" and "none" or tostring(default)
end

return M
