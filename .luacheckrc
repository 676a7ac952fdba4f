std = "lua54"
max_line_length = 100
exclude_files = { "build", "test/vectors" }
files["test/**/*_spec.lua"] = { std = "lua54+busted" }
files["test/helper.lua"] = { std = "lua54+busted" }
