"""What parliament says of IAM policies, and what its copy of the service authorization reference
knows of them beside that.

stdin: {"sets": [[document, ...], ...], "needs": {action: [type, ...]}}; each set is attached
together; needs are the types of resources on which the simulated AWS asks for an action.
stdout: {"sets": [{"findings": [...], "keys": [...]}, ...], "access": {action: level},
         "needs": [text, ...]}

findings: one text a finding. A RESOURCE_MISMATCH is left out where another statement of the set
allows the action on the missing type of resource: parliament looks at one statement alone, and a
create whose parts have different conditions needs two.
keys: conditions that no resource of the statement's actions ever has in a request.
needs: where the reference knows no such action, or asks for other types.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore")
import parliament  # noqa: E402

SERVICES = {service["prefix"]: service for service in parliament.iam_definition}


def as_list(value):
    return value if isinstance(value, list) else [value]


def privilege(action):
    prefix, name = action.split(":")
    for one in SERVICES[prefix]["privileges"]:
        if one["privilege"].lower() == name.lower():
            return one
    raise KeyError(action)


def arn_format(action, resource_type):
    for one in SERVICES[action.split(":")[0]]["resources"]:
        if one["resource"] == resource_type:
            return parliament.statement.get_arn_format(resource_type, [one])
    return None


def statements(documents):
    return [s for document in documents for s in document["Statement"]]


def allowed_elsewhere(documents, action, wanted):
    """Whether some statement allows the action on the wanted form of resource."""
    for statement in statements(documents):
        if action in as_list(statement["Action"]):
            for resource in as_list(statement["Resource"]):
                if parliament.is_arn_match("", wanted, resource):
                    return True
    return False


def finding_texts(documents, document):
    policy = parliament.analyze_policy_string(json.dumps(document), include_community_auditors=True)
    for finding in policy.findings:
        if finding.issue == "RESOURCE_MISMATCH":
            for one in finding.detail:
                if not allowed_elsewhere(documents, one["action"], one["required_format"]):
                    yield "RESOURCE_MISMATCH %(action)s on %(required_format)s" % one
        else:
            yield "%s %s" % (finding.issue, finding.detail)


def resource_keys(action, resource_type):
    """The condition keys that the reference gives for a type of resource itself."""
    for one in SERVICES[action.split(":")[0]]["resources"]:
        if one["resource"] == resource_type:
            return one["condition_keys"]
    return []


def has_key(keys, wanted):
    for key in keys:
        stem = key.split("${")[0].split("$")[0]
        if wanted == key or (stem != key and wanted.startswith(stem)):
            return True
    return False


def known_keys(action, resource):
    """The condition keys that requests of the action may have about a resource; None where the
    action is not about such a resource."""
    keys, about = [], resource == "*"
    for row in privilege(action)["resource_types"]:
        kind = row["resource_type"].rstrip("*")
        if not kind:
            keys += row["condition_keys"]
        elif parliament.is_arn_match(kind, arn_format(action, kind), resource):
            about = True
            keys += row["condition_keys"] + resource_keys(action, kind)
    return keys if about else None


def unknown_keys(documents):
    for statement in statements(documents):
        wanted = [k for block in statement.get("Condition", {}).values() for k in block]
        for action in as_list(statement["Action"]):
            for resource in as_list(statement["Resource"]):
                keys = known_keys(action, resource)
                for key in wanted if keys is not None else ():
                    if not has_key(keys, key):
                        yield "%s on %s has no %s" % (action, resource, key)


def wrong_needs(action, types):
    """Types that the reference asks for and we do not, or that it does not know."""
    try:
        known = [row["resource_type"] for row in privilege(action)["resource_types"]]
    except KeyError:
        yield "%s is no action" % action
        return
    for one in known:
        if one.endswith("*") and one[:-1] not in types and "any" not in types:
            yield "%s is also about %s" % (action, one[:-1])
    for one in types:
        if one not in ("*", "any") and one not in known and one + "*" not in known:
            yield "%s is not about %s" % (action, one)
    if "*" in types and any(one.endswith("*") for one in known):
        yield "%s is about a resource" % action


def main():
    given = json.load(sys.stdin)
    sets = given["sets"]
    out, access = [], {}
    for documents in sets:
        findings = [t for document in documents for t in finding_texts(documents, document)]
        out.append({"findings": findings, "keys": sorted(set(unknown_keys(documents)))})
        for statement in statements(documents):
            for action in as_list(statement["Action"]):
                access[action] = privilege(action)["access_level"]
    needs = [t for a, types in sorted(given["needs"].items()) for t in wrong_needs(a, types)]
    json.dump({"sets": out, "access": access, "needs": needs}, sys.stdout)


main()
