-- Runs busted inside rtl: `build/rtl test/run.lua [busted options] [paths]`.
-- Specs see the modules as users do; test/helper.lua watches for leaks around each of them.
local words = { "--helper=test/helper.lua", "--pattern=_spec", "--output=test/output.lua" }
local paths = false
for _, word in ipairs(arg) do
  words[#words + 1] = word
  paths = paths or not word:match("^%-")
end
if not paths then words[#words + 1] = "test/unit" end
_G.arg = table.move(words, 1, #words, 1, { [0] = "test/run.lua" })
require "busted.runner" ({ standalone = false })
