-- Amazon EKS.
-- The format is described in rtl/aws/model.lua.
return {
  name = "eks", id = "EKS", protocol = "rest-json", version = "2017-11-01",
  endpoint = "eks", signing = "eks", actions = "eks",
  hosts = { aws = { fips = "fips.eks.{region}.{suffix}" } },
  page = { send = "nextToken", receive = "nextToken", size = "maxResults" },
  labels = { clusterName = "string(1..100)" },
  operations = {
    -- Clusters
    create_cluster = {
      method = "POST", path = "/clusters",
      input = [[
        name!:string(1..100) roleArn! resourcesVpcConfig!:VpcConfigRequest version
        kubernetesNetworkConfig:KubernetesNetworkConfigRequest logging:Logging
        accessConfig:CreateAccessConfigRequest bootstrapSelfManagedAddons:bool
        upgradePolicy:UpgradePolicyRequest controlPlaneScalingConfig:ControlPlaneScalingConfig
        tags:{string(1..128)=string(0..256)}(1..50) clientRequestToken:token]],
      output = "cluster:Cluster",
    },
    describe_cluster = {
      method = "GET", path = "/clusters/{name}",
      output = "cluster:Cluster",
    },
    list_clusters = {
      method = "GET", path = "/clusters", items = "clusters",
      query = "include:[string] maxResults:int(1..100) nextToken",
      output = "clusters:[string] nextToken",
    },
    update_cluster_config = {
      method = "POST", path = "/clusters/{name}/update-config",
      input = [[
        resourcesVpcConfig:VpcConfigRequest logging:Logging accessConfig:UpdateAccessConfigRequest
        upgradePolicy:UpgradePolicyRequest kubernetesNetworkConfig:KubernetesNetworkConfigRequest
        controlPlaneScalingConfig:ControlPlaneScalingConfig clientRequestToken:token]],
      output = "update:Update",
    },
    update_cluster_version = {
      method = "POST", path = "/clusters/{name}/updates",
      input = "version! force:bool clientRequestToken:token",
      output = "update:Update",
    },
    delete_cluster = {
      method = "DELETE", path = "/clusters/{name}",
      output = "cluster:Cluster",
    },

    -- Node groups
    create_nodegroup = {
      method = "POST", path = "/clusters/{clusterName}/node-groups",
      input = [[
        nodegroupName! subnets!:[string] nodeRole! scalingConfig:NodegroupScalingConfig
        diskSize:int instanceTypes:[string] amiType labels:{string(1..63)=string(1..63)}
        taints:[Taint] launchTemplate:LaunchTemplateSpecification
        updateConfig:NodegroupUpdateConfig nodeRepairConfig:NodeRepairConfig
        capacityType:(ON_DEMAND|SPOT|CAPACITY_BLOCK) version releaseVersion
        tags:{string(1..128)=string(0..256)}(1..50) clientRequestToken:token]],
      output = "nodegroup:Nodegroup",
    },
    describe_nodegroup = {
      method = "GET", path = "/clusters/{clusterName}/node-groups/{nodegroupName}",
      output = "nodegroup:Nodegroup",
    },
    list_nodegroups = {
      method = "GET", path = "/clusters/{clusterName}/node-groups", items = "nodegroups",
      query = "maxResults:int(1..100) nextToken",
      output = "nodegroups:[string] nextToken",
    },
    update_nodegroup_config = {
      method = "POST", path = "/clusters/{clusterName}/node-groups/{nodegroupName}/update-config",
      input = [[
        labels:UpdateLabelsPayload taints:UpdateTaintsPayload scalingConfig:NodegroupScalingConfig
        updateConfig:NodegroupUpdateConfig nodeRepairConfig:NodeRepairConfig
        clientRequestToken:token]],
      output = "update:Update",
    },
    update_nodegroup_version = {
      method = "POST", path = "/clusters/{clusterName}/node-groups/{nodegroupName}/update-version",
      input = [[
        version releaseVersion launchTemplate:LaunchTemplateSpecification force:bool
        clientRequestToken:token]],
      output = "update:Update",
    },
    delete_nodegroup = {
      method = "DELETE", path = "/clusters/{clusterName}/node-groups/{nodegroupName}",
      output = "nodegroup:Nodegroup",
    },

    -- Add-ons
    create_addon = {
      method = "POST", path = "/clusters/{clusterName}/addons",
      input = [[
        addonName! addonVersion serviceAccountRoleArn:string(1..255)
        resolveConflicts:(OVERWRITE|NONE|PRESERVE) configurationValues:json
        podIdentityAssociations:[AddonPodIdentityAssociations]
        namespaceConfig:AddonNamespaceConfigRequest tags:{string(1..128)=string(0..256)}(1..50)
        clientRequestToken:token]],
      output = "addon:Addon",
    },
    describe_addon = {
      method = "GET", path = "/clusters/{clusterName}/addons/{addonName}",
      output = "addon:Addon",
    },
    list_addons = {
      method = "GET", path = "/clusters/{clusterName}/addons", items = "addons",
      query = "maxResults:int(1..100) nextToken",
      output = "addons:[string] nextToken",
    },
    update_addon = {
      method = "POST", path = "/clusters/{clusterName}/addons/{addonName}/update",
      input = [[
        addonVersion serviceAccountRoleArn:string(1..255)
        resolveConflicts:(OVERWRITE|NONE|PRESERVE) configurationValues:json
        podIdentityAssociations:[AddonPodIdentityAssociations] clientRequestToken:token]],
      output = "update:Update",
    },
    delete_addon = {
      method = "DELETE", path = "/clusters/{clusterName}/addons/{addonName}",
      query = "preserve:bool",
      output = "addon:Addon",
    },
    describe_addon_versions = {
      method = "GET", path = "/addons/supported-versions", items = "addons",
      query = [[
        kubernetesVersion addonName types:[string] publishers:[string] owners:[string]
        maxResults:int(1..100) nextToken]],
      output = "addons:[AddonInfo] nextToken",
    },
    describe_addon_configuration = {
      method = "GET", path = "/addons/configuration-schemas",
      query = "addonName! addonVersion!",
      output = [[
        addonName addonVersion configurationSchema:json
        podIdentityConfiguration:[AddonPodIdentityConfiguration]
      ]],
    },

    -- Access entries
    create_access_entry = {
      method = "POST", path = "/clusters/{clusterName}/access-entries",
      input = [[
        principalArn! kubernetesGroups:[string] username type
        tags:{string(1..128)=string(0..256)}(1..50) clientRequestToken:token]],
      output = "accessEntry:AccessEntry",
    },
    describe_access_entry = {
      method = "GET", path = "/clusters/{clusterName}/access-entries/{principalArn}",
      output = "accessEntry:AccessEntry",
    },
    list_access_entries = {
      method = "GET", path = "/clusters/{clusterName}/access-entries", items = "accessEntries",
      query = "associatedPolicyArn maxResults:int(1..100) nextToken",
      output = "accessEntries:[string] nextToken",
    },
    update_access_entry = {
      method = "POST", path = "/clusters/{clusterName}/access-entries/{principalArn}",
      input = "kubernetesGroups:[string] username clientRequestToken:token",
      output = "accessEntry:AccessEntry",
    },
    delete_access_entry = {
      method = "DELETE", path = "/clusters/{clusterName}/access-entries/{principalArn}",
    },
    associate_access_policy = {
      repeatable = true,
      method = "POST",
      path = "/clusters/{clusterName}/access-entries/{principalArn}/access-policies",
      input = "policyArn! accessScope!:AccessScope",
      output = "clusterName principalArn associatedAccessPolicy:AssociatedAccessPolicy",
    },
    disassociate_access_policy = {
      repeatable = true,
      method = "DELETE",
      path = "/clusters/{clusterName}/access-entries/{principalArn}/access-policies/{policyArn}",
    },
    list_associated_access_policies = {
      method = "GET",
      path = "/clusters/{clusterName}/access-entries/{principalArn}/access-policies",
      items = "associatedAccessPolicies",
      query = "maxResults:int(1..100) nextToken",
      output = [[
        clusterName principalArn associatedAccessPolicies:[AssociatedAccessPolicy] nextToken]],
    },

    -- Pod identity
    create_pod_identity_association = {
      method = "POST", path = "/clusters/{clusterName}/pod-identity-associations",
      input = [[
        namespace! serviceAccount! roleArn! policy:json tags:{string(1..128)=string(0..256)}(1..50)
        clientRequestToken:token]],
      output = "association:PodIdentityAssociation",
    },
    describe_pod_identity_association = {
      method = "GET", path = "/clusters/{clusterName}/pod-identity-associations/{associationId}",
      output = "association:PodIdentityAssociation",
    },
    list_pod_identity_associations = {
      method = "GET", path = "/clusters/{clusterName}/pod-identity-associations",
      items = "associations",
      query = "namespace serviceAccount maxResults:int(1..100) nextToken",
      output = "associations:[PodIdentityAssociationSummary] nextToken",
    },
    update_pod_identity_association = {
      method = "POST", path = "/clusters/{clusterName}/pod-identity-associations/{associationId}",
      input = "roleArn policy:json clientRequestToken:token",
      output = "association:PodIdentityAssociation",
    },
    delete_pod_identity_association = {
      method = "DELETE", path = "/clusters/{clusterName}/pod-identity-associations/{associationId}",
      output = "association:PodIdentityAssociation",
    },

    -- Updates, versions, tags
    describe_update = {
      method = "GET", path = "/clusters/{name}/updates/{updateId}",
      query = "nodegroupName addonName",
      output = "update:Update",
    },
    list_updates = {
      method = "GET", path = "/clusters/{name}/updates", items = "updateIds",
      query = "nodegroupName addonName maxResults:int(1..100) nextToken",
      output = "updateIds:[string] nextToken",
    },
    describe_cluster_versions = {
      method = "GET", path = "/cluster-versions", items = "clusterVersions",
      query = [[
        clusterType defaultOnly:bool includeAll:bool clusterVersions:[string]
        status:(unsupported|standard-support|extended-support)
        versionStatus:(UNSUPPORTED|STANDARD_SUPPORT|EXTENDED_SUPPORT) maxResults:int(1..100)
        nextToken]],
      output = "clusterVersions:[ClusterVersionInformation] nextToken",
    },
    tag_resource = {
      repeatable = true, method = "POST", path = "/tags/{resourceArn}",
      input = "tags!:{string(1..128)=string(0..256)}(1..50)",
    },
    untag_resource = {
      repeatable = true, method = "DELETE", path = "/tags/{resourceArn}",
      query = "tagKeys!:[string(1..128)](1..50)",
    },
    list_tags_for_resource = {
      method = "GET", path = "/tags/{resourceArn}",
      output = "tags:{string}",
    },
  },
  shapes = {
    AccessConfigResponse = "bootstrapClusterCreatorAdminPermissions:bool authenticationMode",
    AccessEntry = [[
      clusterName principalArn kubernetesGroups:[string] accessEntryArn createdAt:time
      modifiedAt:time username type tags:{string}]],
    AccessScope = "type:(cluster|namespace) namespaces:[string]",
    Addon = [[
      addonName clusterName status addonVersion health:AddonHealth addonArn createdAt:time
      modifiedAt:time serviceAccountRoleArn publisher owner configurationValues:json
      podIdentityAssociations:[string] namespaceConfig:AddonNamespaceConfigResponse tags:{string}]],
    AddonHealth = "issues:[AddonIssue]",
    AddonInfo = "addonName type addonVersions:[AddonVersionInfo] publisher owner defaultNamespace",
    AddonIssue = "code message resourceIds:[string]",
    AddonNamespaceConfigRequest = "namespace:string(1..63)",
    AddonNamespaceConfigResponse = "namespace",
    AddonPodIdentityAssociations = "serviceAccount! roleArn!",
    AddonPodIdentityConfiguration = "serviceAccount recommendedManagedPolicies:[string]",
    AddonVersionInfo = [[
      addonVersion architecture:[string] computeTypes:[string] compatibilities:[Compatibility]
      requiresConfiguration:bool requiresIamPermissions:bool]],
    AssociatedAccessPolicy = "policyArn accessScope:AccessScope associatedAt:time modifiedAt:time",
    AutoScalingGroup = "name",
    Certificate = "data",
    Cluster = [[
      name arn createdAt:time version endpoint roleArn resourcesVpcConfig:VpcConfigResponse
      kubernetesNetworkConfig:KubernetesNetworkConfigResponse logging:Logging identity:Identity
      status certificateAuthority:Certificate platformVersion id health:ClusterHealth
      accessConfig:AccessConfigResponse upgradePolicy:UpgradePolicyResponse
      controlPlaneScalingConfig:ControlPlaneScalingConfig tags:{string} clientRequestToken]],
    ClusterHealth = "issues:[ClusterIssue]",
    ClusterIssue = "code message resourceIds:[string]",
    ClusterVersionInformation = [[
      clusterVersion clusterType defaultPlatformVersion defaultVersion:bool releaseDate:time
      endOfStandardSupportDate:time endOfExtendedSupportDate:time status versionStatus
      kubernetesPatchVersion]],
    Compatibility = "clusterVersion platformVersions:[string] defaultVersion:bool",
    ControlPlaneScalingConfig = "tier:(standard|tier-xl|tier-2xl|tier-4xl|tier-8xl)",
    CreateAccessConfigRequest = [[
      bootstrapClusterCreatorAdminPermissions:bool
      authenticationMode:(API|API_AND_CONFIG_MAP|CONFIG_MAP)]],
    ErrorDetail = "errorCode errorMessage resourceIds:[string]",
    Identity = "oidc:OIDC",
    Issue = "code message resourceIds:[string]",
    KubernetesNetworkConfigRequest = "serviceIpv4Cidr ipFamily:(ipv4|ipv6)",
    KubernetesNetworkConfigResponse = "serviceIpv4Cidr serviceIpv6Cidr ipFamily",
    LaunchTemplateSpecification = "name version id",
    LogSetup = "types:[(api|audit|authenticator|controllerManager|scheduler)] enabled:bool",
    Logging = "clusterLogging:[LogSetup]",
    NodeRepairConfig = [[
      enabled:bool maxUnhealthyNodeThresholdCount:int(1..)
      maxUnhealthyNodeThresholdPercentage:int(1..100) maxParallelNodesRepairedCount:int(1..)
      maxParallelNodesRepairedPercentage:int(1..100)]],
    Nodegroup = [[
      nodegroupName nodegroupArn clusterName version releaseVersion createdAt:time modifiedAt:time
      status capacityType scalingConfig:NodegroupScalingConfig instanceTypes:[string]
      subnets:[string] amiType nodeRole labels:{string} taints:[Taint]
      resources:NodegroupResources diskSize:int health:NodegroupHealth
      updateConfig:NodegroupUpdateConfig nodeRepairConfig:NodeRepairConfig
      launchTemplate:LaunchTemplateSpecification tags:{string}]],
    NodegroupHealth = "issues:[Issue]",
    NodegroupResources = "autoScalingGroups:[AutoScalingGroup]",
    NodegroupScalingConfig = "minSize:int(0..) maxSize:int(1..) desiredSize:int(0..)",
    NodegroupUpdateConfig = [[
      maxUnavailable:int(1..) maxUnavailablePercentage:int(1..100) updateStrategy:(DEFAULT|MINIMAL)
    ]],
    OIDC = "issuer",
    PodIdentityAssociation = [[
      clusterName namespace serviceAccount roleArn associationArn associationId createdAt:time
      modifiedAt:time policy:json tags:{string}]],
    PodIdentityAssociationSummary = [[
      clusterName namespace serviceAccount associationArn associationId]],
    Taint = [[
      key:string(1..63) value:string(0..63) effect:(NO_SCHEDULE|NO_EXECUTE|PREFER_NO_SCHEDULE)]],
    Update = "id status type params:[UpdateParam] createdAt:time errors:[ErrorDetail]",
    UpdateAccessConfigRequest = "authenticationMode:(API|API_AND_CONFIG_MAP|CONFIG_MAP)",
    UpdateLabelsPayload = "addOrUpdateLabels:{string(1..63)=string(1..63)} removeLabels:[string]",
    UpdateParam = "type value",
    UpdateTaintsPayload = "addOrUpdateTaints:[Taint] removeTaints:[Taint]",
    UpgradePolicyRequest = "supportType:(STANDARD|EXTENDED)",
    UpgradePolicyResponse = "supportType",
    VpcConfigRequest = [[
      subnetIds:[string] securityGroupIds:[string] endpointPublicAccess:bool
      endpointPrivateAccess:bool publicAccessCidrs:[string]
    ]],
    VpcConfigResponse = [[
      subnetIds:[string] securityGroupIds:[string] clusterSecurityGroupId vpcId
      endpointPublicAccess:bool endpointPrivateAccess:bool publicAccessCidrs:[string]
    ]],
  },
  waiters = {
    cluster_active = { op = "describe_cluster", delay = 30, tries = 40,
      { "failure", path = "cluster.status", is = "DELETING" },
      { "failure", path = "cluster.status", is = "FAILED" },
      { "success", path = "cluster.status", is = "ACTIVE" },
    },
    cluster_deleted = { op = "describe_cluster", delay = 30, tries = 40,
      { "failure", path = "cluster.status", is = "ACTIVE" },
      { "failure", path = "cluster.status", is = "CREATING" },
      { "failure", path = "cluster.status", is = "PENDING" },
      { "success", error = "ResourceNotFoundException" },
    },
    nodegroup_active = { op = "describe_nodegroup", delay = 30, tries = 80,
      { "failure", path = "nodegroup.status", is = "CREATE_FAILED" },
      { "failure", path = "nodegroup.status", is = "DELETING" },
      { "failure", path = "nodegroup.status", is = "DELETE_FAILED" },
      { "success", path = "nodegroup.status", is = "ACTIVE" },
    },
    nodegroup_deleted = { op = "describe_nodegroup", delay = 30, tries = 40,
      { "failure", path = "nodegroup.status", is = "DELETE_FAILED" },
      { "success", error = "ResourceNotFoundException" },
    },
    addon_active = { op = "describe_addon", delay = 10, tries = 60,
      { "failure", path = "addon.status", is = "CREATE_FAILED" },
      { "failure", path = "addon.status", is = "UPDATE_FAILED" },
      { "failure", path = "addon.status", is = "DELETING" },
      { "failure", path = "addon.status", is = "DELETE_FAILED" },
      { "success", path = "addon.status", is = "ACTIVE" },
    },
    addon_deleted = { op = "describe_addon", delay = 10, tries = 60,
      { "failure", path = "addon.status", is = "DELETE_FAILED" },
      { "success", error = "ResourceNotFoundException" },
    },
  },
  errors = {
    NotFoundException = 404,
    ResourceInUseException = 409,
    ResourceNotFoundException = 404,
    ServerException = 500,
    ServiceUnavailableException = 503,
    ThrottlingException = 429,
  },
}
