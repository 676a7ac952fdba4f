"""A server that does exactly what a request's path says, for the specs of the wire.

Prints its port, serves until its standard input ends. Each connection is a thread.

  /raw/BASE64URL[?then=X&cut=N&pause=S&name=K]   writes these bytes (the first N of them);
                                                 without them, the request's body
  /echo                                          method, path, headers and body as JSON
  /size/N                                        200 with N bytes of body, "x"
  /bomb/N                                        N MiB of zeros, as gzip
  /stream/N[?chunk=C]                            N chunks without an end in sight: chunked, C bytes each;
                                                 counts the bytes as "streamed", and as "stalled" each
                                                 time that it can send nothing for a while
  /drip/N?pause=S                                N single bytes, S seconds apart
  /count/K                                       how often name=K was executed; K = connections: how
                                                 many were taken
  /hold                                          reads the request, never answers
  /websocket...                                  see websocket()

then: keep (default) goes on with the next request, close ends in good order, reset ends with RST,
hang stays silent, die-next answers this one, then executes the next and ends without an answer.
"""
import argparse
import base64
import gzip
import hashlib
import json
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

counts = {}
lock = threading.Lock()


class Gone(Exception):
    pass


class Connection:
    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.served = 0

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise Gone
        self.buffer += got

    def take(self, size):
        while len(self.buffer) < size:
            self.more()
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def line(self):
        while b"\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.rstrip(b"\r")

    def body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while True:
                size = int(self.line().split(b";")[0], 16)
                chunk = self.take(size)
                self.line()
                if size == 0:
                    return b"".join(parts)
                parts.append(chunk)
        return self.take(int(headers.get("content-length", "0")))

    def request(self):
        method, target, _ = self.line().decode("latin-1").split(" ", 2)
        pairs = []
        while True:
            line = self.line().decode("latin-1")
            if not line:
                break
            name, value = line.split(":", 1)
            pairs.append([name, value.strip()])
        return method, target, pairs

    def reset(self):
        sock = self.sock
        if isinstance(sock, ssl.SSLSocket):
            sock = socket.socket(fileno=sock.detach())
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        raise Gone

    def end(self, then):
        if then == "close":
            raise Gone
        if then == "reset":
            self.reset()
        if then == "hang":
            while True:
                self.more()
        if then == "die-next":
            method, target, pairs = self.request()
            self.body({n.lower(): v for n, v in pairs})
            executed(urllib.parse.parse_qs(target.partition("?")[2]))
            raise Gone


def count(name, more=1):
    with lock:
        counts[name] = counts.get(name, 0) + more


def executed(query):
    count(query.get("name", [""])[0])


def send_or_stall(sock, data):
    sock.settimeout(0.02)
    while data:
        try:
            data = data[sock.send(data) :]
        except TimeoutError:
            count("stalled")
    sock.settimeout(None)


def answer(body, extra=""):
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def serve_one(conn):
    method, target, pairs = conn.request()
    headers = {n.lower(): v for n, v in pairs}
    path, _, text = target.partition("?")
    query = urllib.parse.parse_qs(text)
    then = query.get("then", ["keep"])[0]
    if path.startswith("/websocket"):
        return websocket(conn, path, headers)
    if path == "/reset-at-once":
        conn.reset()
    body = conn.body(headers)
    executed(query)
    conn.served += 1
    word = path.split("/")[2] if path.count("/") > 1 else ""
    if path.startswith("/raw/"):
        bytes_out = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)) if word else body
        if "cut" in query:
            bytes_out = bytes_out[: int(query["cut"][0])]
        if "pause" in query:
            for i in range(len(bytes_out)):
                conn.sock.sendall(bytes_out[i : i + 1])
                time.sleep(float(query["pause"][0]))
        else:
            conn.sock.sendall(bytes_out)
    elif path == "/echo":
        seen = {
            "method": method,
            "target": target,
            "headers": pairs,
            "body": body.decode("latin-1"),
            "served": conn.served,
        }
        conn.sock.sendall(answer(b"" if method == "HEAD" else json.dumps(seen).encode()))
    elif path.startswith("/refuse"):  # an AWS refusal that gives back all that it was sent
        given = "".join(f"{n}: {v}; " for n, v in pairs).replace("&", "&amp;").replace("<", "&lt;")
        text = (
            "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"
            f"<Message>{given}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>"
        ).encode()
        conn.sock.sendall(
            b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
        )
    elif path.startswith("/bomb/"):
        packed = gzip.compress(b"\0" * (int(word) << 20))
        conn.sock.sendall(answer(packed, "Content-Encoding: gzip\r\n"))
    elif path.startswith("/size/"):
        conn.sock.sendall(answer(b"x" * int(word)))
    elif path.startswith("/stream/"):
        conn.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"y" * int(query.get("chunk", ["65536"])[0])
        for _ in range(int(word)):
            send_or_stall(conn.sock, b"%x\r\n%s\r\n" % (len(chunk), chunk))
            count("streamed", len(chunk))
        if then == "keep":
            conn.sock.sendall(b"0\r\n\r\n")
    elif path.startswith("/drip/"):
        conn.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % int(word))
        for _ in range(int(word)):
            time.sleep(float(query["pause"][0]))
            conn.sock.sendall(b"z")
    elif path.startswith("/count/"):
        conn.sock.sendall(answer(str(counts.get(word, 0)).encode()))
    elif path == "/hold" or path.startswith("/hold/"):
        conn.end("hang")
    else:
        conn.sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")
    conn.end(then)


# ---- WebSocket: a small server of its own, so that the codec is not its own judge ----


