--- The kinds of weather, as data: what can go wrong in a cloud, and where that is known from.
--
-- title    what happens, for people
-- source   where it is documented or was seen; without one it stands among what is unconfirmed
-- weight   how often it is in a mixed sky (1 is usual)
-- spells   it blows in spells: { count, shortest, longest } seconds, spread over `over` seconds
-- chance   of each call in a spell to be hit
-- times    of the things of its sort that come by, how many are hit (1), after `skip` (0) others:
--          numbers, or { low, high } from which the seed picks
-- at       { low, high }: seconds after the world's begin at which it happens
-- pick     lists of which the seed picks one entry each: the draw has it under the list's name

local EC2_ERRORS = "EC2 API reference, error codes"
local BOTOCORE = "botocore, service-2.json of "

return {
  -- ---- on the way to a server ----
  ["reset-before"] = {
    title = "connections are reset before a request takes effect",
    source = "any network", spells = { 5, 20, 120 }, chance = 0.12,
  },
  ["reset-after"] = {
    title = "connections are reset after a request took effect",
    source = "any network", spells = { 5, 20, 120 }, chance = 0.12,
  },
  ["no-answer"] = {
    title = "requests take effect, but their answers never come",
    source = "any network", spells = { 5, 20, 120 }, chance = 0.08,
  },
  ["no-network"] = {
    title = "the operator's network is gone for a while",
    source = "any laptop", spells = { 3, 10, 90 }, chance = 1,
  },
  ["slow-network"] = {
    title = "every call takes ten to forty times as long",
    source = "any network", spells = { 3, 60, 400 }, chance = 1, pick = { factor = { 10, 20, 40 } },
  },

  -- ---- what every service of AWS may answer ----
  throttling = {
    title = "others in the account use up the rate limits of its services",
    source = "EC2 developer guide, request throttling; botocore, data/_retry.json",
    spells = { 5, 20, 150 }, pick = { left = { 0.2, 0.5, 1 } },
  },
  ["server-errors"] = {
    title = "services answer 500 and 503 and have done nothing",
    source = EC2_ERRORS .. "; AWS common errors", spells = { 5, 20, 120 }, chance = 0.15,
  },
  ["server-errors-after"] = {
    title = "services answer 500 and 503, and the call took effect all the same",
    source = "EC2 developer guide, ensuring idempotency", spells = { 5, 20, 120 }, chance = 0.1,
  },
  ["small-pages"] = {
    title = "pages of lists are very short",
    source = "EC2 developer guide, pagination: a page may hold fewer than MaxResults",
    pick = { size = { 1, 2, 3 } },
  },
  ["clock-skew"] = {
    title = "the operator's clock is wrong by minutes",
    source = "SDK clock-skew test cases", pick = { seconds = { -1500, -420, 360, 900, 4000 } },
  },
  ["expired-keys"] = {
    title = "the session's credentials expire in the middle; a next run has new ones",
    source = BOTOCORE .. "sts: ExpiredTokenException", weight = 0.7, at = { 20, 2400 },
  },

  -- ---- eventual consistency ----
  ["late-ids"] = {
    title = "what was just made is not found for some seconds",
    source = "EC2 developer guide, eventual consistency",
    chance = 0.35, pick = { seconds = { 2, 5, 12 } },
  },
  ["late-tags"] = {
    title = "what was just made is not found by its tags for some seconds",
    source = "EC2 developer guide, eventual consistency",
    chance = 0.5, pick = { seconds = { 5, 15, 30 } },
  },
  ["late-roles"] = {
    title = "roles can be used only a minute after they were made",
    source = "Terraform, eks/cluster.go", pick = { seconds = { 25, 50, 90 } },
  },
  ["late-access"] = {
    title = "a new cluster refuses its creator's tokens for some seconds",
    pick = { seconds = { 5, 20, 45 } },
  },
  ["late-name"] = {
    title = "the name of a new cluster's endpoint is not known for some seconds",
    pick = { seconds = { 5, 20, 60 } },
  },
}
