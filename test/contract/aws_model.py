"""Compares the operation tables (JSON on stdin, made by aws_model_spec.lua) with botocore's models.

Prints one line for each difference and nothing when there is none.
"""

import json
import re
import sys
import botocore.session
from botocore import xform_name
from botocore.exceptions import UnknownServiceError

PROTOCOLS = {"ec2": "ec2query", "query": "awsquery"}
SERVICES = {
    "service_quotas": "service-quotas",
    "resource_groups": "resource-groups",
    "tagging": "resourcegroupstaggingapi",
    "sso_oidc": "sso-oidc",
}
SCALARS = {
    "string": {"string", "token", "secret", "json", "urljson"},
    "character": {"string"},
    "integer": {"int"},
    "long": {"int"},
    "float": {"float"},
    "double": {"float"},
    "boolean": {"bool"},
    "timestamp": {"time"},
    "blob": {"blob"},
}
PLACES = {"uri": "path", "querystring": "query", "header": "header", None: "body"}
FORMATS = {"iso8601": "iso", "unixtimestamp": "unix", "rfc822": "http"}
BODY_FORMAT = {"ec2query": "iso8601", "awsquery": "iso8601", "rest-xml": "iso8601"}
NUMBERS = ("integer", "long", "float", "double")
LONG_ENUM = 16  # longer ones (instance types, kinds of resource) grow each month
problems = []


def first_upper(text):
    return text[:1].upper() + text[1:]


class Comparison:
    """One operation, one direction."""

    def __init__(self, service, where, outgoing):
        self.service, self.where, self.outgoing = service, where, outgoing
        self.protocol, self.seen = service["protocol"], set()

    def bad(self, path, text):
        problems.append(f"{self.where} {path}: {text}")

    def wire_name(self, name, shape):
        given = shape.serialization.get("name")
        if self.protocol == "ec2query" and self.outgoing:
            return shape.serialization.get("queryName") or first_upper(given or name)
        flat = shape.type_name == "list" and shape.serialization.get("flattened")
        if self.protocol == "awsquery" and flat:
            return shape.member.serialization.get("name", given or name)
        return given or name

    def structure(self, path, ours, theirs):
        key = (ours["name"], theirs.name)
        if key in self.seen:
            return
        self.seen.add(key)
        for member in ours["members"]:
            name = member["name"]
            if name not in theirs.members:
                self.bad(path, f"botocore has no member {name}")
                continue
            self.member(f"{path}.{name}", member, name, theirs)
        if self.outgoing:
            have = {m["name"] for m in ours["members"]}
            for name in theirs.required_members:
                if name not in have:
                    self.bad(path, f"required member {name} is missing")

    def member(self, path, member, name, theirs):
        shape = theirs.members[name]
        place = shape.serialization.get("location")
        if not self.protocol.startswith("rest-"):
            place = None
        if PLACES.get(place) != member["where"]:
            self.bad(path, f"stands in {member['where']}, botocore says {place}")
        wire = member["wire_in"] if self.outgoing else member["wire_out"]
        if member["where"] != "path" and wire != self.wire_name(name, shape):
            self.bad(path, f"wire name {wire}, botocore says {self.wire_name(name, shape)}")
        if self.outgoing and member["required"] != (name in theirs.required_members):
            self.bad(path, f"required is {member['required']}")
        self.value(path, member["shape"], shape, place)

    def value(self, path, ours, theirs, place=None):
        kind = ours["kind"]
        if kind == "structure" and theirs.type_name == "structure":
            return self.structure(path, self.service["structures"][ours["name"]], theirs)
        if kind == "list" and theirs.type_name == "list":
            return self.list(path, ours, theirs)
        if kind == "map" and theirs.type_name == "map":
            return self.map(path, ours, theirs)
        if kind not in SCALARS.get(theirs.type_name, ()):
            return self.bad(path, f"is {kind}, botocore says {theirs.type_name}")
        if kind == "time":
            self.time(path, ours, theirs, place)
        if self.outgoing and place == "uri":
            self.label(path, ours, theirs)
        elif self.outgoing:
            self.limits(path, ours, theirs)

    def label(self, path, ours, theirs):
        """Part of the path: never empty, and limits of its own only where botocore has none."""
        wanted = theirs.metadata.get("min") or 1, theirs.metadata.get("max", ours.get("max"))
        if (ours.get("min"), ours.get("max")) != wanted:
            self.bad(path, f"limits are {ours.get('min')}..{ours.get('max')}, not {wanted}")

    def list(self, path, ours, theirs):
        flat = bool(theirs.serialization.get("flattened"))
        if self.protocol in ("awsquery", "rest-xml"):
            if ours["flat"] != flat:
                self.bad(path, f"flattened is {ours['flat']}, botocore says {flat}")
            item = theirs.member.serialization.get("name", "member")
            if not flat and ours["item"] != item:
                self.bad(path, f"items are <{ours['item']}>, botocore says <{item}>")
        if self.outgoing:
            self.limits(path, ours, theirs)
        self.value(path + "[]", ours["member"], theirs.member)

    def map(self, path, ours, theirs):
        if self.outgoing:
            self.limits(path, ours, theirs)
            self.limits(path + " keys", ours["key"], theirs.key)
        self.value(path + "{}", ours["member"], theirs.value)

    def time(self, path, ours, theirs, place):
        default = {"header": "rfc822", "querystring": "iso8601"}.get(
            place, BODY_FORMAT.get(self.protocol, "unixtimestamp")
        )
        wanted = FORMATS[theirs.serialization.get("timestampFormat", default).lower()]
        if ours["format"] != wanted:
            self.bad(path, f"time format {ours['format']}, botocore says {wanted}")

    def limits(self, path, ours, theirs):
        meta = theirs.metadata
        enum, known = set(ours.get("enum") or ()), set(meta.get("enum") or ())
        if enum != known and (enum or len(known) <= LONG_ENUM):
            self.bad(path, f"values {sorted(enum)}, botocore says {sorted(known)}")
        for word in () if known else ("min", "max"):
            have, wanted = ours.get(word), meta.get(word)
            if theirs.type_name not in NUMBERS and word == "min":
                have, wanted = have or None, wanted or None  # no length is below 0
            if have != wanted:
                self.bad(path, f"{word} is {have}, botocore says {wanted}")


