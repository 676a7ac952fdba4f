"""The judging half of judge: operation, decoding, validation and re-serialisation of one request.

Problems are "code: text" strings; nothing here talks to the network.
"""

import base64
import collections
import hashlib
import json
import re
import threading
import urllib.parse
import zlib
import xml.etree.ElementTree as ET
import botocore.session
from botocore.serialize import create_serializer
from botocore.utils import parse_timestamp, percent_encode
from botocore.validate import ParamValidator
from judge_signature import split_pairs

SIGNING_NAMES = {
    "servicequotas": ["service-quotas"],
    "tagging": ["resourcegroupstaggingapi"],
    "elasticloadbalancing": ["elb", "elbv2"],
    "monitoring": ["cloudwatch"],
    "awsssoportal": ["sso"],
    "sso-oauth": ["sso-oidc"],
}
UNSIGNED_PATHS = [
    ("/federation/", "sso"),
    ("/assignment/", "sso"),
    ("/logout", "sso"),
    ("/token", "sso-oidc"),
    ("/client/register", "sso-oidc"),
    ("/device_authorization", "sso-oidc"),
    ("/v1/token", "signin"),
]
PLAIN_HEADERS = set(
    """host user-agent content-type content-length content-md5 accept accept-encoding accept-language
    authorization connection keep-alive expect date transfer-encoding te x-amz-date x-amz-security-token x-amz-target
    x-amz-content-sha256 amz-sdk-invocation-id amz-sdk-request x-amz-user-agent x-amzn-trace-id""".split()
)


# ---------------------------------------------------------------- models and operations
class Catalog:
    def __init__(self):
        self.session, self.lock = botocore.session.get_session(), threading.RLock()
        self.models, self.route_cache, self.names = (
            {},
            {},
            set(self.session.get_available_services()),
        )

    def model(self, name):
        with self.lock:
            if name not in self.models:
                self.models[name] = self.session.get_service_model(name)
            return self.models[name]

    def candidates(self, req, sig):
        if sig is None:
            if b"AssumeRoleWith" in req.body or "AssumeRoleWith" in req.query:
                return ["sts"]
            return [s for prefix, s in UNSIGNED_PATHS if req.path.startswith(prefix)]
        found = SIGNING_NAMES.get(sig[0]) or ([sig[0]] if sig[0] in self.names else [])
        if not found:  # a rare one: look through all models once
            found = SIGNING_NAMES[sig[0]] = [
                n for n in sorted(self.names) if self.model(n).signing_name == sig[0]
            ]
        return found

    def routes(self, service):
        with self.lock:
            if service not in self.route_cache:
                self.route_cache[service] = [
                    self.route(self.model(service).operation_model(n))
                    for n in self.model(service).operation_names
                ]
            return self.route_cache[service]

    @staticmethod
    def route(op):
        path, _, query = op.http.get("requestUri", "/").partition("?")
        parts = re.split(r"\{(.*?)\}", path)
        regex = "".join(
            ("(.+)" if p.endswith("+") else "([^/]+)") if i % 2 else re.escape(p)
            for i, p in enumerate(parts)
        )
        return (
            re.compile(regex),
            [p.rstrip("+") for p in parts[1::2]],
            urllib.parse.parse_qs(query, True),
            op,
        )

    def find(self, req, sig, problems):
        """-> (service, operation model, protocol, extra) or None."""
        names = self.candidates(req, sig)
        if not names:
            problems.append(
                f"service: no model for {sig[0]!r} {req.path}"
                if sig
                else "signature: the request is not signed with SigV4, and no service is known to take it so"
            )
            return None
        if req.get("smithy-protocol"):
            problems.append(f"service: cannot judge protocol {req.get('smithy-protocol')}")
            return None
        model = self.model(names[0])
        protocols = model.metadata.get("protocols") or [model.metadata["protocol"]]
        if "json" in protocols and req.get("x-amz-target"):
            prefix, _, name = req.get("x-amz-target").rpartition(".")
            if prefix != model.metadata["targetPrefix"] or name not in model.operation_names:
                problems.append(
                    f"operation: X-Amz-Target {req.get('x-amz-target')!r} is not in {names[0]}"
                )
                return None
            return names[0], model.operation_model(name), "json", None
        if "query" in protocols or "ec2" in protocols:
            body = split_pairs(req.body.decode("latin-1"), True, "body", problems)
            given = split_pairs(req.query, False, "query", problems)
            given = [
                (k, v) for k, v in given if not (k.startswith("X-Amz-") and sig and sig[3])
            ] + body
            for key, n in collections.Counter(k for k, _ in given).items():
                if n > 1:
                    problems.append(f"duplicate-parameter: {key} sent {n} times")
            form = dict(given)
            action, version = form.pop("Action", ""), form.pop("Version", "")
            named = [n for n in names if self.model(n).api_version == version]
            if not named:
                problems.append(
                    f"version: {version!r}, the model has {[self.model(n).api_version for n in names]}"
                )
            service = (named or names)[0]
            if action not in self.model(service).operation_names:
                problems.append(f"operation: no {action!r} in {service}")
                return None
            return (
                service,
                self.model(service).operation_model(action),
                "ec2" if "ec2" in protocols else "query",
                form,
            )
        protocol = next((p for p in protocols if p.startswith("rest-")), None)
        if protocol is None:
            problems.append(
                f"operation: {names[0]} needs X-Amz-Target"
                if "json" in protocols
                else f"service: cannot judge protocol {protocols}"
            )
            return None
        query, found = dict(split_pairs(req.query, False, "query", [])), []
        for regex, labels, literal, op in self.routes(names[0]):
            match = regex.fullmatch(req.path)
            if not match or any(k not in query or v[0] != query[k] for k, v in literal.items()):
                continue
            inputs = op.input_shape.members if op.input_shape else {}
            needed = [
                inputs[r].serialization for r in (op.input_shape.required_members if inputs else [])
            ]
            needed = [s for s in needed if s.get("location") in ("querystring", "header")]
            have = [
                s["name"] in query if s["location"] == "querystring" else bool(req.all(s["name"]))
                for s in needed
            ]
            known = set(literal) | {
                m.serialization.get("name")
                for m in inputs.values()
                if m.serialization.get("location") == "querystring"
            }
            rank = (
                op.http["method"] == req.method,
                len(literal),
                all(have),
                -len(labels),
                sum(have),
                -len(set(query) - known),
                not op.deprecated,
                -len(found),
            )
            found.append((rank, op, dict(zip(labels, match.groups())), literal))
        if not found:
            problems.append(f"operation: {req.method} {req.path} fits no request URI of {names[0]}")
            return None
        _, op, labels, literal = max(found, key=lambda f: f[0])
        return names[0], op, protocol, (labels, literal)


