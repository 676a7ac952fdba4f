#!/usr/bin/env python3
"""judge: a judging reverse proxy for AWS API traffic (loopback only).

  judge.py --port P --upstream http://127.0.0.1:Q --secret AKID=SECRET [--log FILE] [--no-clock] [--enforce]

Each request is checked against botocore's models (judge_signature.py, judge_model.py),
then forwarded to the upstream (moto's server) or answered from a small state (judge_state.py).
Control, all under /_judge/:
  GET  report    counts, problems, connections, tokens         POST reset   forget the log, faults, tokens and state
  POST fault     {"match": "ec2:CreateVpc", "nth": 1, "times": 1, "do": "500"|"throttle"|"reset-before"|
                  "reset-after"|"slow:SECONDS"|"token-expired"|"kill-before:FILE"|"kill-after:FILE"}
                 (match is an fnmatch pattern; nth counts from now; FILE holds the id of a process)
  POST set       {"key": "quota:ec2:L-1216C47A", "value": 64}, {"key": "activities:GROUP", "value": [...]},
                 {"key": "offerings", "value": [...]}, {"key": "price:INSTANCE_TYPE", "value": "1.23"},
                 {"key": "pages", "value": 2}: lists come in pages of at most so many items
  POST verify    {"url": ..., "method": "GET", "headers": {...}, "body": ""} or {"token": "k8s-aws-v1...",
                 "cluster": NAME}: judges a (presigned) request without sending it
Problems are "code: text"; notes are observations that are no fault.  Signatures of wrong requests are only logged;
with --enforce they are also refused as AWS would (403).
"""

import argparse
import base64
import collections
import fnmatch
import glob
import http.client
import http.server
import importlib.util
import json
import os
import re
import signal
import socket
import struct
import sys
import threading
import time
import traceback
import urllib.parse
from botocore import xform_name
from botocore.parsers import create_parser
from botocore.utils import percent_encode
from judge_model import Catalog, Decoder, check_checksums, reserialise, validate
from judge_pages import Pages
from judge_signature import Request, check_signature, split_pairs
from judge_state import NOW, AwsError, World, guess, serialise_error, serialise_output

OWN = "answered by the judge"
GUESSED = re.compile("upstream cannot").match
HOP_HEADERS = {
    "connection",
    "keep-alive",
    "transfer-encoding",
    "te",
    "upgrade",
    "content-length",
    "expect",
}
TOKEN_NAMES = ("ClientToken", "clientToken", "clientRequestToken", "ClientRequestToken")
EXPIRED = {
    "ec2": ("RequestExpired", 400),
    "query": ("ExpiredToken", 403),
    "json": ("ExpiredTokenException", 400),
    "rest-json": ("ExpiredTokenException", 403),
    "rest-xml": ("ExpiredToken", 400),
}
REFUSED = {
    "ec2": "AuthFailure",
    "json": "InvalidSignatureException",
    "rest-json": "InvalidSignatureException",
}
THROTTLE = {
    "ec2": ("RequestLimitExceeded", 503),
    "query": ("Throttling", 400),
    "json": ("ThrottlingException", 400),
    "rest-json": ("TooManyRequestsException", 429),
    "rest-xml": ("SlowDown", 503),
}


def kill_process(do):
    """Ends the process whose id the fault's file holds, as a power cut would."""
    with open(do.partition(":")[2]) as file:
        os.kill(int(file.read()), signal.SIGKILL)


class Reset(Exception):
    """The connection is to be reset instead of answered."""