def frame(opcode, payload, fin=True):
    size = len(payload)
    head = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        head += bytes([size])
    elif size < 65536:
        head += b"\x7e" + struct.pack(">H", size)
    else:
        head += b"\x7f" + struct.pack(">Q", size)
    return head + payload


def read_frame(conn):
    first, second = conn.take(2)
    size = second & 0x7F
    if size == 126:
        size = struct.unpack(">H", conn.take(2))[0]
    elif size == 127:
        size = struct.unpack(">Q", conn.take(8))[0]
    assert second & 0x80, "a client masks"
    mask = conn.take(4)
    payload = bytes(b ^ mask[i % 4] for i, b in enumerate(conn.take(size)))
    return first >> 7, first & 15, payload, mask


REFUSALS = {
    "/websocket/403": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nnot me",
    "/websocket/chunked": b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n0\r\n\r\n",
    "/websocket/garbage": b"hello there\r\n\r\n",
}


def websocket(conn, path, headers):
    """What the path says: echo (default), badkey, protocol, behind (frames in the same write as the
    101), fragments, noclose, cut, masked, reserved, badutf8, large, close, deaf, ping."""
    if path in REFUSALS:
        conn.sock.sendall(REFUSALS[path])
        raise Gone
    key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    if path == "/websocket/badkey":
        accept = "AAAA" + accept[4:]
    head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    offered = [p.strip() for p in headers.get("sec-websocket-protocol", "").split(",") if p.strip()]
    if path == "/websocket/protocol":
        head += "Sec-WebSocket-Protocol: other\r\n"
    elif offered:
        head += f"Sec-WebSocket-Protocol: {offered[0]}\r\n"
    if path == "/websocket/interim":
        head = "HTTP/1.1 100 Continue\r\n\r\n" + head
    out = (head + f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode()
    first = {
        "/websocket/behind": frame(2, b"one") + frame(1, b"two") + frame(2, b"")[:1],
        "/websocket/fragments": frame(1, b"a\xc3", False) + frame(9, b"p") + frame(0, b"\xa4b", False)
        + frame(0, b"c"),
        "/websocket/noclose": frame(2, b"bye"),
        "/websocket/cut": frame(2, b"0123456789")[:6],
        "/websocket/masked": bytes([0x82, 0x81, 0, 0, 0, 0, 65]),
        "/websocket/reserved": bytes([0xC2, 0x01, 65]),
        "/websocket/badutf8": frame(1, b"\xff\xfe"),
        "/websocket/large": frame(2, b"x" * 2000),
        "/websocket/close": frame(2, b"last") + frame(8, struct.pack(">H", 4321) + b"because"),
        "/websocket/ping": frame(9, b"hi"),
    }.get(path, b"")
    conn.sock.sendall(out + first)
    if path in ("/websocket/noclose", "/websocket/cut"):
        raise Gone
    if path == "/websocket/behind":
        conn.sock.sendall(frame(2, b"")[1:])
    masks = set()
    while True:
        fin, opcode, payload, mask = read_frame(conn)
        masks.add(mask)
        if path == "/websocket/deaf":
            continue
        if opcode == 8:
            conn.sock.sendall(frame(8, payload))
            raise Gone
        if opcode == 9:
            conn.sock.sendall(frame(10, payload))
        elif opcode == 10:
            conn.sock.sendall(frame(1, b"pong:" + payload))
        elif payload == b"masks?":
            conn.sock.sendall(frame(1, str(len(masks)).encode()))
        else:
            conn.sock.sendall(frame(opcode, payload))


# ---- an HTTP proxy ----


def pipe(a, b):
    try:
        while True:
            got = a.recv(65536)
            if not got:
                break
            b.sendall(got)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def proxy_one(conn, login):
    method, target, pairs = conn.request()
    headers = {n.lower(): v for n, v in pairs}
    executed({"name": [method]})
    if method != "CONNECT":
        body = json.dumps({"proxied": target, "counts": counts}).encode()
        conn.sock.sendall(answer(body))
        return
    wanted = "Basic " + base64.b64encode(login.encode()).decode() if login else None
    if wanted and headers.get("proxy-authorization") != wanted:
        conn.sock.sendall(b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\nX-From: proxy\r\n\r\n")
        raise Gone
    host, _, port = target.rpartition(":")
    if host.startswith("refused-"):  # refused-503.test: with that status
        conn.sock.sendall(b"HTTP/1.1 %s No\r\nContent-Length: 0\r\n\r\n" % host[8:11].encode())
        raise Gone
    if not host.startswith(("127.", "localhost")):
        host = "127.0.0.1"  # a name that only the proxy knows
    other = socket.create_connection((host, int(port)))
    conn.sock.sendall(b"HTTP/1.1 200 Connected\r\nX-From: proxy\r\n\r\n")
    back = threading.Thread(target=pipe, args=(other, conn.sock), daemon=True)
    back.start()
    pipe(conn.sock, other)
    back.join()
    other.close()
    raise Gone


# ---- the process ----


def handle(sock, context, options):
    try:
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        conn = Connection(sock)
        while True:
            if options.proxy:
                proxy_one(conn, options.login)
            else:
                serve_one(conn)
    except (Gone, OSError, ValueError):
        pass
    finally:
        sock.close()


def tls_context(options):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    if options.client_ca:
        context.load_verify_locations(options.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--client-ca")
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--login")
    parser.add_argument("--mute", action="store_true")  # connects, and answers nothing
    options = parser.parse_args()
    context = tls_context(options) if options.cert else None
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(listener.getsockname()[1], flush=True)

    def accept():
        while not options.mute:
            sock, _ = listener.accept()
            count("connections")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=handle, args=(sock, context, options), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