# ---------------------------------------------------------------- decoding
class Decoder:
    """Walks an input shape over a request; whatever the model does not explain is a problem."""

    plain_headers = PLAIN_HEADERS

    def __init__(self, op, protocol, problems):
        self.op, self.protocol, self.problems = op, protocol, problems
        self.namer = create_serializer(protocol, False)._get_serialized_name

    def bad(self, code, text):
        self.problems.append(f"{code}: {text}")

    def scalar(self, shape, text, where, time_format="iso8601"):
        kind = shape.type_name
        try:
            if kind in ("integer", "long"):
                if re.fullmatch(r"-?(0|[1-9]\d*)", text):
                    return int(text)
            elif kind in ("float", "double"):
                return float(text)
            elif kind == "boolean":
                if text in ("true", "false"):
                    return text == "true"
            elif kind == "blob":
                return base64.b64decode(text, validate=True)
            elif kind == "timestamp":
                wanted = shape.serialization.get("timestampFormat", time_format)
                pattern = {
                    "iso8601": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
                    "unixtimestamp": r"\d+(\.\d+)?",
                    "rfc822": r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT",
                }[wanted.lower()]
                if re.fullmatch(pattern, text):
                    return parse_timestamp(
                        float(text) if wanted.lower() == "unixtimestamp" else text
                    )
            else:
                return text
        except ValueError:
            pass
        self.bad("bad-value", f"{where}: {text!r} is no {kind} on this wire")
        return text

    # query and ec2: a trie of the dotted keys
    def query(self, form):
        root = {}
        for key, value in form.items():
            node = root
            for part in key.split("."):
                node = node.setdefault(part, {})
            node[None] = value
        if self.op.input_shape is None:
            self.leftover(root, "")
            return {}
        return self.trie(self.op.input_shape, root, "")

    def leftover(self, node, where, code="unknown-parameter", why=""):
        for part, child in node.items():
            if part is None:
                self.bad(code, f"{where} = {child!r}{why}")
            else:
                self.leftover(child, f"{where}.{part}".lstrip("."), code, why)

    def trie(self, shape, node, where):
        kind, flat = shape.type_name, shape.serialization.get("flattened")
        if kind == "structure":
            out = {}
            for name, member in shape.members.items():
                wire = self.namer(member, name)
                if (
                    member.type_name == "list"
                    and member.serialization.get("flattened")
                    and self.protocol == "query"
                ):
                    wire = member.member.serialization.get("name", wire)
                if wire in node:
                    out[name] = self.trie(member, node.pop(wire), f"{where}.{wire}".lstrip("."))
            self.leftover(node, where)
            return out
        if kind in ("list", "map"):
            style = (
                ""
                if self.protocol == "ec2" or flat
                else shape.member.serialization.get("name", "member") if kind == "list" else "entry"
            )
            if (
                kind == "list"
                and self.protocol == "query"
                and node.get(None) == ""
                and len(node) == 1
            ):
                return []
            items = node.pop(style, {}) if style else node
            if style:
                self.leftover(node, where, "list-style", f" (expected {where}.{style}.N)")
            good = {k: v for k, v in items.items() if k and re.fullmatch(r"[1-9]\d*", k)}
            wrong = {k: v for k, v in items.items() if k not in good}
            base = f"{where}.{style}".rstrip(".")
            self.leftover(wrong, base, "list-style", f" (expected {base}.N)")
            if sorted(map(int, good)) != list(range(1, len(good) + 1)):
                self.bad("list-style", f"{where}: indices {sorted(map(int, good))} are not 1..n")
            entries = [(k, good[k]) for k in sorted(good, key=int)]
            if kind == "list":
                return [self.trie(shape.member, v, f"{where}.{k}") for k, v in entries]
            out, (kn, vn) = {}, (self.namer(shape.key, "key"), self.namer(shape.value, "value"))
            for k, v in entries:
                key, value = v.pop(kn, {}).get(None), v.pop(vn, None)
                self.leftover(v, f"{where}.{k}")
                if key is None or value is None or key in out:
                    self.bad("map", f"{where}.{k} needs one unique {kn} and {vn}")
                else:
                    out[key] = self.trie(shape.value, value, f"{where}.{k}.{vn}")
            return out
        text = node.pop(None, None)
        self.leftover(node, where)
        if text is None:
            self.bad("bad-value", f"{where}: a {kind} is expected, not a group")
            return ""
        return self.scalar(shape, text, where)

    # JSON
    def json_body(self, shape, body):
        def pairs(items):
            for key, n in collections.Counter(k for k, _ in items).items():
                if n > 1:
                    self.bad("duplicate-parameter", f"JSON key {key} occurs {n} times")
            return dict(items)

        try:
            value = json.loads(
                body.decode("utf-8"),
                object_pairs_hook=pairs,
                parse_constant=lambda c: self.bad("bad-value", f"JSON constant {c}"),
            )
        except ValueError as e:
            self.bad("body", f"not JSON: {e}")
            return {}
        if not isinstance(value, dict):
            self.bad("body", f"a JSON object is expected, not {value!r}")
            return {}
        return self.json(shape, value, "") if shape is not None else self.no_input(value)

    def no_input(self, value):
        for key in value or {}:
            self.bad("unknown-parameter", f"{key} (the operation takes no input)")
        return {}

    def json(self, shape, value, where):
        kind = shape.type_name
        if (
            kind == "structure"
            and isinstance(value, dict)
            and not getattr(shape, "is_document_type", False)
        ):
            names = {
                m.serialization.get("name", n): n
                for n, m in shape.members.items()
                if m.serialization.get("location") is None
            }
            out = {}
            for key, item in value.items():
                if key not in names:
                    self.bad("unknown-parameter", f"{where}.{key}".lstrip(".") + f" = {item!r}")
                elif item is None:
                    self.bad("null", f"{where}.{key}".lstrip(".") + " is null; leave it out")
                else:
                    out[names[key]] = self.json(
                        shape.members[names[key]], item, f"{where}.{key}".lstrip(".")
                    )
            return out
        if kind == "list" and isinstance(value, list):
            return [self.json(shape.member, v, f"{where}[{i}]") for i, v in enumerate(value)]
        if kind == "map" and isinstance(value, dict):
            return {k: self.json(shape.value, v, f"{where}.{k}") for k, v in value.items()}
        if (
            kind in ("blob", "timestamp")
            and isinstance(value, (str, int, float))
            and not isinstance(value, bool)
        ):
            wanted = shape.serialization.get("timestampFormat", "unixtimestamp")
            if kind == "timestamp" and isinstance(value, str) == (wanted == "unixtimestamp"):
                self.bad("bad-value", f"{where}: {value!r} should be a {wanted}")
            return self.scalar(shape, str(value), where, "unixtimestamp")
        if isinstance(value, bool) and kind != "boolean":
            self.bad("invalid-type", f"{where}: {value} for a {kind}")
        return value

    # XML
    def xml(self, shape, node, where):
        def tag(n):
            return n.tag.rpartition("}")[2]

        def names(s):
            return s.key.serialization.get("name", "key"), s.value.serialization.get(
                "name", "value"
            )

        kind = shape.type_name
        if kind == "structure":
            out, groups = {}, collections.OrderedDict()
            for child in node:
                groups.setdefault(tag(child), []).append(child)
            attributes = {k.rpartition("}")[2]: v for k, v in node.attrib.items()}
            for name, member in shape.members.items():
                wire = member.serialization.get("name", name)
                if member.serialization.get("xmlAttribute"):
                    if wire.rpartition(":")[2] in attributes:
                        out[name] = attributes.pop(wire.rpartition(":")[2])
                elif wire in groups and member.serialization.get("location") is None:
                    nodes, path = groups.pop(wire), f"{where}/{wire}"
                    if member.type_name == "list" and member.serialization.get("flattened"):
                        out[name] = [self.xml(member.member, n, path) for n in nodes]
                        continue
                    if len(nodes) > 1:
                        self.bad("duplicate-parameter", f"{path} occurs {len(nodes)} times")
                    out[name] = self.xml(member, nodes[0], path)
            for wire in list(groups) + list(attributes):
                self.bad("unknown-parameter", f"{where}/{wire}")
            return out
        if kind == "list":
            wire = shape.member.serialization.get("name", "member")
            for child in node:
                if tag(child) != wire:
                    self.bad("list-style", f"{where}/{tag(child)} (expected {wire})")
            return [self.xml(shape.member, c, f"{where}/{wire}") for c in node if tag(c) == wire]
        if kind == "map":
            return {
                c.findtext("{*}" + names(shape)[0]): self.xml(
                    shape.value, c.find("{*}" + names(shape)[1]), where
                )
                for c in node
                if c.find("{*}" + names(shape)[1]) is not None
            }
        return self.scalar(shape, node.text or "", where)

    # rest-json and rest-xml: labels, query string, headers, then the body
    def rest(self, req, labels, literal, presigned):
        shape, params = self.op.input_shape, {}
        members = shape.members if shape is not None else {}
        query = collections.OrderedDict()
        for key, value in split_pairs(req.query, False, "query", self.problems):
            if not (presigned and key.startswith("X-Amz-")) and key not in literal:
                query.setdefault(key, []).append(value)
        headers = {k.lower(): v for k, v in req.headers}
        explained, maps, body = set(PLAIN_HEADERS), [], {}
        for name, member in members.items():
            where, wire = member.serialization.get("location"), member.serialization.get(
                "name", name
            )
            if where == "uri":
                raw = labels.get(wire, "")
                greedy = "{" + wire + "+}" in self.op.http["requestUri"]
                if raw != percent_encode(
                    urllib.parse.unquote(raw), safe="/~" if greedy else "-._~"
                ):
                    self.bad(
                        "encoding",
                        f"path label {wire} is {raw!r}, canonical is "
                        f"{percent_encode(urllib.parse.unquote(raw))!r}",
                    )
                params[name] = self.scalar(member, urllib.parse.unquote(raw), wire)
            elif where == "querystring" and member.type_name == "map":
                maps.append(name)
            elif where == "querystring" and wire in query:
                values = query.pop(wire)
                if member.type_name == "list":
                    params[name] = [self.scalar(member.member, v, wire) for v in values]
                else:
                    if len(values) > 1:
                        self.bad("duplicate-parameter", f"query {wire} occurs {len(values)} times")
                    params[name] = self.scalar(member, values[0], wire)
            elif where == "header":
                explained.add(wire.lower())
                if wire.lower() in headers and (
                    wire.lower() not in PLAIN_HEADERS or self.protocol == "rest-xml"
                ):
                    value = headers[wire.lower()]
                    params[name] = (
                        [v.strip() for v in value.split(",")]
                        if member.type_name == "list"
                        else self.scalar(member, value, wire, "rfc822")
                    )
            elif where == "headers":
                params[name] = {
                    k[len(wire) :]: v for k, v in headers.items() if k.startswith(wire.lower())
                }
                explained |= {k for k in headers if k.startswith(wire.lower())}
                params.pop(name) if not params[name] else None
            elif where is None:
                body[name] = member
        for name in maps:
            params[name] = {k: v[0] for k, v in query.items()}
            query.clear()
        for key in query:
            self.bad("unknown-parameter", f"query {key}")
        for key in headers:
            if key not in explained and not key.startswith(
                ("x-amz-checksum-", "x-amz-sdk-checksum")
            ):
                self.bad("unknown-header", key)
        payload = shape.serialization.get("payload") if shape is not None else None
        if payload and members[payload].type_name in ("blob", "string"):
            if req.body:
                params[payload] = (
                    req.body
                    if members[payload].type_name == "blob"
                    else req.body.decode("utf-8", "replace")
                )
        elif not req.body:
            pass
        elif not body:
            self.bad("body", f"{self.op.name} takes no body, {len(req.body)} bytes sent")
        elif self.protocol == "rest-json":
            value = self.json_body(members[payload] if payload else shape, req.body)
            params.update({payload: value} if payload else value)
        else:
            target = members[payload] if payload else shape
            try:
                root = ET.fromstring(req.body)
                if root.tag.rpartition("}")[2] != target.serialization.get("name", payload):
                    self.bad(
                        "body",
                        f"root element {root.tag}, expected {target.serialization.get('name', payload)}",
                    )
                value = self.xml(target, root, "")
                params.update({payload: value} if payload else value)
            except ET.ParseError as e:
                self.bad("body", f"not XML: {e}")
        return params


