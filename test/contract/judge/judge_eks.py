"""What EKS does besides its own answers, and moto does not: the cluster's security group, and the
instances of a node group.

The group is a real one in moto, made and deleted with the cluster.  The instances exist only in the
answer of DescribeInstances that asks for a node group's tag; they are what the group's launch
template says, so that a template without its EFA interface shows.  The cluster's own API answers
nobody.
"""

import json
import boto3
from judge import Judge
from judge_state import serialise_output


def values_of(filters, name):
    return next((f["Values"] for f in filters or [] if f["Name"] == name), None)


class EksJudge(Judge):
    def __init__(self, options):
        super().__init__(options)
        self.clusters, self.groups = {}, {}

    def client(self, service, region):
        return boto3.client(
            service,
            region_name=region,
            endpoint_url=self.options.upstream,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def answer(self, req, sig, entry, op, protocol, p):
        region = entry["region"] or "us-east-1"
        if (entry["service"], op.name) == ("ec2", "DescribeInstances"):
            names = values_of(p.get("Filters"), "tag:eks:nodegroup-name")
            if names:
                entry["notes"].append("answered by the judge")
                return serialise_output(op, protocol, self.instances(region, names))
        answer = super().answer(req, sig, entry, op, protocol, p)
        follow = getattr(self, f"after_{op.name}", None)
        if entry["service"] == "eks" and answer[0] < 300 and follow:
            return follow(region, p, answer) or answer
        return answer

    def with_group(self, region, name, answer):
        status, headers, body = answer
        told = json.loads(body)
        known = self.clusters.get((region, name))
        if known:
            told["cluster"]["resourcesVpcConfig"].update(known)
        told["cluster"]["endpoint"] = "https://127.0.0.1:9"  # nobody is there, and that at once
        body = json.dumps(told).encode()
        headers = [(k, v) for k, v in headers if k.lower() != "content-length"]
        return status, [*headers, ("Content-Length", str(len(body)))], body

    def after_CreateCluster(self, region, p, answer):
        ec2, name = self.client("ec2", region), p["name"]
        subnet = p["resourcesVpcConfig"]["subnetIds"][0]
        vpc = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["VpcId"]
        tags = [
            {"Key": f"kubernetes.io/cluster/{name}", "Value": "owned"},
            {"Key": "aws:eks:cluster-name", "Value": name},
        ]
        group = ec2.create_security_group(
            GroupName=f"eks-cluster-sg-{name}-1",
            Description="EKS created security group",
            VpcId=vpc,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
        )
        self.clusters[region, name] = {"clusterSecurityGroupId": group["GroupId"], "vpcId": vpc}
        return self.with_group(region, name, answer)

    def after_DescribeCluster(self, region, p, answer):
        return self.with_group(region, p["name"], answer)

    def after_DeleteCluster(self, region, p, answer):
        known = self.clusters.pop((region, p["name"]), None)
        if known:
            self.client("ec2", region).delete_security_group(
                GroupId=known["clusterSecurityGroupId"]
            )

    def after_CreateNodegroup(self, region, p, answer):
        self.groups[region, p["nodegroupName"]] = p

    def after_DeleteNodegroup(self, region, p, answer):
        self.groups.pop((region, p["nodegroupName"]), None)

    def instances(self, region, names):
        found = [g for (where, name), g in self.groups.items() if where == region and name in names]
        rows = [row for group in found for row in self.instances_of(region, group)]
        return {"Reservations": [{"ReservationId": "r-1", "Instances": rows}] if rows else []}

    def instances_of(self, region, group):
        ec2 = self.client("ec2", region)
        subnet = ec2.describe_subnets(SubnetIds=group["subnets"][:1])["Subnets"][0]
        template = group.get("launchTemplate", {})
        data = ec2.describe_launch_template_versions(
            LaunchTemplateId=template["id"], Versions=[template["version"]]
        )["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        interfaces = [
            {
                "NetworkInterfaceId": f"eni-{i}",
                "InterfaceType": one.get("InterfaceType", "interface"),
                "Groups": [{"GroupId": g, "GroupName": g} for g in one.get("Groups", [])],
            }
            for i, one in enumerate(data.get("NetworkInterfaces", []))
        ]
        return [
            {
                "InstanceId": f"i-{group['nodegroupName']}-{n}",
                "InstanceType": group["instanceTypes"][0],
                "State": {"Code": 16, "Name": "running"},
                "SubnetId": subnet["SubnetId"],
                "VpcId": subnet["VpcId"],
                "Placement": {"AvailabilityZone": subnet["AvailabilityZone"]},
                "NetworkInterfaces": interfaces,
            }
            for n in range(group["scalingConfig"]["desiredSize"])
        ]
