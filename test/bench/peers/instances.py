"""A page of DescribeInstances for test/bench/aws.lua, and botocore as the one that reads it.

`make FILE N` writes a page of N instances; `parse FILE` prints the nanoseconds of the fastest of five
readings and the peak resident KiB of this process; `idle` the peak of one that only loads botocore.
"""

import resource
import sys
import time

ITEM = """<item><reservationId>r-{n:017x}</reservationId><ownerId>123456789012</ownerId><groupSet/>
<instancesSet><item><instanceId>i-{n:017x}</instanceId><imageId>ami-0abcdef1234567890</imageId>
<instanceState><code>16</code><name>running</name></instanceState>
<privateDnsName>ip-10-42-{b}-{a}.us-east-2.compute.internal</privateDnsName><dnsName/><reason/>
<amiLaunchIndex>0</amiLaunchIndex><productCodes/><instanceType>g6.12xlarge</instanceType>
<launchTime>2026-12-01T10:00:{c:02d}.000Z</launchTime><placement>
<availabilityZone>us-east-2b</availabilityZone><groupName/><tenancy>default</tenancy></placement>
<monitoring><state>disabled</state></monitoring><subnetId>subnet-0123456789abcdef0</subnetId>
<vpcId>vpc-0123456789abcdef0</vpcId><privateIpAddress>10.42.{b}.{a}</privateIpAddress>
<sourceDestCheck>true</sourceDestCheck><groupSet><item><groupId>sg-0123456789abcdef0</groupId>
<groupName>eks-cluster-sg-ray-train</groupName></item><item><groupId>sg-0fedcba9876543210</groupId>
<groupName>ray-train-efa</groupName></item></groupSet><architecture>x86_64</architecture>
<rootDeviceType>ebs</rootDeviceType><rootDeviceName>/dev/xvda</rootDeviceName><blockDeviceMapping>
<item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-{n:017x}</volumeId>
<status>attached</status><attachTime>2026-12-01T10:00:{c:02d}.000Z</attachTime>
<deleteOnTermination>true</deleteOnTermination></ebs></item></blockDeviceMapping>
<virtualizationType>hvm</virtualizationType><clientToken>fleet-{n:x}-0</clientToken><tagSet>
<item><key>Name</key><value>gpu &amp; {n}</value></item>
<item><key>kubernetes.io/cluster/ray-train</key><value>owned</value></item>
<item><key>eks:nodegroup-name</key><value>gpu-use2-az2</value></item>
<item><key>rtl:deployment</key><value>ray-train</value></item></tagSet>
<hypervisor>xen</hypervisor><networkInterfaceSet><item>
<networkInterfaceId>eni-{n:017x}</networkInterfaceId><subnetId>subnet-0123456789abcdef0</subnetId>
<vpcId>vpc-0123456789abcdef0</vpcId><description/><ownerId>123456789012</ownerId>
<status>in-use</status><macAddress>02:9a:ce:4b:{b:02x}:{a:02x}</macAddress>
<privateIpAddress>10.42.{b}.{a}</privateIpAddress><sourceDestCheck>true</sourceDestCheck><groupSet>
<item><groupId>sg-0fedcba9876543210</groupId><groupName>ray-train-efa</groupName></item></groupSet>
<attachment><attachmentId>eni-attach-{n:017x}</attachmentId><deviceIndex>0</deviceIndex>
<status>attached</status><attachTime>2026-12-01T10:00:{c:02d}.000Z</attachTime>
<deleteOnTermination>true</deleteOnTermination><networkCardIndex>0</networkCardIndex></attachment>
<privateIpAddressesSet><item><privateIpAddress>10.42.{b}.{a}</privateIpAddress>
<primary>true</primary></item></privateIpAddressesSet><ipv6AddressesSet/>
<interfaceType>efa</interfaceType></item></networkInterfaceSet><ebsOptimized>true</ebsOptimized>
<enaSupport>true</enaSupport><cpuOptions><coreCount>24</coreCount><threadsPerCore>2</threadsPerCore>
</cpuOptions><hibernationOptions><configured>false</configured></hibernationOptions>
<metadataOptions><state>applied</state><httpTokens>required</httpTokens>
<httpPutResponseHopLimit>2</httpPutResponseHopLimit><httpEndpoint>enabled</httpEndpoint>
</metadataOptions></item></instancesSet></item>"""


def make(path, count):
    rows = "".join(
        ITEM.format(n=n, a=n % 256, b=n // 256 % 256, c=n % 60).replace("\n", "") for n in range(count)
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<DescribeInstancesResponse '
            'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>'
            f"<reservationSet>{rows}</reservationSet></DescribeInstancesResponse>"
        )


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    what, *rest = sys.argv[1:]
    if what == "make":
        return make(rest[0], int(rest[1]))
    import botocore.session
    from botocore.parsers import create_parser

    model = botocore.session.get_session().get_service_model("ec2")
    shape = model.operation_model("DescribeInstances").output_shape
    parser = create_parser("ec2")
    if what == "idle":
        return print(peak())
    with open(rest[0], "rb") as file:
        body = file.read()
    answer = {"body": body, "headers": {}, "status_code": 200}
    times = []
    for _ in range(5):
        start = time.process_time_ns()
        read = parser.parse(answer, shape)
        times.append(time.process_time_ns() - start)
    assert read["Reservations"][-1]["Instances"][0]["InstanceType"] == "g6.12xlarge"
    print(min(times), peak())


main()