def compare_http(where, ours, model):
    uri = model.http.get("requestUri", "/")
    if model.input_shape is not None:
        for name, member in model.input_shape.members.items():
            if member.serialization.get("location") == "uri":
                label = re.escape(member.serialization["name"])
                uri = re.sub(r"\{" + label + r"(\+?)\}", "{" + name + r"\1}", uri)
    if (ours["method"], ours["path"]) != (model.http["method"], uri):
        problems.append(
            f"{where}: {ours['method']} {ours['path']}, botocore says {model.http['method']} {uri}"
        )
    if ours["status"] != model.http.get("responseCode", 200):
        problems.append(f"{where}: success is {ours['status']}")


def compare_token(where, ours, model):
    names = [n for n in model.idempotent_members if n]
    members = model.input_shape.members if model.input_shape is not None else {}
    names += [n for n in ("ClientToken", "clientToken", "clientRequestToken") if n in members]
    if names and not ours["reads"] and ours.get("token") not in names:
        problems.append(f"{where}: botocore has a token {names[0]}")
    if not names and ours.get("token"):
        problems.append(f"{where}: {ours['token']} is no token")


def compare_page(where, ours, pages, name):
    page = ours.get("page")
    if page is None:
        if name in pages and isinstance(pages[name]["input_token"], str):
            problems.append(f"{where}: botocore has pages for it")
        return
    theirs = pages.get(name)
    if theirs is None:
        problems.append(f"{where}: botocore has no pages for it")
        return
    items = theirs["result_key"]
    items = items[0] if isinstance(items, list) else items
    wanted = (theirs["input_token"], theirs["output_token"], items)
    wanted += (theirs.get("more_results"), theirs.get("limit_key"))
    if (page["send"], page["receive"], page["items"], page.get("more"), page.get("size")) != wanted:
        problems.append(f"{where}: pages {page}, botocore says {wanted}")


def acceptor(rule):
    """One of our waiter rules as botocore writes it."""
    state = rule["state"]
    for word, matcher in (("all", "pathAll"), ("any", "pathAny"), ("path", "path")):
        if word in rule:
            path, wanted = rule[word], rule["is"]
            return {"matcher": matcher, "argument": path, "expected": wanted, "state": state}
    if "some" in rule:
        path = f"length({rule['some']}) > `0`"
        return {"matcher": "path", "argument": path, "expected": True, "state": state}
    word = "error" if "error" in rule else "status"
    return {"matcher": word, "expected": rule[word], "state": state}


