"""Where botocore's endpoint rules say that services are (names of services as JSON on stdin).

Prints, for each service, region and variant, the URL, the signing region and name, or what is wrong.
"""

import json
import sys
import botocore.exceptions
import botocore.session
from botocore.endpoint_provider import EndpointProvider

session = botocore.session.get_session()
loader = session.get_component("data_loader")
partitions = loader.load_data("partitions")


# Buckets whose names can and can't stand in a host name.
BUCKETS = ["my-bucket", "my.bucket", "MyBucket", "a_b", "xyz"]


def resolve(provider, model, region, fips, dual, bucket=None):
    wanted = {"Region": region, "UseFIPS": fips, "UseDualStack": dual}
    if bucket:
        wanted["Bucket"] = bucket
    if model.service_name == "sts":
        wanted["UseGlobalEndpoint"] = False
    try:
        found = provider.resolve_endpoint(**wanted)
    except botocore.exceptions.EndpointProviderError as refusal:
        return {"error": str(refusal)}
    schemes = [s for s in found.properties.get("authSchemes", []) if s["name"] == "sigv4"]
    scheme = schemes[0] if schemes else {}
    return {
        "url": found.url,
        "region": scheme.get("signingRegion", region),
        "name": scheme.get("signingName", model.signing_name),
    }


def endpoints(name):
    model = session.get_service_model(name)
    provider = EndpointProvider(
        loader.load_service_model(name, "endpoint-rule-set-1"), partitions
    )
    for partition in partitions["partitions"]:
        for region in partition["regions"]:
            if region.endswith("-global"):
                continue  # a name of botocore's for 'no region'
            for fips in (False, True):
                for dual in (False, True):
                    for bucket in [None, *BUCKETS] if name == "s3" else [None]:
                        yield {
                            "partition": partition["id"],
                            "in": region,
                            "fips": fips,
                            "dual": dual,
                            **({"bucket": bucket} if bucket else {}),
                            **resolve(provider, model, region, fips, dual, bucket),
                        }


print(json.dumps({name: list(endpoints(name)) for name in json.load(sys.stdin)}))