# ---------------------------------------------------------------- validation
def validate(op, params, problems):
    shape = op.input_shape
    if shape is None:
        return
    report = ParamValidator().validate(params, shape)
    for error in report._errors:
        problems.append(f"{error[0].replace(' ', '-')}: {report._format_error(error)}")
    constraints(shape, params, "", problems)
    user_data = params.get("UserData") or (params.get("LaunchTemplateData") or {}).get("UserData")
    if (
        op.service_model.service_name == "ec2"
        and isinstance(user_data, str)
        and not re.fullmatch(
            r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", user_data
        )
    ):
        problems.append(f"bad-value: UserData is not base64: {user_data[:40]!r}")
    for name in op.idempotent_members:
        if not params.get(name):
            problems.append(f"token-missing: {op.name} without its idempotency token {name}")


def check_checksums(req, op, problems):
    """The body's checksum headers must be right, and be there where the model requires one (S3)."""
    known = {
        "content-md5": lambda b: hashlib.md5(b).digest(),
        "x-amz-checksum-sha1": lambda b: hashlib.sha1(b).digest(),
        "x-amz-checksum-sha256": lambda b: hashlib.sha256(b).digest(),
        "x-amz-checksum-crc32": lambda b: zlib.crc32(b).to_bytes(4, "big"),
    }
    sent = [
        k.lower()
        for k, _ in req.headers
        if k.lower() == "content-md5" or k.lower().startswith("x-amz-checksum-")
    ]
    for name in sent:
        if name == "content-md5" or not op.http_checksum.get("requestAlgorithmMember"):
            names_body = (
                name == "content-md5"
            )  # elsewhere x-amz-checksum-* speaks of the whole object
        else:
            names_body = name in known
        if names_body and req.get(name) != base64.b64encode(known[name](req.body)).decode():
            problems.append(f"checksum: {name} is not that of the body")
    if (op.http_checksum_required or op.http_checksum.get("requestChecksumRequired")) and not sent:
        problems.append(f"checksum: {op.name} needs content-md5 or x-amz-checksum-*")


