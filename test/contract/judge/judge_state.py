"""What judge answers itself: output and errors written from botocore's models, and a small state for moto's gaps."""

import base64
import collections
import datetime
import fnmatch
import json
import re
import time
import uuid
from xml.sax.saxutils import escape

ACCOUNT = "123456789012"
NOW = lambda: datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


class AwsError(Exception):
    def __init__(self, code, message, status=400):
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


# ---------------------------------------------------------------- output, driven by the model
def wire_text(shape, value, time_format):
    if shape.type_name == "boolean":
        return "true" if value else "false"
    if shape.type_name == "blob":
        return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()
    if shape.type_name == "timestamp":
        kind = shape.serialization.get("timestampFormat", time_format)
        if kind == "unixtimestamp":
            return value.timestamp()
        fraction = ".%f" if getattr(value, "microsecond", 0) else ""
        return value.strftime(
            f"%Y-%m-%dT%H:%M:%S{fraction}Z" if kind == "iso8601" else "%a, %d %b %Y %H:%M:%S GMT"
        )
    return value


def to_xml(shape, value, name):
    kind, flat = shape.type_name, shape.serialization.get("flattened")
    if kind == "structure":
        here = {
            n: m
            for n, m in shape.members.items()
            if value.get(n) is not None and "location" not in m.serialization
        }
        flags = "".join(
            f' {m.serialization["name"]}="{escape(value[n])}"'
            for n, m in here.items()
            if m.serialization.get("xmlAttribute")
        )
        if "xsi:" in flags:
            flags += ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        inner = "".join(
            to_xml(m, value[n], m.serialization.get("name", n))
            for n, m in here.items()
            if not m.serialization.get("xmlAttribute")
        )
        return f"<{name}{flags}>{inner}</{name}>"
    elif kind == "list":
        item = shape.member.serialization.get("name", name if flat else "member")
        inner = "".join(to_xml(shape.member, v, item) for v in value)
        return inner if flat else f"<{name}>{inner}</{name}>"
    elif kind == "map":
        kn, vn = shape.key.serialization.get("name", "key"), shape.value.serialization.get(
            "name", "value"
        )
        entry = name if flat else "entry"
        inner = "".join(
            f"<{entry}>{to_xml(shape.key, k, kn)}{to_xml(shape.value, v, vn)}</{entry}>"
            for k, v in value.items()
        )
        return inner if flat else f"<{name}>{inner}</{name}>"
    else:
        inner = escape(str(wire_text(shape, value, "iso8601")))
    return f"<{name}>{inner}</{name}>"


def to_json(shape, value):
    if shape.serialization.get("jsonvalue") and not isinstance(value, str):
        return json.dumps(value)
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        return {
            m.serialization.get("name", n): to_json(m, value[n])
            for n, m in shape.members.items()
            if value.get(n) is not None and m.serialization.get("location") is None
        }
    if shape.type_name == "list":
        return [to_json(shape.member, v) for v in value]
    if shape.type_name == "map":
        return {k: to_json(shape.value, v) for k, v in value.items()}
    return value if shape.type_name == "boolean" else wire_text(shape, value, "unixtimestamp")


