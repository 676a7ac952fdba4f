-- What the codes RTL-NET-… mean: the network, from the name to the last byte.
return {
  ["RTL-NET-001"] = {
    title = "Host name not found",
    cause = "The resolver knows no address for the host in the URL, or can't be reached.",
    next = "Check the name and the region in it; then DNS on this machine (VPN, /etc/resolv.conf).",
  },
  ["RTL-NET-002"] = {
    title = "No connection",
    cause = "The host refused the connection or can't be reached. A cluster whose public access "
      .. "list lacks this machine's address looks like this too.",
    next = "Check address, port and firewall; for a cluster, its public access CIDRs.",
  },
  ["RTL-NET-003"] = {
    title = "Certificate not trusted",
    cause = "The server's certificate is not signed by a CA that is trusted here, is for another "
      .. "name, or has expired. A proxy that opens TLS shows a certificate of its own. Or the file "
      .. "of CAs that was named can't be read.",
    next = "Name the right CA (AWS_CA_BUNDLE, SSL_CERT_FILE, certificate-authority-data of the "
      .. "kubeconfig), check this machine's clock, or set the server's name (tls-server-name).",
  },
  ["RTL-NET-004"] = {
    title = "TLS could not be agreed on",
    cause = "The handshake failed: the other side speaks no TLS 1.2 or 1.3, closed in the middle, "
      .. "or the client's own certificate or key can't be used.",
    next = "Check that the port speaks TLS; for a client certificate, that key and certificate "
      .. "belong together and are PEM.",
  },
  ["RTL-NET-005"] = {
    title = "Connecting took too long",
    cause = "No connection (with TLS and proxy) stood within the connect time-out. Packets that "
      .. "are dropped rather than refused look like this: a security group, a firewall, a route.",
    next = "Check the way to the host; a private endpoint needs a VPN or a bastion.",
  },
  ["RTL-NET-006"] = {
    title = "Nothing moved for too long",
    cause = "The connection stood, but no byte went either way within the idle time-out.",
    next = "Try again. If the request changes something, look first whether it took effect.",
  },
  ["RTL-NET-007"] = {
    title = "The request took too long",
    cause = "The answer was not complete within the request's own time-out.",
    next = "Try again. If the request changes something, look first whether it took effect.",
  },
  ["RTL-NET-008"] = {
    title = "Connection lost before the answer",
    cause = "The connection ended before the answer's headers were complete. When the error says "
      .. "that the request was sent, it may or may not have taken effect.",
    next = "A read is simply repeated. A create is settled by looking for what it would have made.",
  },
  ["RTL-NET-009"] = {
    title = "Answer cut short",
    cause = "The connection ended inside of the answer's body, or its framing is garbled.",
    next = "Try again; the server had received the request.",
  },
  ["RTL-NET-010"] = {
    title = "The answer is not HTTP",
    cause = "What came back has no HTTP status line, or a body that is not packed as it says or as "
      .. "was asked for.",
    next = "Check scheme and port: another protocol listens there, or TLS was left out. A "
      .. "proxy may pack what it must not.",
  },
  ["RTL-NET-011"] = {
    title = "Answer too large",
    cause = "Headers or body are larger than the request allows.",
    next = "Ask for less (pages, filters), read it as a stream, or raise max_body.",
  },
  ["RTL-NET-012"] = {
    title = "Proxy refused",
    cause = "The HTTP proxy was not found, wants a login, or refuses to connect to this host (for "
      .. "now: a 5xx is tried again).",
    next = "Check HTTPS_PROXY and NO_PROXY; user and password go into the proxy's URL.",
  },
  ["RTL-NET-013"] = {
    title = "libcurl is missing",
    cause = "rtl loads libcurl.so.4 (7.87 or newer, with TLS) when it first uses the network, and "
      .. "could not.",
    next = "Install libcurl4, or use the bundle, which brings it along.",
  },
  ["RTL-NET-014"] = {
    title = "Not a URL that rtl can use",
    cause = "The URL can't be parsed, has a user or password in it, or is neither http nor https.",
    next = "Correct the URL; credentials belong into headers.",
  },
  ["RTL-NET-015"] = {
    title = "Already closed",
    cause = "A request or stream was used after it was closed, or closed while someone waited.",
    next = "Usually the consequence of another error or of an end that was asked for.",
  },
  ["RTL-NET-020"] = {
    title = "WebSocket refused",
    cause = "The server answered the upgrade with something else than 101, or with a wrong key or "
      .. "protocol. Status and body of the answer are in the error.",
    next = "Look at the status: 401 and 403 are permissions, 404 a wrong path, 400 a wrong "
      .. "protocol. Some proxies let no upgrade through.",
  },
  ["RTL-NET-021"] = {
    title = "WebSocket protocol broken",
    cause = "The other side sent frames that the protocol forbids, or text that is not UTF-8.",
    next = "Try again; if it stays, something on the way alters the bytes.",
  },
  ["RTL-NET-022"] = {
    title = "WebSocket ended without a close",
    cause = "The connection ended before a close frame came: what was on its way is unknown.",
    next = "Treat the outcome as unknown and look at what was to be done.",
  },
  ["RTL-NET-023"] = {
    title = "WebSocket message too large",
    cause = "A message is larger than max_message.",
    next = "Raise max_message, or ask for less.",
  },
  ["RTL-NET-030"] = {
    title = "Not in the recording",
    cause = "A recording is played instead of the network, and holds no further answer to this "
      .. "request: it differs from what was recorded, or is sent more often.",
    next = "Record again, or compare method, URL and body with the recording's lines.",
  },
  ["RTL-NET-031"] = {
    title = "Not a recording",
    cause = "A line of the file is JSON, but no recorded request.",
    next = "Give a file that a recorder wrote.",
  },
}
