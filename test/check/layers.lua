-- Which layer a module belongs to, and which layers it may require: an arrow points down only.
local M = {}

local LAYERS = {
  -- module prefix → prefixes that it may require; the longest matching prefix counts
  ["rtl.aws"] = { "rtl.aws" },
  ["rtl.k8s"] = { "rtl.k8s" },
  ["rtl.helm"] = { "rtl.helm" },
  ["rtl.ray"] = { "rtl.ray" },
  ["rtl.nccl"] = { "rtl.nccl" },
  ["rtl.plan"] = { "rtl.plan" },
  ["rtl.kinds"] = { "rtl.kinds", "rtl.plan", "rtl.aws", "rtl.k8s", "rtl.helm", "rtl.ray",
    "rtl.nccl" },
  ["rtl.recipe"] = { "rtl.recipe", "rtl.kinds", "rtl.plan", "rtl.aws", "rtl.k8s", "rtl.helm",
    "rtl.ray", "rtl.nccl" },
  ["rtl.cli"] = { "rtl" },
  -- It reads requests with the tables that they were written from.
  ["rtl.rehearse"] = { "rtl.rehearse", "rtl.aws.ops", "rtl.aws.model", "rtl.kinds.instances" },
  ["recipes"] = { "recipes", "rtl.recipe", "rtl.kinds", "rtl.plan", "rtl.aws", "rtl.k8s",
    "rtl.helm", "rtl.ray", "rtl.nccl" },
  ["rtl"] = { "rtl.codes" },
}
local LAYERED = { "rtl.aws", "rtl.k8s", "rtl.helm", "rtl.ray", "rtl.nccl", "rtl.plan", "rtl.kinds",
  "rtl.recipe", "rtl.cli", "rtl.rehearse", "recipes" }

--- The module name of a source path.
function M.module_of(path)
  return (path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

local function starts(name, prefix)
  return name == prefix or name:sub(1, #prefix + 1) == prefix .. "."
end

local function layer_of(module)
  local best
  for prefix in pairs(LAYERS) do
    if starts(module, prefix) and #prefix > #(best or "") then best = prefix end
  end
  return best
end

-- A module outside of every layer is part of the base, which all may require.
local function is_base(module)
  for _, prefix in ipairs(LAYERED) do
    if starts(module, prefix) then return false end
  end
  return true
end

--- Whether module `from` may require module `to`.
function M.may_require(from, to)
  if not to:match("^rtl%.") and not to:match("^recipes%.") then return true end
  if from == "rtl.process" or is_base(to) then
    return not (starts(from, "recipes") and to:match("^rtl%.native%."))
  end
  for _, prefix in ipairs(LAYERS[layer_of(from)] or {}) do
    if starts(to, prefix) then
      return starts(from, "rtl.rehearse") or not starts(to, "rtl.rehearse")
    end
  end
  return false
end

return M
