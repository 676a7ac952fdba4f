"""What botocore finds at an instance metadata service: instance_metadata.py URL → JSON."""

import json
import sys
from botocore.utils import InstanceMetadataFetcher, InstanceMetadataRegionFetcher

config = {"ec2_metadata_service_endpoint": sys.argv[1]}
keys = InstanceMetadataFetcher(num_attempts=1, config=config).retrieve_iam_role_credentials()
region = InstanceMetadataRegionFetcher(num_attempts=1, config=config).retrieve_region()
json.dump({"keys": keys, "region": region}, sys.stdout)
