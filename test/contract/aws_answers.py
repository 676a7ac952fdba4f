"""Answers as the services send them, and what botocore's parser reads in each.

Reads {answers: [{service, operation, protocol}, …]} on stdin; prints, for each operation in that
order, a list of {status, headers, body (base64), read}.  The argument says which: `answers`;
`errors`, refusals whose `read` is {code, message, request_id, fields}; `strange`, refusals in which
botocore finds no code, without `read`.
All are made from botocore's models: members that our tables lack are in them, too.
"""

import base64
import datetime
import html
import io
import json
import os
import random
import sys
import botocore.session
from botocore.awsrequest import HeadersDict
from botocore.parsers import ResponseParserError, create_parser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge"))
from judge_state import serialise_output, to_json

NAMES = {"ec2query": "ec2", "awsquery": "query"}
ROUNDS = 14
session = botocore.session.get_session()


class Time:
    """A moment, as it is spelled in each of the three formats."""

    def __init__(self, iso, http, unix):
        self.iso, self.http, self.unix = iso, http, unix

    def strftime(self, form):
        return self.http if form.startswith("%a") else self.iso

    def timestamp(self):
        return self.unix


VALUES = {
    "string": [
        "a/b &<é+", "", " two  blanks ", "😀 漢字 e\u0301", "%7B%22a%22%3A%5B%5D%7D",
        '{"a":[1,"é"],"n":9007199254740993}', "true", "007", "two\nlines\t", "]]>", "  ", "null", "[1]",
    ],
    "integer": [7, 0, -1, 2**53 + 1, 2**63 - 1, -(2**63)],
    "float": [1.5, 0.0, 2.0, -1e-7, 1e21, 123456789.125],
    "boolean": [True, False],
    "blob": [b"\x00bytes\xff", b"", bytes(range(256))],
    "timestamp": [
        Time("2026-12-01T10:00:00Z", "Tue, 01 Dec 2026 10:00:00 GMT", 1796119200),
        Time("2026-12-01T10:00:00.000Z", "Tue, 01 Dec 2026 10:00:00 GMT", 1796119200.0),
        Time("2000-02-29T23:59:59.123456Z", "Tue, 29 Feb 2000 23:59:59 GMT", 951868799.123),
        Time("2026-12-01T10:00:00.5+02:00", "Thu, 01 Jan 1970 00:00:00 GMT", 0),
        Time("1969-12-31T23:59:59Z", "Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ],
}
VALUES |= {"long": VALUES["integer"], "double": VALUES["float"], "character": ["x"]}


class Sample:
    """One value of a shape: `count` items in each list, the values of that `turn`, each optional
    member there with a `chance`."""

    def __init__(self, turn, count, chance, seed):
        self.turn, self.count, self.chance = turn, count, chance
        self.random = random.Random(seed)

    def size(self, depth):
        size = self.random.choice((0, 1, 3)) if self.count is None else self.count
        return size if depth < 4 else min(size, 1)

    def of(self, shape, depth=0, open_shapes=()):
        kind = shape.type_name
        inner = open_shapes + (shape.name,)
        if kind == "structure":
            names = [n for n in shape.members if self.random.random() < self.chance]
            if getattr(shape, "is_tagged_union", False):
                names = [self.random.choice(list(shape.members))]
            members = {n: shape.members[n] for n in names if shape.members[n].name not in inner}
            return {n: self.of(m, depth + 1, inner) for n, m in members.items()}
        if kind == "list":
            size = 0 if shape.member.name in inner else self.size(depth)
            return [self.of(shape.member, depth + 1, inner) for _ in range(size)]
        if kind == "map":
            return {
                f"k {i}&é": self.of(shape.value, depth + 1, inner) for i in range(self.size(depth))
            }
        self.turn += self.count is None
        return VALUES[kind][self.turn % len(VALUES[kind])]


def samples(op):
    """Everything; nothing; lists of 0, 1, 3; mixtures."""
    yield Sample(0, 2, 1, op.name)
    yield Sample(0, 0, 0, op.name)
    for turn, count in enumerate((0, 1, 3), 1):
        yield Sample(turn, count, 1, op.name)
    for turn in range(5, ROUNDS):
        yield Sample(turn, None, 0.6, f"{op.name} {turn}")


def place(value, shape):
    """Headers hold plain text; places that our tables have no word for are left out."""
    for name, member in shape.members.items():
        where = member.serialization.get("location")
        if where in ("headers", "statusCode"):
            value.pop(name, None)
        elif where == "header" and name in value and member.type_name == "string":
            value[name] = "plain text; a=b"
    return value


def with_nulls(shape, body):
    """The JSON body with null in place of what it lacks."""
    if shape.type_name == "structure" and isinstance(body, dict):
        for name, member in shape.members.items():
            wire = member.serialization.get("name", name)
            body[wire] = with_nulls(member, body[wire]) if wire in body else None
    elif shape.type_name == "list" and isinstance(body, list):
        return [with_nulls(shape.member, item) for item in body]
    return body


def plain(value):
    """What botocore read, as JSON: dates are seconds, bytes base64."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    if hasattr(value, "read"):
        value = value.read()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def sent(status, headers, body):
    return {
        "status": status,
        "headers": {k.lower(): v for k, v in headers},
        "body": base64.b64encode(body).decode(),
    }


def read(protocol, status, headers, body, shape):
    answer = {"status_code": status, "headers": HeadersDict(headers), "body": body, "context": {}}
    return create_parser(protocol).parse(answer, shape)


def answers(protocol, op):
    if op.output_shape is None:
        return
    for sample in samples(op):
        value = place(sample.of(op.output_shape), op.output_shape)
        status, headers, body = serialise_output(op, protocol, value)
        bodies = [body]
        if protocol in ("json", "rest-json") and not op.has_streaming_output:
            nulls = with_nulls(op.output_shape, json.loads(body or b"{}"))
            bodies.append(json.dumps(nulls).encode())
        for body in bodies:
            raw = io.BytesIO(body) if op.has_streaming_output else body
            found = read(protocol, status, headers, raw, op.output_shape)
            found.pop("ResponseMetadata", None)
            yield {**sent(status, headers, body), "read": plain(found)}


# ---------------------------------------------------------------- refusals
XML_FORMS = {
    "ec2": [
        '<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>{code}</Code>'
        "<Message>{text}</Message></Error></Errors><RequestID>body-id</RequestID></Response>",
        "<Response>\n <Errors>\n  <Error>\n   <Message>{text}</Message>\n   <Code>{code}</Code>\n"
        "  </Error>\n </Errors>\n <RequestID>body-id</RequestID>\n</Response>",
        "<Response><Errors><Error><Code>{code}</Code><Message/></Error></Errors></Response>",
    ],
    "query": [
        '<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error>'
        "<Type>Sender</Type><Code>{code}</Code><Message>{text}</Message>{more}</Error><RequestId>body-id</RequestId>"
        "</ErrorResponse>",
        "<Response><Errors><Error><Code>{code}</Code><Message>{text}</Message>{more}</Error>"
        "</Errors><RequestId>body-id</RequestId></Response>",
        "<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>",
    ],
    "rest-xml": [
        '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code>'
        "<Message>{text}</Message>{more}<RequestId>body-id</RequestId><HostId>host</HostId></Error>",
        '<ErrorResponse xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Error><Type>Sender</Type>'
        "<Code>{code}</Code><Message>{text}</Message></Error><RequestId>body-id</RequestId>"
        "</ErrorResponse>",
        "<Error><Code>{code}</Code></Error>",
    ],
}
DECORATED = [
    "{code}", "com.amazonaws.x.v1#{code}", "{code}:http://internal.amazon.com/x/", "a.b#{code}:u",
]


def xml_more(shape):
    """The members of a modeled exception, as XML."""
    members = shape.members.items() if shape is not None else ()
    names = [
        m.serialization.get("name", n)
        for n, m in members
        if m.type_name == "string" and n.lower() not in ("message", "code", "type")
    ]
    return "".join(f"<{name}>é &amp; &lt;x&gt;</{name}>" for name in names)


def xml_errors(protocol, code, shape):
    for text in ("it is <wrong> & é", "two\nlines"):
        for form in XML_FORMS[protocol]:
            body = form.format(code=code, text=html.escape(text), more=xml_more(shape))
            yield {}, body.encode()
            ident = "body-id" if "body-id" in form else "header-id"
            word = "x-amz-request-id" if protocol == "rest-xml" else "x-amzn-RequestId"
            yield {word: ident}, body.encode()


def json_more(shape):
    if shape is None:
        return {}
    value = Sample(3, 1, 1, shape.name).of(shape)
    return {k: v for k, v in to_json(shape, value).items() if k.lower() not in ("message", "code")}


def json_errors(protocol, code, shape):
    more, ids = json_more(shape), {"x-amzn-RequestId": "header-id"}
    forms = DECORATED if shape is None else [DECORATED[len(code) % len(DECORATED)]]
    for decorated in (form.format(code=code) for form in forms):
        for word in ("message", "Message"):
            body = {**more, word: "it is <wrong> & é"}
            if protocol == "json":
                yield ids, json.dumps({"__type": decorated, **body}).encode()
            else:
                yield {**ids, "x-amzn-ErrorType": decorated}, json.dumps(body).encode()
                yield ids, json.dumps({"code": decorated, **body}).encode()
                yield ids, json.dumps({"Code": decorated, **body}).encode()
    if protocol == "json":
        old = {**ids, "x-amzn-query-error": f"Old.{code};Sender"}
        yield old, json.dumps({"__type": "x#New", "message": "m"}).encode()
        yield ids, json.dumps({"__type": code}).encode()
    else:
        yield {**ids, "x-amzn-ErrorType": code}, b""
        yield {**ids, "x-amzn-ErrorType": code}, b"{}"


NO_CODES = [
    b"", b"<html><body><h1>502 Bad Gateway</h1></body></html>", b"{}", b"[]", b"null", b'"x"',
    b"<a/>", b"<Response/>", b"<Error/>", b"\xff\xfe", b"{", b'{"message":"only a message"}', b"busy",
]


def read_error(protocol, status, headers, body, shape):
    try:
        found = read(protocol, status, headers, body, shape)
    except (ResponseParserError, ValueError, AttributeError, KeyError):
        return None
    code = found.get("Error", {}).get("Code")
    if not code or code == str(status):
        return None
    own = ("Error", "ResponseMetadata", "message", "Message", "code", "Code")
    about = {
        "code": code,
        "message": found["Error"].get("Message"),
        "request_id": found.get("ResponseMetadata", {}).get("RequestId"),
        "fields": plain({k: v for k, v in found.items() if k not in own}),
    }
    return {word: field for word, field in about.items() if field is not None}


def errors(protocol, op):
    make = json_errors if protocol in ("json", "rest-json") else xml_errors
    shapes = {shape.error_code or shape.name: shape for shape in op.error_shapes}
    for code, shape in {"Some.Code": None, **shapes}.items():
        status = (shape.metadata.get("error") or {}).get("httpStatusCode", 400) if shape else 400
        for headers, body in make(protocol, code, shape):
            found = read_error(protocol, status, headers, body, op.output_shape)
            if status >= 500 and not body:
                continue  # botocore looks at no header of such a one
            if shape is not None:
                modeled = create_parser(protocol)
                found["fields"] = modeled_fields(modeled, status, headers, body, shape)
            yield {**sent(status, headers.items(), body), "read": found}


def strange(protocol, op):
    """Refusals without a code."""
    for status in (301, 400, 403, 404, 409, 412, 429, 500, 502, 503):
        for body in NO_CODES:
            if not read_error(protocol, status, {}, body, op.output_shape):
                yield sent(status, (), body)


def modeled_fields(parser, status, headers, body, shape):
    """The members of an exception that the model knows, but for its message and code."""
    answer = {"status_code": status, "headers": HeadersDict(headers), "body": body, "context": {}}
    try:
        found = parser._do_modeled_error_parse(answer, shape)
    except NotImplementedError:
        return {}
    return plain({k: v for k, v in found.items() if k.lower() not in ("message", "code", "type")})


def main():
    make = {"answers": answers, "errors": errors, "strange": strange}[sys.argv[1]]
    out = []
    for case in json.load(sys.stdin):
        protocol = NAMES.get(case["protocol"], case["protocol"])
        op = session.get_service_model(case["service"]).operation_model(case["operation"])
        out.append(list(make(protocol, op)))
    json.dump(out, sys.stdout)


main()