def constraints(shape, value, where, problems):
    """Enum, maximum, range and pattern, which ParamValidator leaves to the service."""
    meta, kind = shape.metadata, shape.type_name
    if kind == "structure" and isinstance(value, dict):
        for name, item in value.items():
            if name in shape.members:
                constraints(shape.members[name], item, f"{where}.{name}".lstrip("."), problems)
    elif kind == "list" and isinstance(value, list):
        for i, item in enumerate(value):
            constraints(shape.member, item, f"{where}[{i}]", problems)
    elif kind == "map" and isinstance(value, dict):
        for key, item in value.items():
            constraints(shape.key, key, f"{where}(key)", problems)
            constraints(shape.value, item, f"{where}.{key}", problems)
    elif kind == "string" and isinstance(value, str):
        if meta.get("enum") and value not in meta["enum"]:
            problems.append(f"enum: {where} = {value!r} is not one of {meta['enum'][:12]}")
        pattern = re.sub(r"\\p\{[LN]\w?\}", r"\\w", meta.get("pattern", "")).replace(
            r"\p{Z}", r"\s"
        )
        if "^" in re.sub(r"\[\^", "", pattern[1:]):
            pattern = ""  # a model's own mistake: an anchor inside can match nothing
        try:
            if pattern and not pattern.startswith(r"\S") and not re.fullmatch(pattern, value, re.S):
                problems.append(f"pattern: {where} = {value!r} does not match {pattern}")
        except re.error:
            pass  # a Java-only pattern
    size = len(value) if isinstance(value, (str, bytes, list, dict)) else value
    if "max" in meta and isinstance(size, (int, float)) and size > meta["max"]:
        problems.append(f"maximum: {where} is {size}, at most {meta['max']}")


