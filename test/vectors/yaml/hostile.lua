-- Texts that the YAML reader must refuse: { why, text, part of the message, line, column }.
local laughs = { 'w0: &w0 ["lol"]' }
for i = 1, 8 do
  local alias = ("*w%d"):format(i - 1)
  laughs[#laughs + 1] = ("w%d: &w%d [%s]"):format(i, i, (alias .. ","):rep(9) .. alias)
end
local merges = { "m0: &m0 {k: 1}" }
for i = 1, 30 do
  merges[#merges + 1] = ("m%d: &m%d {<<: [*m%d, *m%d], k%d: 1}"):format(i, i, i - 1, i - 1, i)
end
local anchors = {}
for i = 1, 1001 do anchors[i] = ("- &a%d x"):format(i) end

return {
  { "a key that stands twice", "apiVersion: v1\nkind: Pod\napiVersion: v2\n",
    "key 'apiVersion' stands twice: already in line 1", 3, 1 },
  { "a key that stands twice, deep and far apart", "a:\n- b: 1\n  c: 2\n  d: {e: 1}\n  b: 3\n",
    "key 'b' stands twice: already in line 2", 5, 3 },
  { "a key that stands twice, once quoted", "'1': a\n1: b\n", "key '1' stands twice", 2, 1 },
  { "a key that stands twice in flow style", "{a: 1, b: 2, a: 3}", "key 'a' stands twice", 1, 14 },
  { "an anchor of another document", "x: &s 1\n---\ny: *s\n", "anchor 's' belongs to document 1", 3, 4 },
  { "an unknown anchor", "a: *nope\n", "unknown anchor 'nope'", 1, 4 },
  { "an anchor that contains itself", "a: &x [*x]\n", "anchor 'x' contains itself", 1, 8 },
  { "an anchor that contains itself in a mapping", "&x a: {b: {c: &y {d: *y}}}\n",
    "anchor 'y' contains itself", 1, 22 },
  { "a merge of itself", "a: &x {<<: *x}\n", "anchor 'x' contains itself", 1, 12 },
  { "a billion laughs", table.concat(laughs, "\n"), "aliases expand to more than 100000 values", 6, 22 },
  { "a billion laughs by merge keys", table.concat(merges, "\n"), "aliases expand", nil, nil },
  { "more than 1000 anchors", table.concat(anchors, "\n"), "more than 1000 anchors", 1001, 3 },
  { "four dashes", "----\nkind: Pod\n", "four dashes", 1, 1 },
  { "text right after three dashes in a block scalar", "a: |\n  x\n---suffix\n", "a document separator stands alone",
    3, 1 },
  { "a tab as indent", "a:\n\tb: 1\n", "cannot start any token", 2, 1 },
  { "infinity", "a: .inf\n", "infinity and NaN", 1, 4 },
  { "minus infinity", "a: -.Inf\n", "infinity and NaN", 1, 4 },
  { "not a number", "- .NaN\n", "infinity and NaN", 1, 3 },
  { "a sequence as key", "? [a, b]\n: c\n", "a mapping's key must be a scalar", 1, 3 },
  { "a mapping as key", "{{a: 1}: 2}\n", "a mapping's key must be a scalar", 1, 2 },
  { "a merge of a scalar", "a:\n  <<: 5\n", "a merge key needs a mapping", 2, 7 },
  { "a merge of scalars", "<<: [1, 2]\n", "a merge key needs a mapping", 1, 10 },
  { "an !!int that is none", "a: !!int abc\n", "scalar is no !!int", 1, 4 },
  { "an !!int with a fraction", "a: !!int 1.0\n", "scalar is no !!int", 1, 4 },
  { "a !!float that is none", "a: !!float abc\n", "scalar is no !!float", 1, 4 },
  { "a !!null that is none", "a: !!null x\n", "scalar is no !!null", 1, 4 },
  { "!!binary that is no base64", 'a: !!binary "!!"\n', "!!binary is not base64", 1, 4 },
  { "an open bracket", "a: [1, 2\n", "did not find expected", 2, 1 },
  { "an open quote", 'a: "x\n', "unexpected end of stream", 2, 1 },
  { "an unknown escape", 'a: "\\q"\n', "unknown escape character", 1, 5 },
  { "wrong indentation", "a: 1\n b: 2\n", "mapping values are not allowed", 2, 3 },
  { "an item where a key is due", "a: 1\n- b\n", "did not find expected", 2, 1 },
  { "a NUL", "a: b\0c\n", "control characters are not allowed", nil, nil },
  { "a control character", "a: b\1c\n", "control characters are not allowed", nil, nil },
  { "bytes that are no UTF-8", "a: \xff\n", "UTF-8", nil, nil },
  { "an overlong slash", "a: \xc0\xaf\n", "UTF-8", nil, nil },
  { "text that is cut inside a character", "a: \xe2\x82", "UTF-8", nil, nil },
  { "100000 levels in flow style", string.rep("[", 100000), "nested deeper than 256 levels", 1, 257 },
  { "100000 levels of mappings", string.rep("{a: ", 100000), "nested deeper than 256 levels", 1, 1025 },
  { "1000 levels in block style", (string.rep("- ", 1000)) .. "x", "nested deeper than 256 levels", 1, 513 },
  { "a template that was not rendered", "name: {{ .Values.name }}\n", "a mapping's key must be a scalar", 1, 8 },
  { "an unknown directive's version", "%YAML 3.0\n---\na: 1\n", "incompatible YAML document", 1, 1 },
  { "a tag without its handle", "a: !e!x 1\n", "undefined tag handle", 1, 4 },
}