def serialise_output(op, protocol, value):
    """-> (status, headers, body) for an output structure of any of the five protocols."""
    shape, rid, headers = op.output_shape, str(uuid.uuid4()), []
    if protocol in ("ec2", "query"):
        ns = (
            f"http://ec2.amazonaws.com/doc/{op.metadata['apiVersion']}/"
            if protocol == "ec2"
            else op.metadata.get(
                "xmlNamespace", f"https://{op.metadata['endpointPrefix']}.amazonaws.com/doc/"
            )
        )
        wrapper = shape.serialization.get("resultWrapper", "") if shape is not None else ""
        inner = to_xml(shape, value, "X")[3:-4] if shape is not None else ""
        inner = f"<{wrapper}>{inner}</{wrapper}>" if wrapper else inner
        meta = (
            f"<requestId>{rid}</requestId>"
            if protocol == "ec2"
            else f"<ResponseMetadata><RequestId>{rid}</RequestId></ResponseMetadata>"
        )
        body = f'<{op.name}Response xmlns="{ns}">{meta}{inner}</{op.name}Response>'
        return (
            200,
            [("Content-Type", "text/xml;charset=UTF-8"), ("x-amzn-requestid", rid)],
            body.encode(),
        )
    if protocol == "json":
        body = to_json(shape, value) if shape is not None else {}
        headers = [("Content-Type", f"application/x-amz-json-{op.metadata['jsonVersion']}")]
        return 200, headers + [("x-amzn-requestid", rid)], json.dumps(body).encode()
    status, body = op.http.get("responseCode", 200), b""
    payload = shape.serialization.get("payload") if shape is not None else None
    for name, member in (shape.members if shape is not None else {}).items():
        where, wire = member.serialization.get("location"), member.serialization.get("name", name)
        if where == "statusCode":
            status = value.get(name, status)
        elif where == "header" and name in value:
            headers.append((wire, str(wire_text(member, value[name], "rfc822"))))
        elif where == "headers":
            headers += [(wire + k, v) for k, v in value.get(name, {}).items()]
    target, data = (shape.members[payload], value.get(payload)) if payload else (shape, value)
    in_body = payload or any(
        "location" not in m.serialization for m in getattr(shape, "members", {}).values()
    )
    if data is not None and in_body:
        if target.type_name in ("blob", "string"):
            body = data if isinstance(data, bytes) else data.encode()
        elif protocol == "rest-json":
            body = json.dumps(to_json(target, data)).encode()
        else:
            body = to_xml(
                target, data, target.serialization.get("name", payload or op.name + "Result")
            ).encode()
    kind = "application/json" if protocol == "rest-json" else "application/xml"
    return (
        status,
        headers + ([("Content-Type", kind)] if body else []) + [("x-amzn-requestid", rid)],
        body,
    )


def serialise_error(protocol, error):
    rid, code, message = str(uuid.uuid4()), error.code, escape(error.message)
    if protocol == "ec2":
        body = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
            f"<RequestID>{rid}</RequestID></Response>"
        )
    elif protocol == "query":
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
            f"<RequestId>{rid}</RequestId></ErrorResponse>"
        )
    elif protocol == "rest-xml":
        body = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{rid}</RequestId></Error>"
    else:
        body = json.dumps({"__type": code, "message": error.message})
    kind = {"json": "application/x-amz-json-1.1", "rest-json": "application/json"}.get(
        protocol, "text/xml"
    )
    return (
        error.status,
        [("Content-Type", kind), ("x-amzn-ErrorType", code), ("x-amzn-requestid", rid)],
        body.encode(),
    )


# ---------------------------------------------------------------- answers that moto lacks
EKS_KINDS = {
    "Addon": ("Addons", "addonName", "addon", "addons"),
    "AccessEntry": ("AccessEntries", "principalArn", "accessEntry", "accessEntries"),
    "PodIdentityAssociation": (
        "PodIdentityAssociations",
        "associationId",
        "association",
        "associations",
    ),
}


def page(items, p, size_key, token_key):
    """One page of a list, with the next token to merge into the output."""
    if not re.fullmatch(r"\d*", p.get(token_key, "")):
        raise AwsError("InvalidNextToken", f"The token {p[token_key]!r} is not valid")
    start, size = int(p.get(token_key) or 0), p.get(size_key) or 1000
    more = {token_key: str(start + size)} if start + size < len(items) else {}
    return items[start : start + size], more


def filtered(items, filters):
    def values(item, name):
        if name.startswith("tag:"):
            return [t["Value"] for t in item.get("Tags", []) if t["Key"] == name[4:]]
        if name == "tag-key":
            return [t["Key"] for t in item.get("Tags", [])]
        return [str(item.get(name.title().replace("-", ""), ""))]

    return [
        i
        for i in items
        if all(
            any(fnmatch.fnmatchcase(v, w) for v in values(i, f["Name"]) for w in f["Values"])
            for f in filters or []
        )
    ]


