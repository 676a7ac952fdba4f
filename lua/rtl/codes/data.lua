-- What the codes RTL-DATA-… mean: texts and archives that can't be read.
return {
  ["RTL-DATA-001"] = {
    title = "Text is not JSON",
    cause = "The text breaks JSON's grammar at the place given, is not UTF-8, is nested deeper "
      .. "than 256 levels, or was cut short. Answers of proxies and load balancers are often HTML.",
    next = "Look at the text at that line and column; if it came over the network, at the status "
      .. "and content type of the answer.",
  },
  ["RTL-DATA-002"] = {
    title = "Text is not YAML that rtl accepts",
    cause = "The text breaks YAML's grammar at the place given, has a key twice in one mapping, an "
      .. "alias without an anchor in the same document, aliases that expand without bound, "
      .. "infinity or NaN, or is nested deeper than 256 levels.",
    next = "Correct the line. A key that stands twice: keep the one that is meant.",
  },
  ["RTL-DATA-003"] = {
    title = "Text is not XML that rtl accepts",
    cause = "The text is not well-formed at the place given, or holds a document type or entities "
      .. "(refused: they can read files and grow without bound), or is too deep or too large.",
    next = "If it came over the network, look at the status and content type of the answer: "
      .. "proxies and load balancers often answer HTML.",
  },
  ["RTL-DATA-004"] = {
    title = "Text is not hexadecimal or base64",
    cause = "A character outside the alphabet, a wrong length or padding in the wrong place.",
    next = "Check where the text comes from; a line break or a cut copy is the usual reason.",
  },
  ["RTL-DATA-005"] = {
    title = "Archive can't be read",
    cause = "The bytes are not a tar or gzip archive, or were cut short or altered on the way.",
    next = "Fetch it again and compare its size and checksum with the source.",
  },
  ["RTL-DATA-006"] = {
    title = "Archive holds an entry that is refused",
    cause = "An entry's name is absolute, holds '..' or leads out of the tree through a link, or "
      .. "the entry is a device, socket or pipe. Such an archive could write outside its folder.",
    next = "Don't unpack it; ask who made it. If it is yours, make it again with relative names.",
  },
  ["RTL-DATA-007"] = {
    title = "Archive grows beyond its limit",
    cause = "Unpacked it would exceed the limit on bytes, on entries or on the ratio between "
      .. "unpacked and packed size: a decompression bomb looks like that.",
    next = "If the archive is trusted, raise the limit named in the message.",
  },
  ["RTL-DATA-008"] = {
    title = "libcrypto is missing",
    cause = "Hashes and signatures use OpenSSL's libcrypto.so.3, which is loaded on first use and "
      .. "was not found.",
    next = "Install it (Debian, Ubuntu: libssl3) or use the bundle, which brings it along.",
  },
  ["RTL-DATA-009"] = {
    title = "libxml2 is missing",
    cause = "Answers in XML are read by libxml2.so.2, which is loaded on first use and was not "
      .. "found.",
    next = "Install it (Debian, Ubuntu: libxml2) or use the bundle, which brings it along.",
  },
}
