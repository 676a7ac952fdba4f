"""judge's request, its strict pair splitting, and the check of SigV4 signatures with botocore's own signers."""

import collections
import datetime
import email.utils
import hashlib
import re
import time
import urllib.parse
from botocore.auth import SigV4Auth, S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.utils import percent_encode

AUTH_RE = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=([^/ ,]+)/(\d{8})/([^/ ,]+)/([^/ ,]+)/aws4_request *, *"
    r"SignedHeaders=([^ ,]+) *, *Signature=([0-9a-f]{64})"
)


class Request:
    """A received request: everything raw, as it came."""

    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.path, _, self.query = target.partition("?")

    def all(self, name):
        return [v for k, v in self.headers if k.lower() == name.lower()]

    def get(self, name, default=""):
        return (self.all(name) or [default])[0]


def split_pairs(raw, form, where, problems):
    """Decode a query string or form body to a list of pairs; every departure from canonical form is a problem."""
    out = []
    for part in raw.split("&") if raw else []:
        key, eq, value = part.partition("=")
        for text in (key, value):
            if not text.isascii():
                problems.append(f"encoding: raw non-ASCII bytes in {where}: {part!r}")
            if re.search(r"%(?![0-9A-Fa-f]{2})", text):
                problems.append(f"encoding: bad percent escape in {where}: {part!r}")
            canonical = percent_encode(urllib.parse.unquote(text))
            if not form and text != canonical:
                problems.append(f"encoding: {where} has {text!r}, canonical is {canonical!r}")
        unquote = urllib.parse.unquote_plus if form else urllib.parse.unquote
        try:
            out.append((unquote(key, errors="strict"), unquote(value, errors="strict")))
        except UnicodeDecodeError:
            problems.append(f"encoding: not UTF-8 in {where}: {part!r}")
    return out


# ---------------------------------------------------------------- signature
class SignedHeadersOnly:
    """botocore's signer, told to sign exactly the headers that the request says are signed."""

    unsigned_payload = False

    def headers_to_sign(self, request):
        return request.headers

    def payload(self, request):
        return "UNSIGNED-PAYLOAD" if self.unsigned_payload else super().payload(request)


class JudgeV4(SignedHeadersOnly, SigV4Auth):
    pass


class JudgeS3V4(SignedHeadersOnly, S3SigV4Auth):
    pass


def check_signature(req, secrets, clock, problems):
    """Recompute the signature; returns (signing name, region, access key, presigned) or None for an unsigned one."""
    query = dict(split_pairs(req.query, False, "query", []))
    presigned = "X-Amz-Signature" in query
    if len(req.all("authorization")) > 1:
        problems.append("duplicate-header: authorization")
    if presigned:
        auth = (
            "{X-Amz-Algorithm} Credential={X-Amz-Credential}, SignedHeaders={X-Amz-SignedHeaders}, Signature="
            "{X-Amz-Signature}".format_map(collections.defaultdict(str, query))
        )
        date, token = query.get("X-Amz-Date", ""), query.get("X-Amz-Security-Token")
        target = (
            req.path
            + "?"
            + "&".join(p for p in req.query.split("&") if not p.startswith("X-Amz-Signature="))
        )
    else:
        auth, target = req.get("authorization"), req.target
        if not auth:
            return None
        date, token = req.get("x-amz-date"), req.get("x-amz-security-token", None)
        if not date and req.get("date"):
            date = time.strftime(
                "%Y%m%dT%H%M%SZ", email.utils.parsedate(req.get("date")) or time.gmtime(0)
            )
    m = AUTH_RE.fullmatch(auth)
    if not m:
        problems.append(f"authorization: malformed: {auth!r}")
        m = re.search(r"([^/= ]+)/\d+/([^/ ]+)/([^/ ]+)/aws4_request", auth)
        return (m[3], m[2], m[1], presigned) if m else None
    akid, day, region, signing, names, signature = m.groups()
    names = names.split(";")
    if names != sorted(set(n.lower() for n in names)):
        problems.append(f"authorization: SignedHeaders not sorted, unique and lower case: {names}")
    must = {"host"} | {k.lower() for k, _ in req.headers if k.lower().startswith("x-amz-")}
    if not presigned and not req.get("x-amz-date"):
        must.add("date")
    for name in sorted(must - set(names)):
        problems.append(f"unsigned-header: {name} is not in SignedHeaders")
    for name in names:
        if not req.all(name):
            problems.append(f"signed-header-missing: {name} is signed but was not sent")
    try:
        when = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(
            tzinfo=datetime.timezone.utc
        )
        age = time.time() - when.timestamp()
        limit = int(query.get("X-Amz-Expires", "0") or 0) if presigned else 900
        if presigned and not 1 <= limit <= 604800:
            problems.append(f"date: X-Amz-Expires {limit} outside 1..604800")
        if clock and not -900 <= age <= limit:
            problems.append(f"date: request is dated {date}, {age:.0f} s from the local clock")
    except ValueError:
        problems.append(f"date: missing or malformed x-amz-date {date!r}")
    if day != date[:8]:
        problems.append(f"date: scope day {day} is not the day of {date}")
    if akid not in secrets:
        problems.append(f"signature: unknown access key {akid}")
        return signing, region, akid, presigned
    secret, known_token = secrets[akid]
    if known_token is not None and token != known_token:
        problems.append(
            f"token: session token for {akid} is {'missing' if token is None else 'not the one issued'}"
        )
    aws = AWSRequest(req.method, f"http://{req.get('host')}{target}", data=req.body)
    for key, value in req.headers:
        if key.lower() in names:
            aws.headers[key.lower()] = value.encode("latin-1").decode("utf-8", "replace")
    signer = (JudgeS3V4 if signing == "s3" else JudgeV4)(Credentials(akid, secret), signing, region)
    signer.unsigned_payload = presigned and signing == "s3"
    aws.context["timestamp"] = date
    canonical = signer.canonical_request(aws)
    if signer.signature(signer.string_to_sign(aws, canonical), aws) != signature:
        problems.append(f"signature: does not match; canonical request is {canonical!r}")
    said = req.get("x-amz-content-sha256")
    if said and said != "UNSIGNED-PAYLOAD" and said != hashlib.sha256(req.body).hexdigest():
        problems.append("payload: x-amz-content-sha256 is not the hash of the body")
    if (
        said == "UNSIGNED-PAYLOAD"
        and signing != "s3"
        or signing == "s3"
        and not presigned
        and not said
    ):
        problems.append(f"payload: x-amz-content-sha256 is {said!r} for {signing}")
    return signing, region, akid, presigned
