--- What all handlers of EC2 share: filters, ids, tags, address ranges.

local array = require "rtl.array"
local fault = require "rtl.rehearse.aws.fault"
local late = require "rtl.rehearse.weather.late"

local M = {}

-- A filter's value may hold * and ?.
local function pattern_of(text)
  local pattern = text:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  return "^" .. pattern .. "$"
end

local function value_matches(have, wanted)
  if have == nil then return false end
  if type(have) == "table" then
    for _, one in ipairs(have) do
      if value_matches(one, wanted) then return true end
    end
    return false
  end
  for _, text in ipairs(wanted) do
    if text:find "[*?]" then
      if tostring(have):find(pattern_of(text)) then return true end
    elseif tostring(have) == text then
      return true
    end
  end
  return false
end

--- The value of an item's tag, or nil.
function M.tag(item, key)
  for _, tag in ipairs(item.Tags or item.TagSet or {}) do
    if tag.Key == key then return tag.Value end
  end
  return nil
end

local function tag_keys(item)
  local keys = {}
  for i, tag in ipairs(item.Tags or item.TagSet or {}) do keys[i] = tag.Key end
  return keys
end

local function filter_value(item, name, known)
  local key = name:match "^tag:(.+)$"
  if key then return M.tag(item, key) end
  if name == "tag-key" then return tag_keys(item) end
  local how = known[name]
  if type(how) == "function" then return how(item) end
  return item[how]
end

local function check_filters(filters, known)
  for _, filter in ipairs(filters or {}) do
    if not filter.Name then return fault.invalid("a filter needs a Name") end
    if not known[filter.Name] and filter.Name ~= "tag-key" and not filter.Name:find "^tag:" then
      return fault.invalid(("The filter '%s' is invalid"):format(filter.Name))
    end
    if not filter.Values or #filter.Values == 0 then
      return fault.invalid(("The filter '%s' needs values"):format(filter.Name))
    end
  end
  return nil
end

local function passes(item, filters, known)
  for _, filter in ipairs(filters or {}) do
    if not value_matches(filter_value(item, filter.Name, known), filter.Values) then
      return false
    end
  end
  return true
end

local function asks_for_tags(filters)
  for _, filter in ipairs(filters or {}) do
    if filter.Name:find "^tag" then return true end
  end
  return false
end

--- The items of a shelf that a Describe call asks for. `options`: ids (array or nil), missing (code
-- for an id that is not there), filters, known (filter name → field or function).
-- Returns an array, or nil and a fault.
function M.select(shelf, options)
  local refused = check_filters(options.filters, options.known)
  if refused then return nil, refused end
  local wanted
  if options.ids and #options.ids > 0 then
    wanted = {}
    for _, id in ipairs(options.ids) do
      if not shelf:get(id) or late.by_id(shelf, id) then
        return nil, fault.new(options.missing, ("The ID '%s' does not exist"):format(id))
      end
      wanted[id] = true
    end
  end
  local list, hidden = array {}, asks_for_tags(options.filters) and late.by_tags or late.by_id
  for _, id in ipairs(shelf.order) do
    local item = shelf.by_id[id]
    if (not wanted or wanted[id]) and passes(item, options.filters, options.known)
      and not hidden(shelf, id) then
      list[#list + 1] = item
    end
  end
  return list
end

--- An item by id, or nil and a fault of `code`.
function M.need(shelf, id, code, what)
  local item = shelf:get(id)
  if item and not late.by_id(shelf, id) then return item end
  return nil, fault.new(code, ("The %s '%s' does not exist"):format(what or "ID", tostring(id)))
end

--- The tags that a create's TagSpecifications give to a type of resource.
function M.tags_for(params, kind)
  local tags = array {}
  for _, specification in ipairs(params.TagSpecifications or {}) do
    if specification.ResourceType == kind then
      for _, tag in ipairs(specification.Tags or {}) do
        tags[#tags + 1] = { Key = tag.Key, Value = tag.Value or "" }
      end
    end
  end
  return tags
end

--- Whether the tag specifications name only `kinds`; else a fault.
function M.wrong_tags(params, ...)
  local kinds = {}
  for _, kind in ipairs { ... } do kinds[kind] = true end
  for _, specification in ipairs(params.TagSpecifications or {}) do
    if not kinds[specification.ResourceType or ""] then
      return fault.invalid(("'%s' is not a valid taggable resource type for this operation.")
                           :format(tostring(specification.ResourceType)))
    end
  end
  return nil
end

--- Sets tags on an array of tags in place.
function M.set_tags(tags, new)
  for _, tag in ipairs(new) do
    local found
    for _, have in ipairs(tags) do
      if have.Key == tag.Key then
        have.Value, found = tag.Value or "", true
      end
    end
    if not found then tags[#tags + 1] = { Key = tag.Key, Value = tag.Value or "" } end
  end
end

--- A range "a.b.c.d/n" as { first, last, bits }; nil if it is none.
function M.range(cidr)
  local a, b, c, d, bits = (cidr or ""):match "^(%d+)%.(%d+)%.(%d+)%.(%d+)/(%d+)$"
  a, b, c, d, bits = tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(bits)
  if not bits or a > 255 or b > 255 or c > 255 or d > 255 or bits > 32 then return nil end
  local size = 1 << (32 - bits)
  local first = (a << 24 | b << 16 | c << 8 | d)
  return { first = first - first % size, last = first - first % size + size - 1, bits = bits,
           exact = first % size == 0 }
end

--- An address of a range: its first address plus `offset`.
function M.address(range, offset)
  local n = range.first + offset
  return ("%d.%d.%d.%d"):format(n >> 24 & 255, n >> 16 & 255, n >> 8 & 255, n & 255)
end

--- The private DNS name of an address in a region.
function M.host_name(region, address)
  local base = "ip-" .. address:gsub("%.", "-")
  return base .. (region == "us-east-1" and ".ec2.internal" or ("." .. region
                                                               .. ".compute.internal"))
end

--- The next free address of a subnet.
function M.next_address(subnet)
  subnet.used = (subnet.used or 9) + 1
  subnet.AvailableIpAddressCount = subnet.AvailableIpAddressCount - 1
  return M.address(M.range(subnet.CidrBlock), subnet.used)
end

return M