# ---------------------------------------------------------------- the judge
class Judge:
    def __init__(self, options):
        self.options, self.catalog, self.lock = options, Catalog(), threading.RLock()
        self.secrets = {}  # access key -> (secret, session token or None when any will do)
        for item in options.secret:
            akid, _, secret = item.partition("=")
            self.secrets[akid] = (secret, None)
        self.log = open(options.log, "a") if options.log else None
        self.reset()

    def reset(self):
        with self.lock:
            self.world, self.faults, self.entries = World(), [], []
            self.pages = Pages()
            self.tokens, self.token_locks = {}, collections.defaultdict(threading.RLock)
            self.token_uses, self.no_token = collections.defaultdict(list), []

    def judge(self, req):
        """-> (entry for the log, signature facts, operation model, protocol, parameters)."""
        problems, notes, found = [], [], None
        sig = check_signature(req, self.secrets, not self.options.no_clock, problems)
        signature_bad = bool(problems)
        for name in (
            "host",
            "x-amz-date",
            "x-amz-security-token",
            "x-amz-target",
            "content-type",
            "content-length",
        ):
            if len(req.all(name)) > 1:
                problems.append(f"duplicate-header: {name} sent {len(req.all(name))} times")
        entry = {
            "service": sig and sig[0],
            "region": sig and sig[1],
            "operation": None,
            "problems": problems,
            "notes": notes,
            "signature_bad": signature_bad,
            "path": req.target[:300],
            "method": req.method,
        }
        found = self.catalog.find(req, sig, problems)
        if not found:
            return entry, sig, None, "json" if req.get("x-amz-target") else "rest-json", {}
        service, op, protocol, extra = found
        entry.update(service=service, operation=op.name)
        presigned = bool(sig and sig[3])
        if (
            sig is None
            and op.resolved_auth_type != "none"
            and "none" not in (op.auth or [])
            and not signature_bad
        ):
            problems.append("signature: the request is not signed")
        if req.method != op.http.get("method", "POST") and not (
            presigned and protocol in ("ec2", "query")
        ):
            problems.append(
                f"method: {req.method}, the model says {op.http.get('method')} for {op.name}"
            )
        if (
            service in ("iam", "pricing")
            and sig
            and sig[1] not in ("us-east-1", "eu-central-1", "ap-south-1")
        ):
            notes.append(f"{service} signed for {sig[1]}")
        decoder = Decoder(op, protocol, problems)
        if protocol in ("ec2", "query"):
            params = decoder.query(extra)
        elif protocol == "json":
            params = decoder.json_body(op.input_shape, req.body)
        else:
            params = decoder.rest(req, extra[0], extra[1], presigned)
        if protocol in (
            "ec2",
            "query",
            "json",
        ):  # the rest protocols explain their headers themselves
            for key, _ in req.headers:
                if key.lower() not in decoder.plain_headers and key.lower() != "x-amzn-query-mode":
                    problems.append(f"unknown-header: {key}") if not presigned else None
            if protocol == "json" and req.query:
                problems.append(f"unknown-parameter: query {req.query}")
        validate(op, params, problems)
        check_checksums(req, op, problems)
        reserialise(req, op, protocol, params, problems, notes)
        entry["params"] = params
        return entry, sig, op, protocol, params

    def fault(self, name):
        with self.lock:
            for f in self.faults:
                if fnmatch.fnmatchcase(name, f["match"]):
                    f["seen"] += 1
                    if f["nth"] <= f["seen"] < f["nth"] + f["times"]:
                        f["fired"] += 1
                        return f["do"]
        return ""

    def handle(self, req):
        """-> (entry, (status, headers, body)); raises Reset after filling the entry."""
        entry, sig, op, protocol, p = self.judge(req)
        if op is None:
            return entry, self.forward(req, sig)
        do = self.fault(f"{entry['service']}:{op.name}")
        if do:
            entry["notes"].append(f"fault: {do}")
        if do.startswith("slow:"):
            time.sleep(float(do[5:]))
        try:
            if do.startswith("kill-before:"):
                kill_process(do)
                raise Reset
            if do == "reset-before":
                raise Reset
            if do == "500":
                raise AwsError(
                    "InternalError" if protocol == "ec2" else "InternalFailure",
                    "An internal error",
                    500,
                )
            if do == "throttle":
                raise AwsError(THROTTLE[protocol][0], "Rate exceeded", THROTTLE[protocol][1])
            if do == "token-expired":
                raise AwsError(
                    EXPIRED[protocol][0],
                    "The security token included in the request is expired",
                    EXPIRED[protocol][1],
                )
            if self.options.enforce and entry["signature_bad"]:
                raise AwsError(
                    REFUSED.get(protocol, "SignatureDoesNotMatch"),
                    "; ".join(entry["problems"])[:500],
                    401 if protocol == "ec2" else 403,
                )
            answer = self.pages.answer(
                entry["service"],
                op,
                protocol,
                p,
                self.world.settings.get("pages"),
                lambda: self.answer_once(req, sig, entry, op, protocol, p),
            )
            if do.startswith("kill-after:"):
                kill_process(do)
            if do == "reset-after" or do.startswith("kill-after:"):
                raise Reset
        except AwsError as e:
            entry["notes"].append(f"answered with {e.code}")
            answer = serialise_error(protocol, e)
        except Reset:
            entry["notes"].append("connection reset")
            return entry, None
        return entry, answer

    def answer_once(self, req, sig, entry, op, protocol, p):
        """One token, one effect: the same token with the same operation gets the first answer again."""
        key_name = next(
            (
                n
                for n in [*TOKEN_NAMES, *op.idempotent_members]
                if p.get(n) and isinstance(p[n], str)
            ),
            None,
        )
        creates = re.match("Create|Run|Allocate|Request|Put|Purchase", op.name)
        has_token = op.input_shape is not None and set(TOKEN_NAMES) & set(op.input_shape.members)
        if not key_name or op.name.startswith(("Describe", "List", "Get")):
            if creates and has_token:
                with self.lock:
                    self.no_token.append(
                        (
                            f"{entry['service']}:{op.name}",
                            json.dumps(p, default=str, sort_keys=True),
                        )
                    )
            return self.answer(req, sig, entry, op, protocol, p)
        key = (entry["service"], entry["region"], op.name, p[key_name])
        with self.lock:
            lock = self.token_locks[key]
        with lock:
            text = json.dumps(p, default=str, sort_keys=True)
            self.token_uses[key].append(text)
            if key in self.tokens:
                first, answer = self.tokens[key]
                if first != text:
                    entry["problems"].append(
                        f"token-reuse: {key_name} {p[key_name]} came with other parameters: {first}"
                    )
                    raise AwsError(
                        "IdempotentParameterMismatch",
                        "The client token was used with other parameters",
                    )
                entry["notes"].append("repeated token, first answer again")
                return answer
            answer = self.answer(req, sig, entry, op, protocol, p)
            if answer[0] < 300:
                self.tokens[key] = text, answer
            return answer

    def answer(self, req, sig, entry, op, protocol, p):
        no_cluster = (
            entry["service"] == "eks"
            and p.get("clusterName")
            and AwsError(
                "ResourceNotFoundException", f"No cluster found for name: {p['clusterName']}.", 404
            )
        )
        if no_cluster and self.world.handles("eks", op) and self.cluster_missing(req, sig, p):
            raise no_cluster
        try:
            with self.lock:
                local = self.world.answer(entry["service"], op, p, entry["region"] or "us-east-1")
                if local is not None:
                    entry["notes"].append(OWN)
                    self.learn(local)
                    return serialise_output(op, protocol, local)
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            entry["problems"] or entry["problems"].append(
                f"judge-crashed: {traceback.format_exc()}"
            )
            raise AwsError("ValidationException", f"wrong parameters: {e!r}")
        status, headers, body = answer = self.forward(req, sig)
        html = (
            body.lstrip()[:15].lower().startswith((b"<!doctype", b"<html"))
            or b"Not yet implemented" in body[:300]
        )
        stray = entry["service"] != "s3" and b"<Code>NoSuchBucket</Code>" in body
        if status == 500 and html and self.upstream_has(entry["service"], op.name):
            entry["notes"].append("upstream crashed")
            if op.name == "GetTags":  # moto's crashes when there is no such group
                raise AwsError("NotFoundException", "Group not found", 404)
            if no_cluster and self.cluster_missing(
                req, sig, p
            ):  # moto's ListNodegroups crashes without the cluster
                raise no_cluster
        elif req.method != "HEAD" and (status == 501 or status in (404, 500) and html or stray):
            entry["notes"].append(f"upstream cannot ({status}); a guessed answer")
            return serialise_output(op, protocol, guess(op.output_shape, p))
        if status < 300 and (entry["service"], op.name) == ("eks", "DeleteCluster"):
            self.world.forget_cluster(entry["region"], p.get("name"))
        if status < 300 and (entry["service"] == "sts" or op.name == "CreateAccessKey"):
            try:
                self.learn(
                    create_parser(protocol).parse(
                        {"status_code": status, "headers": dict(headers), "body": body},
                        op.output_shape,
                    )
                )
            except Exception as e:
                entry["notes"].append(f"botocore cannot read the upstream's answer: {e!r}"[:200])
        return answer

    def cluster_missing(self, req, sig, p):
        return (
            self.forward(
                Request("GET", f"/clusters/{percent_encode(p['clusterName'])}", req.headers, b""),
                sig,
            )[0]
            == 404
        )

    @staticmethod
    def upstream_has(service, operation):
        """Whether moto implements an operation: an HTML error 500 of it is then a crash, not a gap."""
        folder = os.path.join(
            os.path.dirname(importlib.util.find_spec("moto").origin), service.replace("-", "")
        )
        for path in glob.glob(f"{folder}/responses*") + glob.glob(f"{folder}/responses/*.py"):
            if os.path.isfile(path) and f"def {xform_name(operation)}(" in open(path).read():
                return True
        return False

    def learn(self, value):
        """Temporary credentials that an answer hands out are from now on known, with their session token."""
        if isinstance(value, dict):
            low = {k.lower(): v for k, v in value.items()}
            if "accesskeyid" in low and "secretaccesskey" in low:
                self.secrets[low["accesskeyid"]] = low["secretaccesskey"], low.get("sessiontoken")
            for v in value.values():
                self.learn(v)

    def forward(self, req, sig):
        up = urllib.parse.urlsplit(self.options.upstream)
        conn = http.client.HTTPConnection(up.hostname, up.port, timeout=120)
        try:
            conn.putrequest(req.method, req.target, skip_host=True, skip_accept_encoding=True)
            for key, value in req.headers:
                if key.lower() not in HOP_HEADERS:
                    conn.putheader(key, value.encode("latin-1"))
            if sig and sig[3] and sig[0] != "s3":  # moto finds the service by this header only
                conn.putheader(
                    "Authorization",
                    f"AWS4-HMAC-SHA256 Credential={sig[2]}/20000101/{sig[1]}/{sig[0]}/"
                    "aws4_request, SignedHeaders=host, Signature=0",
                )
            conn.putheader("Content-Length", str(len(req.body)))
            conn.endheaders(req.body)
            got = conn.getresponse()
            body = got.read()
            keep = [(k, v) for k, v in got.getheaders() if k.lower() not in HOP_HEADERS]
            if req.method == "HEAD" and got.getheader("Content-Length"):
                keep.append(("Content-Length", got.getheader("Content-Length")))
            return got.status, keep, body
        except OSError as e:
            return 502, [("Content-Type", "text/plain")], f"judge: upstream: {e}".encode()
        finally:
            conn.close()

    def record(self, entry):
        with self.lock:
            self.entries.append(entry)
        line = {
            k: v
            for k, v in entry.items()
            if k != "signature_bad" and (k != "params" or entry["problems"])
        }
        if self.log:
            self.log.write(json.dumps(line, default=str) + "\n")
            self.log.flush()

    def report(self):
        with self.lock:
            entries = list(self.entries)
            used = collections.Counter(e["conn"] for e in entries)
            name = lambda e: f"{e['service']}:{e['operation']}"
            repeats = collections.Counter(self.no_token)
            return {
                "requests": len(entries),
                "operations": dict(sorted(collections.Counter(map(name, entries)).items())),
                "problem_count": sum(len(e["problems"]) for e in entries),
                "problems": [
                    {
                        k: e.get(k)
                        for k in ("time", "service", "operation", "problems", "status", "params")
                    }
                    for e in entries
                    if e["problems"]
                ],
                "notes": dict(
                    collections.Counter(f"{name(e)}: {n}" for e in entries for n in e["notes"])
                ),
                "own": sorted({name(e) for e in entries if OWN in e["notes"]}),
                "paged": sorted(self.pages.cut),
                "guessed": sorted({name(e) for e in entries if any(map(GUESSED, e["notes"]))}),
                "connections": len(used),
                "requests_per_connection": [used[c] for c in sorted(used)],
                "duplicated_creates": [
                    {
                        "operation": f"{k[0]}:{k[2]}",
                        "region": k[1],
                        "token": k[3],
                        "times": len(v),
                        "same_parameters": len(set(v)) == 1,
                    }
                    for k, v in self.token_uses.items()
                    if len(v) > 1
                ],
                "creates_without_token": dict(collections.Counter(n for n, _ in self.no_token)),
                "repeated_creates_without_token": {n: c for (n, _), c in repeats.items() if c > 1},
                "faults": self.faults,
            }

    def control(self, req):
        """The /_judge/ end points -> (status, headers, body)."""
        word, status = req.path[len("/_judge/") :], 200
        try:
            body = json.loads(req.body or b"{}")
            if word == "report":
                out = self.report()
            elif word == "reset":
                out = self.reset() or {}
            elif word == "fault":
                if not re.fullmatch(
                    r"500|throttle|reset-before|reset-after|token-expired|slow:[0-9.]+|kill-(before|after):.+",
                    body["do"],
                ):
                    raise ValueError(f"unknown fault {body['do']}")
                out = {
                    "match": body["match"],
                    "nth": int(body.get("nth", 1)),
                    "times": int(body.get("times", 1)),
                    "do": body["do"],
                    "seen": 0,
                    "fired": 0,
                }
                with self.lock:
                    self.faults.append(out)
            elif word == "set":
                self.world.settings[body["key"]] = body["value"]
                out = self.world.settings
            elif word == "verify":
                out = self.verify(body)
            else:
                status, out = 404, {"error": f"no {word}"}
        except (ValueError, KeyError, TypeError) as e:
            status, out = 400, {"error": repr(e)}
        return (
            status,
            [("Content-Type", "application/json")],
            json.dumps(out, default=str, indent=1).encode() + b"\n",
        )

    def verify(self, body):
        problems, headers = [], dict(body.get("headers", {}))
        if "token" in body:
            prefix, text = body["token"][:11], body["token"][11:]
            if prefix != "k8s-aws-v1." or "=" in text:
                problems.append("k8s-token: prefix k8s-aws-v1. and unpadded base64url are needed")
            body["url"] = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
            headers["x-k8s-aws-id"] = body["cluster"]
        url = urllib.parse.urlsplit(body["url"])
        headers.setdefault("host", url.netloc)
        req = Request(
            body.get("method", "GET"),
            (url.path or "/") + ("?" + url.query if url.query else ""),
            list(headers.items()),
            body.get("body", "").encode(),
        )
        entry = self.judge(req)[0]
        if "token" in body:
            query = dict(split_pairs(url.query, False, "", []))
            if "x-k8s-aws-id" not in query.get("X-Amz-SignedHeaders", "").split(";"):
                problems.append("k8s-token: x-k8s-aws-id is not signed")
            if (entry["service"], entry["operation"]) != (
                "sts",
                "GetCallerIdentity",
            ) or url.scheme != "https":
                problems.append(f"k8s-token: {url.scheme} {entry['service']}:{entry['operation']}")
            if not 0 < int(query.get("X-Amz-Expires", 0)) <= 900:
                problems.append("k8s-token: X-Amz-Expires outside 1..900")
        return {**entry, "problems": entry["problems"] + problems}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, count = "HTTP/1.1", True, 0
    judge = stop = None

    def setup(self):
        super().setup()
        with self.judge.lock:
            Handler.count += 1
            self.conn = Handler.count

    def read_body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def serve(self):
        start, target = time.time(), self.requestline.split()[1]
        req = Request(self.command, target, list(self.headers.raw_items()), self.read_body())
        if req.path == "/_judge/stop":
            self.close_connection = True
            self.reply(200, [], b"")
            return self.stop()
        if req.path.startswith("/_judge/"):
            return self.reply(*self.judge.control(req))
        try:
            entry, answer = self.judge.handle(req)
        except Exception as e:  # a fault of the judge itself must be seen, not hidden
            entry = {
                "service": None,
                "operation": None,
                "notes": [],
                "problems": [f"judge-crashed: {traceback.format_exc()}"],
            }
            answer = 500, [("Content-Type", "text/plain")], repr(e).encode()
        entry = {
            "time": NOW().isoformat(),
            "conn": self.conn,
            **entry,
            "status": answer[0] if answer else "reset",
            "bytes": [len(req.body), len(answer[2]) if answer else 0],
            "ms": round((time.time() - start) * 1000),
        }
        self.judge.record(entry)
        if answer:
            return self.reply(*answer)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()
        self.connection.close()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = serve

    def reply(self, status, headers, body):
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}"] + [
            f"{k}: {v}" for k, v in headers
        ]
        if self.command != "HEAD":
            lines += [f"Content-Length: {len(body)}"] if status != 204 else []
        elif not any(k.lower() == "content-length" for k, _ in headers):
            lines.append("Content-Length: 0")
        if self.close_connection:
            lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
        self.wfile.write(head + (b"" if self.command == "HEAD" else body))

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128

    def handle_error(self, request, client_address):  # a client that goes away is no news
        if not isinstance(sys.exc_info()[1], (ConnectionError, OSError)):
            super().handle_error(request, client_address)


def parse_options(words):
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--port", type=int, required=True)
    ap.add_argument("--upstream", required=True)
    ap.add_argument("--secret", action="append", required=True, metavar="AKID=SECRET")
    ap.add_argument("--log")
    ap.add_argument(
        "--no-clock", action="store_true", help="do not compare request dates with the local clock"
    )
    ap.add_argument(
        "--enforce", action="store_true", help="refuse requests whose signature is wrong"
    )
    return ap.parse_args(words)


def main():
    options = parse_options(sys.argv[1:])
    Handler.judge = judge = Judge(options)
    server = Server(("127.0.0.1", options.port), Handler)
    Handler.stop = lambda _: threading.Thread(target=server.shutdown).start()
    signal.signal(signal.SIGTERM, lambda *_: Handler.stop(None))
    print(f"judge on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
    print(json.dumps(judge.report(), default=str, indent=1), flush=True)


if __name__ == "__main__":
    main()