class World:
    """The small state. A method named service_Operation answers that operation; None means: ask the upstream."""

    def __init__(self):
        self.objects, self.settings, self.began = collections.defaultdict(dict), {}, NOW()

    def handles(self, service, op):
        names = [n for kind, row in EKS_KINDS.items() for n in (kind, row[0])]
        return (
            service == "eks"
            and re.fullmatch(f"(Create|Describe|List|Delete)({'|'.join(names)})", op.name)
            or hasattr(self, f"{service.replace('-', '_')}_{op.name}")
        )

    def forget_cluster(self, region, name):
        for key in [k for k in self.objects if k[0] == region and name in k[2:3]]:
            del self.objects[key]

    def answer(self, service, op, p, region):
        self.region = region
        m = service == "eks" and re.fullmatch("(Create|Describe|List|Delete)(.*)", op.name)
        for kind, (plural, key, one, many) in EKS_KINDS.items():
            if m and m[2] in (kind, plural):
                return self.eks(m[1], kind, key, one, many, op, p)
        method = getattr(self, f"{service.replace('-', '_')}_{op.name}", None)
        return method(p) if method else None

    def eks(self, verb, kind, key, one, many, op, p):
        store = self.objects[self.region, kind, p["clusterName"]]
        if verb == "List":
            rows = list(store) if kind != "PodIdentityAssociation" else list(store.values())
            rows, more = page(rows, p, "maxResults", "nextToken")
            return {many: rows, **more}
        if verb == "Create":
            ident = p.get(key) or "a-" + uuid.uuid4().hex[:17]
            twin = kind[0] == "P" and any(
                (o["namespace"], o["serviceAccount"]) == (p["namespace"], p["serviceAccount"])
                for o in store.values()
            )
            if ident in store or twin:
                raise AwsError("ResourceInUseException", f"{kind} {ident} already exists", 409)
            path = {
                "Addon": "addon",
                "AccessEntry": "access-entry",
                "PodIdentityAssociation": "podidentityassociation",
            }
            arn = f"arn:aws:eks:{self.region}:{ACCOUNT}:{path[kind]}/{p['clusterName']}/{ident}/{uuid.uuid4()}"
            known = op.output_shape.members[one].members
            base = {
                key: ident,
                "status": "CREATING",
                "health": {"issues": []},
                "createdAt": NOW(),
                "type": "STANDARD",
                "modifiedAt": NOW(),
                "addonVersion": "v1.0.0-eksbuild.1",
                "kubernetesGroups": [],
                "tags": {},
                "username": p.get("principalArn"),
                "addonArn": arn,
                "accessEntryArn": arn,
                "associationArn": arn,
            }
            store[ident] = {k: v for k, v in {**base, **p}.items() if k in known}
            return {one: dict(store[ident])}
        if p[key] not in store:
            raise AwsError("ResourceNotFoundException", f"No {kind} found: {p[key]}", 404)
        if verb == "Delete":
            return {
                one: {**store.pop(p[key]), **({"status": "DELETING"} if kind == "Addon" else {})}
            }
        store[p[key]].update({"status": "ACTIVE"} if kind == "Addon" else {})
        return {one: store[p[key]]}

    def eks_AssociateAccessPolicy(self, p):
        row = {k: p[k] for k in ("policyArn", "accessScope")} | {
            "associatedAt": NOW(),
            "modifiedAt": NOW(),
        }
        self.objects[self.region, "policy", p["clusterName"], p["principalArn"]][
            p["policyArn"]
        ] = row
        return {
            "clusterName": p["clusterName"],
            "principalArn": p["principalArn"],
            "associatedAccessPolicy": row,
        }

    def eks_ListAssociatedAccessPolicies(self, p):
        rows = list(
            self.objects[self.region, "policy", p["clusterName"], p["principalArn"]].values()
        )
        return {
            "clusterName": p["clusterName"],
            "principalArn": p["principalArn"],
            "associatedAccessPolicies": rows,
        }

    def eks_DisassociateAccessPolicy(self, p):
        policies = self.objects[self.region, "policy", p["clusterName"], p["principalArn"]]
        if policies.pop(p["policyArn"], None) is None:
            raise AwsError("ResourceNotFoundException", "The policy is not associated", 404)
        return {}

    def eks_UpdateAccessEntry(self, p):
        entry = self.found("AccessEntry", p, "principalArn")
        entry.update({k: p[k] for k in ("kubernetesGroups", "username") if k in p})
        return {"accessEntry": entry}

    def eks_UpdateAddon(self, p):
        addon = self.found("Addon", p, "addonName")
        known = ("addonVersion", "serviceAccountRoleArn", "configurationValues")
        addon.update({k: p[k] for k in known if k in p})
        return {"update": self.update_of("AddonUpdate")}

    def eks_UpdateNodegroupVersion(self, p):
        return {"update": self.update_of("VersionUpdate")}

    def eks_DescribeUpdate(self, p):
        """Every update has ended well by the time that somebody asks."""
        update = {**self.update_of("ConfigUpdate"), "id": p["updateId"], "status": "Successful"}
        return {"update": update}

    def found(self, kind, p, key):
        store = self.objects[self.region, kind, p["clusterName"]]
        if p[key] not in store:
            raise AwsError("ResourceNotFoundException", f"No {kind} found: {p[key]}", 404)
        return store[p[key]]

    @staticmethod
    def update_of(kind):
        update = {"id": str(uuid.uuid4()), "status": "InProgress", "type": kind}
        return {**update, "params": [], "errors": [], "createdAt": NOW()}

    def eks_DescribeClusterVersions(self, p):
        rows = [
            {
                "clusterVersion": version,
                "defaultVersion": version == "1.36",
                "status": "standard-support",
                "versionStatus": "STANDARD_SUPPORT",
            }
            for version in ("1.36", "1.35", "1.34")
            if version in p.get("clusterVersions", [version])
        ]
        return {"clusterVersions": rows}

    def eks_DescribeAddonVersions(self, p):
        version = {
            "addonVersion": "v1.0.0-eksbuild.1",
            "architecture": ["amd64"],
            "compatibilities": [
                {
                    "clusterVersion": p.get("kubernetesVersion", "1.33"),
                    "platformVersions": ["*"],
                    "defaultVersion": True,
                }
            ],
        }
        return {
            "addons": [
                {
                    "addonName": p.get("addonName", "vpc-cni"),
                    "type": "networking",
                    "addonVersions": [version],
                }
            ]
        }

    def tags_of(self, p, kind):
        return [
            t
            for s in p.get("TagSpecifications", [])
            if s.get("ResourceType") == kind
            for t in s.get("Tags", [])
        ]

    def ec2_CreateCapacityReservation(self, p):
        ident = "cr-" + uuid.uuid4().hex[:17]
        row = {k: p[k] for k in p if k not in ("ClientToken", "TagSpecifications", "DryRun")}
        row |= {
            "CapacityReservationId": ident,
            "OwnerId": ACCOUNT,
            "State": "active",
            "CreateDate": NOW(),
            "CapacityReservationArn": f"arn:aws:ec2:{self.region}:{ACCOUNT}:capacity-reservation/{ident}",
            "TotalInstanceCount": p["InstanceCount"],
            "AvailableInstanceCount": p["InstanceCount"],
            "StartDate": NOW(),
            "Tags": self.tags_of(p, "capacity-reservation"),
        }
        self.objects[self.region, "cr"][ident] = row
        return {"CapacityReservation": row}

    def ec2_DescribeCapacityReservations(self, p):
        rows = self.objects[self.region, "cr"]
        for ident in p.get("CapacityReservationIds", []):
            if ident not in rows:
                raise AwsError("InvalidCapacityReservationId.NotFound", f"{ident} does not exist")
        rows = [r for i, r in rows.items() if i in p.get("CapacityReservationIds", rows)]
        rows, more = page(filtered(rows, p.get("Filters")), p, "MaxResults", "NextToken")
        return {"CapacityReservations": rows, **more}

    def ec2_ModifyCapacityReservation(self, p):
        row = self.objects[self.region, "cr"].get(p["CapacityReservationId"])
        if row is None:
            raise AwsError("InvalidCapacityReservationId.NotFound", "There is no such reservation")
        known = ("EndDate", "EndDateType", "InstanceMatchCriteria")
        row.update({k: p[k] for k in known if k in p})
        if "InstanceCount" in p:
            row["AvailableInstanceCount"] += p["InstanceCount"] - row["TotalInstanceCount"]
            row["TotalInstanceCount"] = p["InstanceCount"]
        return {"Return": True}

    def ec2_GetSpotPlacementScores(self, p):
        regions = p.get("RegionNames", [self.region])
        return {"SpotPlacementScores": [{"Region": r, "Score": 3} for r in regions]}

    def iam_SimulatePrincipalPolicy(self, p):
        denied = self.settings.get("denied", [])
        rows = [
            {
                "EvalActionName": action,
                "EvalResourceName": "*",
                "EvalDecision": "implicitDeny" if action in denied else "allowed",
                "MatchedStatements": [],
                "MissingContextValues": [],
            }
            for action in p["ActionNames"]
        ]
        return {"EvaluationResults": rows, "IsTruncated": False}

    def resource_groups_GroupResources(self, p):
        return {"Succeeded": p["ResourceArns"], "Failed": [], "Pending": []}

    def resource_groups_UngroupResources(self, p):
        return {"Succeeded": p["ResourceArns"], "Failed": [], "Pending": []}

    def ec2_CancelCapacityReservation(self, p):
        row = self.objects[self.region, "cr"].get(p["CapacityReservationId"])
        if row is None:
            raise AwsError(
                "InvalidCapacityReservationId.NotFound",
                f"{p['CapacityReservationId']} does not exist",
            )
        row.update(State="cancelled", AvailableInstanceCount=0)
        return {"Return": True}

    def ec2_CreatePlacementGroup(self, p):
        rows = self.objects[self.region, "pg"]
        if p.get("GroupName") in rows:
            raise AwsError("InvalidPlacementGroup.Duplicate", f"{p['GroupName']} exists")
        ident = "pg-" + uuid.uuid4().hex[:17]
        row = {
            k: p[k] for k in ("GroupName", "Strategy", "PartitionCount", "SpreadLevel") if k in p
        }
        row |= {
            "GroupId": ident,
            "State": "available",
            "Tags": self.tags_of(p, "placement-group"),
            "GroupArn": f"arn:aws:ec2:{self.region}:{ACCOUNT}:placement-group/{p.get('GroupName')}",
        }
        rows[p.get("GroupName")] = row
        return {"PlacementGroup": row}

    def ec2_DescribePlacementGroups(self, p):
        rows = self.objects[self.region, "pg"]
        for name in p.get("GroupNames", []):
            if name not in rows:
                raise AwsError(
                    "InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown."
                )
        rows = [
            r
            for n, r in rows.items()
            if n in p.get("GroupNames", rows) and r["GroupId"] in p.get("GroupIds", [r["GroupId"]])
        ]
        return {"PlacementGroups": filtered(rows, p.get("Filters"))}

    def ec2_DeletePlacementGroup(self, p):
        if self.objects[self.region, "pg"].pop(p["GroupName"], None) is None:
            raise AwsError(
                "InvalidPlacementGroup.Unknown",
                f"The Placement Group '{p['GroupName']}' is unknown.",
            )
        return {}

    def ec2_CreateTags(self, p):
        rows = {
            r.get("CapacityReservationId") or r.get("GroupId"): r
            for k in ("cr", "pg")
            for r in self.objects[self.region, k].values()
        }
        if not all(i in rows for i in p.get("Resources", [])):
            return None
        for row in (rows[i] for i in p["Resources"]):
            row["Tags"] = [
                t for t in row["Tags"] if t["Key"] not in [n["Key"] for n in p["Tags"]]
            ] + p["Tags"]
        return {}

    def ec2_DescribeCapacityBlockOfferings(self, p):
        hours = p.get("CapacityDurationHours", 24)
        default = [
            {
                "CapacityBlockOfferingId": "cb-0123456789abcdef0",
                "InstanceType": p.get("InstanceType"),
                "AvailabilityZone": self.region + "a",
                "InstanceCount": p.get("InstanceCount", 1),
                "StartDate": NOW() + datetime.timedelta(hours=1),
                "CapacityBlockDurationHours": hours,
                "EndDate": NOW() + datetime.timedelta(hours=hours + 1),
                "UpfrontFee": "1000.00",
                "CurrencyCode": "USD",
                "Tenancy": "default",
            }
        ]
        return {"CapacityBlockOfferings": self.settings.get("offerings", default)}

    def pricing_GetProducts(self, p):
        prices = {"g6.12xlarge": "4.6016", "m7i.xlarge": "0.2016"}
        prices |= {k[6:]: v for k, v in self.settings.items() if k.startswith("price:")}
        want, rows = {f["Field"]: f["Value"] for f in p.get("Filters", [])}, []
        for kind, usd in prices.items():
            attributes = {
                "instanceType": kind,
                "regionCode": want.get("regionCode", "us-east-1"),
                "tenancy": "Shared",
                "operatingSystem": "Linux",
                "preInstalledSw": "NA",
                "capacitystatus": "Used",
                "location": want.get("location", "US East (N. Virginia)"),
            }
            if all(attributes.get(k, v) == v for k, v in want.items()):
                sku = kind.replace(".", "").upper()
                dimension = {
                    "unit": "Hrs",
                    "pricePerUnit": {"USD": usd},
                    "rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
                }
                term = {
                    "sku": sku,
                    "offerTermCode": "JRTCKXETXF",
                    "priceDimensions": {dimension["rateCode"]: dimension},
                }
                rows.append(
                    {
                        "product": {
                            "sku": sku,
                            "attributes": attributes,
                            "productFamily": "Compute Instance",
                        },
                        "serviceCode": p["ServiceCode"],
                        "terms": {"OnDemand": {sku + ".JRTCKXETXF": term}},
                    }
                )
        rows, more = page(rows, p, "MaxResults", "NextToken")
        return {"FormatVersion": "aws_v1", "PriceList": rows, **more}

    def autoscaling_DescribeScalingActivities(self, p):
        rows = [
            {
                "ActivityId": str(uuid.uuid4()),
                "AutoScalingGroupName": k[11:],
                "StartTime": self.began,
                **a,
            }
            for k, v in self.settings.items()
            if k.startswith("activities:")
            for a in v
            if p.get("AutoScalingGroupName", k[11:]) == k[11:]
        ]
        rows, more = page(rows, p, "MaxRecords", "NextToken")
        return {"Activities": rows, **more}

    def service_quotas_GetServiceQuota(self, p):
        service, code = p["ServiceCode"], p["QuotaCode"]
        return {
            "Quota": {
                "ServiceCode": service,
                "QuotaCode": code,
                "QuotaName": code,
                "Unit": "None",
                "QuotaArn": f"arn:aws:servicequotas:{self.region}:{ACCOUNT}:{service}/{code}",
                "Value": float(self.settings.get(f"quota:{service}:{code}", 1000)),
                "Adjustable": True,
                "GlobalQuota": False,
            }
        }

    service_quotas_GetAWSDefaultServiceQuota = service_quotas_GetServiceQuota

    def sso_GetRoleCredentials(self, p):
        return {
            "roleCredentials": {
                "accessKeyId": "ASIAJUDGE" + uuid.uuid4().hex[:11].upper(),
                "secretAccessKey": uuid.uuid4().hex,
                "sessionToken": uuid.uuid4().hex,
                "expiration": int(time.time() + 3600) * 1000,
            }
        }


def guess(shape, p, depth=0):
    """An answer for an operation that nobody implements: the parameters echoed into members of the same name."""
    out, given = {}, {k.lower(): v for k, v in p.items()}
    for name, member in (shape.members if shape is not None else {}).items():
        value = given.get(name.lower())
        if type(value) in {"string": (str,), "integer": (int,), "boolean": (bool,)}.get(
            member.type_name, ()
        ):
            out[name] = value
        elif member.type_name == "list":
            out[name] = []
        elif member.type_name == "structure" and depth < 2:
            out[name] = guess(member, p, depth + 1)
    return out
