"""boto3 as the peer of test/bench/aws.lua: `calls.py URL COUNT THREADS` (0: one call after another).
Prints wall and CPU nanoseconds of all calls together; the client is made and warm before."""

import concurrent.futures
import sys
import time
import boto3
from botocore.config import Config


def main():
    url, count, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = boto3.client(
        "ec2",
        region_name="us-east-2",
        endpoint_url=url,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=Config(max_pool_connections=max(threads, 1)),
    )

    def call(_):
        assert client.describe_vpcs()["Vpcs"][1]["VpcId"] == "vpc-1"

    call(0)
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    if threads:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(call, range(count)))
    else:
        for i in range(count):
            call(i)
    print(time.perf_counter_ns() - wall, time.process_time_ns() - cpu)


main()
