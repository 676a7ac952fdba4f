"""Tests the judge itself: a judge that finds nothing must be one that would have found something.

Reads {service: [operation, …]} as JSON on stdin.  For each operation: botocore's own request with
every member filled in has no problem, each wrong variant of it has one, and botocore's parser reads
the judge's own answer as it was meant.  Prints what went wrong; exit 1 if anything did.
"""

import datetime
import json
import sys
import types
import urllib.parse
import botocore.session
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest, create_request_object, prepare_request_dict
from botocore.credentials import Credentials
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from judge import Judge
from judge_signature import Request
from judge_state import serialise_output

AKID, SECRET, REGION = "AKIAJUDGESELFTEST", "judge/self+test/secret", "us-west-2"
# What samples that know no patterns may break.
SHAPELESS = ("pattern", "maximum", "invalid-length", "checksum", "bad-value: UserData is not")


def sample(shape, depth=0, stack=()):
    """A value with every member of a shape filled in (recursion cut)."""
    kind, meta = shape.type_name, shape.metadata
    if kind == "structure":
        union = getattr(shape, "is_tagged_union", False)
        return {
            name: sample(member, depth + 1, stack + (shape.name,))
            for name, member in list(shape.members.items())[: 1 if union else None]
            if depth < 14 and member.name not in stack
        }
    if kind == "list":
        if shape.member.name in stack:
            return []
        count = max(2 if depth < 4 else 1, meta.get("min", 0))
        return [sample(shape.member, depth + 1, stack) for _ in range(count)]
    if kind == "map":
        return {sample(shape.key): sample(shape.value, depth + 1, stack)}
    if kind == "string":
        if meta.get("enum"):
            return meta["enum"][0]
        return "a/b &<é+".ljust(meta.get("min", 0), "x")[: meta.get("max", 99)]
    if kind == "timestamp":
        return datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    simple = {"boolean": True, "blob": b"\x00blob", "float": 1.5, "double": 1.5}
    return simple.get(kind, max(1, meta.get("min", 1)))


def plain_places(shape, params):
    """Headers and paths hold plain text only."""
    for name, member in shape.members.items() if shape is not None else ():
        if member.serialization.get("location") in ("header", "headers", "uri"):
            if isinstance(params.get(name), str) and not member.metadata.get("enum"):
                params[name] = "plain-text".ljust(member.metadata.get("min", 0), "x")
            if member.type_name in ("map", "list") and name not in shape.required_members:
                params.pop(name, None)
    return params


def signer(service):
    kind = S3SigV4Auth if service == "s3" else SigV4Auth
    return kind(Credentials(AKID, SECRET), service, REGION)


def right_request(model, op, protocol, params):
    parts = create_serializer(protocol, False).serialize_to_request(params, op)
    prepare_request_dict(parts, "http://127.0.0.1:1", {"client_region": REGION})
    made = create_request_object(parts)
    signer(model.signing_name).add_auth(made)
    sent = made.prepare()
    url = urllib.parse.urlsplit(sent.url)
    headers = [("Host", url.netloc)]
    headers += [(k, v if isinstance(v, str) else v.decode()) for k, v in sent.headers.items()]
    body = sent.body.encode() if isinstance(sent.body, str) else bytes(sent.body or b"")
    return Request(sent.method, url.path + ("?" + url.query if url.query else ""), headers, body)


def signed_again(service, request, target, body):
    drop = ("authorization", "x-amz-date", "x-amz-content-sha256", "content-length")
    headers = {k: v for k, v in request.headers if k.lower() not in drop}
    made = AWSRequest(request.method, "http://127.0.0.1:1" + target, data=body, headers=headers)
    signer(service).add_auth(made)
    return Request(request.method, target, list(made.headers.items()), body)


def form_mutants(request):
    parts = request.body.decode().split("&")
    parts = [p for p in parts if not p.startswith(("Action=", "Version="))]
    for part in parts[:1] + parts[-1:]:
        key = part.partition("=")[0]
        wrong = {"key in the other case": key[:1].swapcase() + key[1:]}
        if ".1" in key:
            wrong["index from 0"] = key.replace(".1", ".0", 1)
            wrong["other list style"] = key.replace(".1", ".item.1", 1)
        for kind, new in wrong.items():
            changed = (new + part[len(key) :]).encode()
            yield kind, request.target, request.body.replace(part.encode(), changed, 1)


def json_mutants(request):
    value = json.loads(request.body)
    for key in list(value)[:1] + list(value)[-1:]:
        swapped = {k.swapcase() if k == key else k: v for k, v in value.items()}
        yield "key in the other case", request.target, json.dumps(swapped).encode()
        yield "null", request.target, json.dumps({**value, key: None}).encode()
        yield "wrapped in a list", request.target, json.dumps({**value, key: [value[key]]}).encode()


def mutants(request, protocol):
    """Wrong variants of a right request: (kind, target, body)."""
    extra = ("&" if request.query else "?") + "zz=1"
    yield "extra query key", request.target + extra, request.body
    if protocol in ("ec2", "query"):
        yield from form_mutants(request)
    elif request.body[:1] == b"{" and len(request.body) > 2:
        yield from json_mutants(request)
    elif request.body[:1] == b"<":
        tag = request.body[1:].partition(b">")[0].partition(b" ")[0]
        yield "root in the other case", request.target, request.body.replace(tag, tag.swapcase())


def codes(entry):
    return {p.partition(":")[0] for p in entry["problems"]}


def test_request(judge, model, op, protocol):
    params = plain_places(op.input_shape, sample(op.input_shape) if op.input_shape else {})
    request = right_request(model, op, protocol, params)
    entry = judge.judge(request)[0]
    problems = [p for p in entry["problems"] if not p.startswith(SHAPELESS)]
    if problems or entry["operation"] != op.name or entry.get("params") != params:
        yield f"right request: {entry['operation']} {problems[:3]}"
    for kind, target, body in mutants(request, protocol):
        again = judge.judge(signed_again(model.signing_name, request, target, body))[0]
        if not codes(again) - codes(entry) or "signature" in codes(again):
            yield f"not caught: {kind} {target} {body[:100]}"


def test_answer(op, protocol):
    meant = sample(op.output_shape)
    for name, member in op.output_shape.members.items():
        if member.serialization.get("location"):
            meant.pop(name, None)
            if member.serialization["location"] == "headers":
                meant[name] = {}
    status, headers, body = serialise_output(op, protocol, meant)
    answer = {"status_code": status, "headers": dict(headers), "body": body}
    got = create_parser(protocol).parse(answer, op.output_shape)
    got.pop("ResponseMetadata", None)
    if got != meant:
        yield f"answer: {got} instead of {meant}"


def main():
    options = {"secret": [f"{AKID}={SECRET}"], "log": None, "no_clock": False, "enforce": False}
    judge = Judge(types.SimpleNamespace(upstream="", **options))
    session, count, wrong = botocore.session.get_session(), 0, []
    for service, names in json.load(sys.stdin).items():
        model = session.get_service_model(service)
        protocols = model.metadata.get("protocols") or [model.metadata["protocol"]]
        protocol = "json" if "json" in protocols else model.resolved_protocol
        for name in names:
            op = model.operation_model(name)
            count += 1
            found = list(test_request(judge, model, op, protocol))
            if op.output_shape is not None and not op.has_streaming_output:
                found += test_answer(op, protocol)
            wrong += [f"{service}:{name}: {text}" for text in found]
    print("\n".join(wrong) if wrong else f"{count} operations")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
