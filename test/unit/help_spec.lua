local explain = require "rtl.cli.explain"
local help = require "rtl.cli.help"

describe("the help index", function ()
  it("has an entry for modules and functions, in order", function ()
    local index, names = help.index(), {}
    assert.is_true(#index > 100)
    for i, entry in ipairs(index) do
      names[entry.name:match("^[%w_.:]+") or ""] = true
      if i > 1 then assert.is_true(index[i - 1].name <= entry.name) end
      assert.is_true(#entry.text > 0 or not entry.name:match("^rtl"), entry.name)
    end
    for _, name in ipairs { "rtl.task", "rtl.task.sleep", "rtl.recipe.settings", "rtl.err.new" } do
      assert.is_true(names[name], name)
    end
  end)
end)

describe("codes", function ()
  it("each have a title, a cause and a next step, in whole sentences", function ()
    local count = 0
    for code, page in pairs(explain.all()) do
      count = count + 1
      for _, part in ipairs { "title", "cause", "next" } do
        assert.is_string(page[part], code .. " " .. part)
        assert.is_true(#page[part] > 3, code .. " " .. part)
      end
    end
    assert.is_true(count > 30)
  end)
end)
