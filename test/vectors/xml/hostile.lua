-- Texts that the XML reader must refuse: { why, text, part of the message, line, column }.
local laughs = { '<?xml version="1.0"?>', "<!DOCTYPE lolz [", '<!ENTITY lol "lol">' }
for i = 1, 9 do
  laughs[#laughs + 1] = ('<!ENTITY lol%d "%s">'):format(i, ("&lol%s;"):format(i == 1 and "" or i - 1):rep(10))
end
laughs[#laughs + 1] = "]><lolz>&lol9;</lolz>"

-- UTF-16 of ASCII, with its byte order mark.
local function wide(text) return "\xff\xfe" .. text:gsub(".", "%0\0") end

return {
  { "nothing", "", "no element found", 1, 1 },
  { "white space only", " \n", "no element found", 2, 1 },
  { "a billion laughs", table.concat(laughs, "\n"), "document type", 2, 16 },
  { "an external entity", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "document type",
    1, 13 },
  { "an external document type", '<!DOCTYPE a SYSTEM "http://x/y.dtd"><a/>', "document type", 1, 36 },
  { "a parameter entity", '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://x/">%p;]><a/>', "document type", 1, 13 },
  { "an HTML page", "<!DOCTYPE html><html><body><p>503<br></body></html>", "document type", 1, 15 },
  { "HTML without a type", "<html><body><br></body></html>", "mismatched tag", 1, 24 },
  { "an unknown entity", "<a>&nbsp;</a>", "undefined entity", 1, 10 },
  { "an open element", "<a><b></b>", "an element that is not closed", 1, 11 },
  { "a wrong end", "<a></b>", "mismatched tag", 1, 8 },
  { "two roots", "<a/><b/>", "junk after document element", 1, 5 },
  { "text after the root", "<a/>x", "junk after document element", 1, 5 },
  { "text before the root", "x<a/>", "no element found", 1, 1 },
  { "an attribute twice", "<a x='1' x='2'/>", "duplicate attribute", 1, 15 },
  { "an attribute without quotes", "<a x=1/>", "an attribute without quotes", 1, 6 },
  { "a lone ampersand", "<a>1 & 2</a>", "not well-formed", 1, 7 },
  { "a NUL", "<a>\0</a>", "an invalid character", 1, 4 },
  { "a NUL in an attribute", "<a b='\0'/>", "an invalid character", 1, 7 },
  { "a NUL in a comment", "<a><!--\0--></a>", "an invalid character", 1, 8 },
  { "a NUL at the end", "<a/>\0", "an invalid character", 1, 5 },
  { "more after a NUL", "<a/>\0<b/>", "an invalid character", 1, 5 },
  { "a NUL at the start", "\0<a/>", "no element found", 1, 1 },
  { "a NUL as reference", "<a>&#0;</a>", "an invalid character", 1, 8 },
  { "a control character", "<a>\1</a>", "not well-formed", 1, 4 },
  { "bytes that are no UTF-8", "<a>\xff</a>", "not well-formed", 1, 4 },
  { "an overlong slash", "<a>\xc0\xaf</a>", "not well-formed", 1, 4 },
  { "a character cut short", "<a>\xe2\x82</a>", "not well-formed", 1, 4 },
  { "an unknown encoding", '<?xml version="1.0" encoding="EBCDIC"?><a/>', "unknown encoding", 1, 38 },
  { "an encoding that only ICU reads", '<?xml version="1.0" encoding="UTF-7"?><a>x</a>', "unknown encoding", 1, 39 },
  { "an encoding that is not the one it has", '<?xml version="1.0" encoding="UTF-16"?><a/>', "its encoding", 1, 38 },
  { "a wide encoding that it hasn't", '<?xml version="1.0" encoding="UTF-16LE"?><a/>', "unknown encoding", 1, 40 },
  { "UTF-16 that calls itself UTF-8", wide '<?xml version="1.0" encoding="UTF-8"?><a/>', "unknown encoding", 1, 39 },
  { "UTF-16 without its mark", (wide("<a/>"):sub(3)), "no element found", 1, 1 },
  { "half a character of UTF-16", wide "<a/>" .. "<", "its encoding", 1, 5 },
  { "UTF-16 with half a pair", wide "<a>" .. "\0\xd8" .. wide("</a>"):sub(3), "not well-formed", 1, 1 },
  { "a NUL in UTF-16", wide "<a>\0</a>", "an invalid character", 1, 4 },
  { "more after a NUL in UTF-16", wide "<a/>\0<b/>", "an invalid character", 1, 5 },
  { "what is no ASCII", '<?xml version="1.0" encoding="US-ASCII"?><a/>\xe9', "its encoding", 1, 46 },
  { "EBCDIC", "\x4c\x6f\xa7\x94\x93", "no element found", 1, 1 },
  { "an open comment", "<a><!-- x </a>", "unclosed comment", 1, 15 },
  { "dashes in a comment", "<a><!-- -- --></a>", "not well-formed", 1, 9 },
  { "an open CDATA section", "<a><![CDATA[ x </a>", "unclosed CDATA section", 1, 20 },
  { "100000 levels", string.rep("<a>", 100000), "nested too deep", 1, 771 },
  { "257 levels", string.rep("<a>", 257) .. string.rep("</a>", 257), "nested too deep", 1, 771 },
  { "JSON", '{"a":1}', "no element found", 1, 1 },
  { "an unbound end of CDATA", "<a>]]></a>", "]]>", 1, 4 },
  { "a type after the root", "<a/><!DOCTYPE a>", "junk after document element", 1, 5 },
  { "an open type", "<!DOCTYPE", "not well-formed", 1, 10 },
  { "a declaration that is not at the start", ' <?xml version="1.0"?><a/>', "not well-formed", 1, 7 },
}