def reserialise(req, op, protocol, params, problems, notes):
    """What botocore itself would send for these parameters, compared with what was received, order apart."""

    def differ(what, got, want):
        number = r"-?\d+(\.\d+)?"
        if (
            isinstance(got, str)
            and re.fullmatch(number, got)
            and re.fullmatch(number, str(want))
            and float(got) == float(want)
        ):
            return
        if got != want:
            problems.append(f"reserialise: {what} is {got!r}, botocore sends {want!r}")

    def trim(x):
        return re.sub(r"\.000Z", "Z", x)

    try:
        made = create_serializer(protocol, False).serialize_to_request(params, op)
    except Exception as e:
        return problems.append(
            f"reserialise: botocore cannot serialise this: {type(e).__name__}: {e}"
        )
    path, _, literal = made["url_path"].partition("?")
    differ("path", req.path, path)
    for key, value in made["headers"].items():
        got = req.get(key, None)
        if key.lower() == "x-amzn-query-mode" and got is None:
            continue
        if key.lower() == "content-type" and protocol in ("ec2", "query"):
            got, value = [(v or "").partition(";")[0].strip() for v in (got, value)]
            if not req.body:
                continue
        if key.lower() == "content-type" and not req.body:
            continue
        differ(f"header {key}", got, str(value))
    if protocol in ("ec2", "query"):
        got = dict(
            split_pairs(req.body.decode("latin-1"), True, "", [])
            if req.body
            else [
                (k, v)
                for k, v in split_pairs(req.query, False, "", [])
                if not k.startswith("X-Amz-")
            ]
        )
        want = {k: str(v) for k, v in made["body"].items()}
        for key in sorted(set(got) | set(want)):
            differ(key, trim(got.get(key, "(absent)")), trim(want.get(key, "(absent)")))
        return
    query = [
        (k, str(x))
        for k, v in (made["query_string"] or {}).items()
        for x in (v if isinstance(v, list) else [v])
    ]
    query += urllib.parse.parse_qsl(literal, True)
    got = [p for p in split_pairs(req.query, False, "", []) if not p[0].startswith("X-Amz-")]
    differ("query", sorted(got), sorted(query))
    if protocol == "rest-xml":

        def flat(body):
            return ET.canonicalize(re.sub(rb'\sxmlns="[^"]*"', b"", body).decode(), strip_text=True)

        try:
            same = (
                made["body"] == req.body
                or b"<" in req.body[:8]
                and flat(req.body) == flat(made["body"])
            )
        except (ET.ParseError, ValueError):
            return  # reported by the decoder
        differ("body", req.body if not same else 0, made["body"] if not same else 0)
    elif op.has_streaming_input:
        differ("body", req.body, made["body"])
    else:
        try:
            if not req.body and made["body"] == b"{}":
                notes.append("empty body where botocore sends {}")
            else:
                differ(
                    "JSON body",
                    json.loads(req.body or b"null"),
                    json.loads(made["body"] or b"null"),
                )
        except ValueError:
            pass  # reported by the decoder
