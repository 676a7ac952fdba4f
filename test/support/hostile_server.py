"""A server that answers AWS calls as no AWS service should, and counts what it was made to do.

Prints {"port", "control", "tls", "stranger"}, the ports of its listeners, and serves until its
standard input ends. The first word of a request's path names a script, which was put before, on
connections of their own:

  POST /_hostile/script/NAME   {"token": REGEX, "clock": SECONDS, "answers": [ANSWER, …]}
  POST /_hostile/say/NAME      writes the body on the connection that NAME was last asked on
  POST /_hostile/hello         {"do": WHAT, "times": N}: what befalls the next TLS handshakes
  GET  /_hostile/seen/NAME     {"requests", "effects", "tokens", "connections", "late", "sent"}
  GET  /_hostile/strangers     how many connections the last listener was asked for

A script's n-th request gets its n-th answer, later ones the last: {"effect": BOOL, "steps": […]}.
With an effect, a thing is made: one for each token that REGEX finds in a request, else one for each
request. Its id, 17 digits, stands in for IDIDIDIDIDIDIDIDI in what is sent. A step is one of

  {"send": BASE64, "cut": N, "pause": SECONDS, "times": N}   the first N bytes; one at a time with a
                                       pause before each; N times, -1: until the client is gone
  {"end": "close" | "reset" | "hang" | "garbage"}            else the connection is kept

With "clock", the server's clock is so far ahead of the true one: it refuses, with the script's last
answer, what was signed more than five minutes off, and DATEDATE… in any answer is its time.
"""
import argparse
import base64
import calendar
import json
import re
import socket
import ssl
import struct
import sys
import threading
import time
from email.utils import formatdate

ID, DATE = b"IDIDIDIDIDIDIDIDI", b"DATEDATEDATEDATEDATEDATEDATED"  # 17 digits, 29 letters
SKEW_ALLOWED = 300

lock = threading.Lock()
scripts = {}
hellos = []
strangers = 0


class Gone(Exception):
    pass


class Script:
    def __init__(self, spec):
        self.token = re.compile(spec["token"].encode()) if spec.get("token") else None
        self.answers = spec["answers"]
        self.clock = spec.get("clock")
        self.requests = self.late = self.sent = 0
        self.effects, self.tokens, self.connections = {}, [], set()
        self.last = None

    def seen(self):
        return {
            "requests": self.requests, "effects": len(self.effects), "tokens": self.tokens,
            "connections": len(self.connections), "late": self.late, "sent": self.sent,
        }

    def next_answer(self, request, conn):
        """Counts the request, makes what it asks for; returns the steps and the thing's id."""
        with lock:
            self.requests += 1
            self.last = conn
            self.connections.add(id(conn))
            answer = self.answers[min(self.requests, len(self.answers)) - 1]
            if self.clock is not None and abs(request.signed_at() - self.now()) > SKEW_ALLOWED:
                self.late += 1
                answer = self.answers[-1]
            found = self.token.search(request.whole) if self.token else None
            key = found.group(1).decode() if found else f"request {self.requests}"
            if found:
                self.tokens.append(key)
            if answer.get("effect"):
                self.effects.setdefault(key, f"{len(self.effects) + 1:017d}")
            return answer["steps"], self.effects.get(key, "0" * 17)

    def now(self):
        return time.time() + (self.clock or 0)

    def filled(self, raw, thing):
        date = formatdate(self.now(), usegmt=True).encode()
        return raw.replace(ID, thing.encode()).replace(DATE, date)


class Request:
    def __init__(self, target, headers, body, head):
        self.target, self.headers, self.body = target, headers, body
        self.whole = head + body

    def signed_at(self):
        text = self.headers.get("x-amz-date", "19700101T000000Z")
        return calendar.timegm(time.strptime(text, "%Y%m%dT%H%M%SZ"))


class Connection:
    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise Gone
        self.buffer += got

    def request(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {n.lower(): v.strip() for n, v in (line.split(":", 1) for line in lines)}
        size = int(headers.get("content-length", "0"))
        while len(self.buffer) < size:
            self.more()
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Request(first.split(" ")[1], headers, body, head)

    def raw(self):
        """The socket without its TLS."""
        if isinstance(self.sock, ssl.SSLSocket):
            self.sock = socket.socket(fileno=self.sock.detach())
        return self.sock

    def end(self, how):
        if how == "reset":
            raw = self.raw()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif how == "garbage":
            self.raw().sendall(b"\x17\x03\x03\x00\x20" + b"g" * 32)
        while how == "hang":
            self.more()
        raise Gone

    def send(self, script, step, thing):
        raw = base64.b64decode(step["send"])
        out = script.filled(raw, thing)[: step.get("cut", len(raw))]
        times = step.get("times", 1)
        while times != 0:
            times -= 1
            if "pause" in step:
                for i in range(len(out)):
                    time.sleep(step["pause"])
                    self.sock.sendall(out[i : i + 1])
            else:
                self.sock.sendall(out)
            script.sent += len(out)


# ---- what is said beside the calls ----


def control(conn, request):
    _, _, what, *rest = request.target.split("/")
    said = b"{}"
    if what == "script":
        scripts[rest[0]] = Script(json.loads(request.body))
    elif what == "say":
        scripts[rest[0]].last.sock.sendall(request.body)
    elif what == "hello":
        spec = json.loads(request.body)
        hellos.extend([spec["do"]] * spec["times"])
    elif what == "seen":
        said = json.dumps(scripts[rest[0]].seen()).encode()
    elif what == "strangers":
        said = json.dumps({"strangers": strangers}).encode()
    conn.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))


def serve_one(conn):
    request = conn.request()
    if request.target.startswith("/_hostile/"):
        return control(conn, request)
    script = scripts[request.target.split("/")[1].split("?")[0]]
    steps, thing = script.next_answer(request, conn)
    for step in steps:
        if "end" in step:
            conn.end(step["end"])
        conn.send(script, step, thing)


# ---- TLS, well and badly begun ----


def half_a_hello(sock, context):
    """The first half of the server's first flight, then nothing more."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    half = context.wrap_bio(incoming, outgoing, server_side=True)
    incoming.write(sock.recv(65536))
    try:
        half.do_handshake()
    except ssl.SSLWantReadError:
        pass
    flight = outgoing.read()
    sock.sendall(flight[: len(flight) // 2])
    raise Gone


def greeted(sock, context):
    with lock:
        hello = hellos.pop(0) if hellos else None
    if hello == "close":
        raise Gone
    if hello == "garbage":
        sock.recv(65536)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        raise Gone
    if hello == "half":
        half_a_hello(sock, context)
    return context.wrap_socket(sock, server_side=True)


# ---- the process ----


def handle(sock, context):
    conn = Connection(sock)
    try:
        if context:
            conn.sock = greeted(sock, context)
        while True:
            serve_one(conn)
    except (Gone, OSError, ValueError, KeyError):
        pass
    finally:
        conn.sock.close()


def listen(serve):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)

    def accept():
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(sock,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def strange(sock):
    global strangers
    with lock:
        strangers += 1
    sock.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert")
    parser.add_argument("--key")
    options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    ports = {
        "port": listen(lambda sock: handle(sock, None)),
        "control": listen(lambda sock: handle(sock, None)),
        "tls": listen(lambda sock: handle(sock, context)),
        "stranger": listen(strange),
    }
    print(json.dumps(ports), flush=True)
    sys.stdin.read()


main()
