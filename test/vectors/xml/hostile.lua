-- Texts that the XML reader must refuse: { why, text, part of the message, line, column }.
local laughs = { '<?xml version="1.0"?>', "<!DOCTYPE lolz [", '<!ENTITY lol "lol">' }
for i = 1, 9 do
  laughs[#laughs + 1] = ('<!ENTITY lol%d "%s">'):format(i, ("&lol%s;"):format(i == 1 and "" or i - 1):rep(10))
end
laughs[#laughs + 1] = "]><lolz>&lol9;</lolz>"
return {
  { "nothing", "", "no element found", 1, 1 },
  { "white space only", " \n", "no element found", 2, 1 },
  { "a billion laughs", table.concat(laughs, "\n"), "document type", 2, 16 },
  { "an external entity", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "document type",
    1, 13 },
  { "an external document type", '<!DOCTYPE a SYSTEM "http://x/y.dtd"><a/>', "document type", 1, 36 },
  { "a parameter entity", '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://x/">%p;]><a/>', "document type", 1, 13 },
  { "an HTML page", "<!DOCTYPE html><html><body><p>503<br></body></html>", "document type", 1, 15 },
  { "HTML without a type", "<html><body><br></body></html>", "mismatched tag", 1, 19 },
  { "an unknown entity", "<a>&nbsp;</a>", "undefined entity", 1, 4 },
  { "an open element", "<a><b></b>", "no element found", 1, 11 },
  { "a wrong end", "<a></b>", "mismatched tag", 1, 6 },
  { "two roots", "<a/><b/>", "junk after document element", 1, 5 },
  { "text after the root", "<a/>x", "junk after document element", 1, 5 },
  { "text before the root", "x<a/>", "not well-formed", 1, 2 },
  { "an attribute twice", "<a x='1' x='2'/>", "duplicate attribute", 1, 10 },
  { "an attribute without quotes", "<a x=1/>", "not well-formed", 1, 6 },
  { "a lone ampersand", "<a>1 & 2</a>", "not well-formed", 1, 7 },
  { "a NUL", "<a>\0</a>", "not well-formed", 1, 4 },
  { "a NUL as reference", "<a>&#0;</a>", "reference to invalid character", 1, 4 },
  { "a control character", "<a>\1</a>", "not well-formed", 1, 4 },
  { "bytes that are no UTF-8", "<a>\xff</a>", "not well-formed", 1, 4 },
  { "an overlong slash", "<a>\xc0\xaf</a>", "not well-formed", 1, 4 },
  { "a character cut short", "<a>\xe2\x82</a>", "not well-formed", 1, 4 },
  { "an unknown encoding", '<?xml version="1.0" encoding="EBCDIC"?><a/>', "unknown encoding", 1, 31 },
  { "an open comment", "<a><!-- x </a>", "unclosed token", 1, 4 },
  { "an open CDATA section", "<a><![CDATA[ x </a>", "unclosed CDATA section", 1, 20 },
  { "100000 levels", string.rep("<a>", 100000), "nested too deep", 1, 772 },
  { "JSON", '{"a":1}', "not well-formed", 1, 1 },
  { "an unbound end of CDATA", "<a>]]></a>", "not well-formed", 1, 6 },
}