def compare_waiters(service, model, waiters):
    """Each of ours is botocore's, or has a reason why it is not."""
    theirs = {xform_name(name): (name, facts) for name, facts in waiters.items()}
    reasons = service["waiter_reasons"]
    for ours in service["waiters"]:
        where, (_, facts) = f"{service['name']}.{ours['name']}", theirs.get(ours["name"], ("", {}))
        mine = {
            "operation": ours["operation"],
            "delay": ours["delay"],
            "maxAttempts": ours["tries"],
            "acceptors": [acceptor(rule) for rule in ours["rules"]],
        }
        equal = all(mine[word] == facts.get(word) for word in mine)
        if not equal and ours["name"] not in reasons:
            problems.append(f"{where}: is {mine}, botocore has {facts or 'none'}")
        if equal and ours["name"] in reasons:
            problems.append(f"{where}: equal to botocore's, though a reason says why it is not")
    have = {waiter["name"] for waiter in service["waiters"]}
    known = {operation["name"] for operation in service["operations"]}
    for name, (_, facts) in theirs.items():
        if facts["operation"] in known and name not in have and name not in reasons:
            problems.append(f"{service['name']}: botocore has the waiter {name}")
    for name in set(reasons) - have - set(theirs):
        problems.append(f"{service['name']}: a reason for {name}, which nobody has")


def compare_auth(where, ours, model):
    auth = model.auth_type == "none" or model.auth == ["smithy.api#noAuth"]
    if ours["unsigned"] != auth:
        problems.append(f"{where}: unsigned is {ours['unsigned']}, botocore says {auth}")
    needed = bool(model.http_checksum_required)
    needed = needed or bool(model.http_checksum.get("requestChecksumRequired"))
    if ours["checksum"] != needed:
        problems.append(f"{where}: checksum is {ours['checksum']}, botocore says {needed}")


def compare_operation(service, model, pages, ours):
    where = f"{service['name']}.{ours['key']}"
    if ours["name"] not in model.operation_names:
        problems.append(f"{where}: botocore has no operation {ours['name']}")
        return
    theirs = model.operation_model(ours["name"])
    if service["protocol"].startswith("rest-"):
        compare_http(where, ours, theirs)
    compare_auth(where, ours, theirs)
    compare_token(where, ours, theirs)
    compare_page(where, ours, pages, ours["name"])
    for word, shape, outgoing in (
        ("input", theirs.input_shape, True),
        ("output", theirs.output_shape, False),
    ):
        comparison = Comparison(service, where, outgoing)
        if shape is not None:
            comparison.structure(word, ours[word], shape)
            payload = ours.get("payload" if outgoing else "output_payload")
            if payload != shape.serialization.get("payload"):
                comparison.bad(word, f"payload is {payload}")
        elif ours[word]["members"]:
            comparison.bad(word, "botocore has none")


def load(loader, service, kind):
    try:
        return loader.load_service_model(service, kind)
    except UnknownServiceError:
        return {}


def compare_service(session, ours):
    name = SERVICES.get(ours["name"], ours["name"])
    model = session.get_service_model(name)
    meta = model.metadata
    loader = session.get_component("data_loader")
    pages = load(loader, name, "paginators-1").get("pagination", {})
    protocols = {PROTOCOLS.get(p, p) for p in meta.get("protocols") or [meta["protocol"]]}
    facts = {
        "id": (
            model.service_id.value if hasattr(model.service_id, "value") else str(model.service_id)
        ),
        "version": meta["apiVersion"],
        "endpoint": model.endpoint_prefix,
        "signing": model.signing_name,
    }
    if ours["protocol"] == "json":
        facts |= {"json": meta["jsonVersion"], "target": meta["targetPrefix"]}
    for key, value in facts.items():
        if ours.get(key) != value:
            problems.append(f"{name}: {key} is {ours.get(key)}, botocore says {value}")
    if ours["protocol"] not in protocols:
        problems.append(f"{name}: protocol {ours['protocol']}, botocore says {protocols}")
    for operation in ours["operations"]:
        compare_operation(ours, model, pages, operation)
    compare_waiters(ours, model, load(loader, name, "waiters-2").get("waiters", {}))


def main():
    session = botocore.session.get_session()
    services = json.load(sys.stdin)
    for service in services:
        compare_service(session, service)
    print("\n".join(problems))


main()
