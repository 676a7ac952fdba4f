-- Amazon EC2: network, security groups, templates, instances, capacity.
-- The format is described in rtl/aws/model.lua.
return {
  name = "ec2", id = "EC2", protocol = "ec2query", version = "2016-11-15",
  endpoint = "ec2", signing = "ec2", actions = "ec2",
  -- The documented bucket of most reads: 100 calls, refilled with 20 a second.
  rate = 20,
  xmlns = "http://ec2.amazonaws.com/doc/2016-11-15",
  page = { send = "NextToken", receive = "NextToken", size = "MaxResults" },
  operations = {
    -- Network
    create_vpc = {
      once = true,
      input = [[
        CidrBlock Ipv4NetmaskLength:int InstanceTenancy:(default|dedicated|host)
        AmazonProvidedIpv6CidrBlock:bool TagSpecifications:[TagSpecification]@TagSpecification
        DryRun:bool]],
      output = "Vpc:Vpc",
    },
    describe_vpcs = {
      items = "Vpcs",
      input = [[
        VpcIds:[string]@VpcId Filters:[Filter]@Filter MaxResults:int(5..1000) NextToken
        DryRun:bool]],
      output = "Vpcs:[Vpc]@vpcSet NextToken",
    },
    delete_vpc = {
      input = "VpcId! DryRun:bool",
    },
    modify_vpc_attribute = {
      repeatable = true,
      input = [[
        VpcId! EnableDnsHostnames:AttributeBooleanValue EnableDnsSupport:AttributeBooleanValue
        EnableNetworkAddressUsageMetrics:AttributeBooleanValue]],
    },
    describe_vpc_attribute = {
      input = [[
        Attribute!:(enableDnsSupport|enableDnsHostnames|enableNetworkAddressUsageMetrics) VpcId!
        DryRun:bool]],
      output = [[
        EnableDnsHostnames:AttributeBooleanValue EnableDnsSupport:AttributeBooleanValue
        EnableNetworkAddressUsageMetrics:AttributeBooleanValue VpcId]],
    },
    create_subnet = {
      once = true,
      input = [[
        VpcId! AvailabilityZone AvailabilityZoneId CidrBlock Ipv4NetmaskLength:int
        TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool]],
      output = "Subnet:Subnet",
    },
    describe_subnets = {
      items = "Subnets",
      input = [[
        SubnetIds:[string]@SubnetId Filters:[Filter]@Filter MaxResults:int(5..1000) NextToken
        DryRun:bool]],
      output = "Subnets:[Subnet]@subnetSet NextToken",
    },
    delete_subnet = {
      input = "SubnetId! DryRun:bool",
    },
    modify_subnet_attribute = {
      repeatable = true,
      input = [[
        SubnetId! AssignIpv6AddressOnCreation:AttributeBooleanValue
        MapPublicIpOnLaunch:AttributeBooleanValue
        PrivateDnsHostnameTypeOnLaunch:(ip-name|resource-name)]],
    },

    -- Gateways and addresses
    create_internet_gateway = {
      once = true,
      input = "TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool",
      output = "InternetGateway:InternetGateway",
    },
    describe_internet_gateways = {
      items = "InternetGateways",
      input = [[
        InternetGatewayIds:[string]@InternetGatewayId Filters:[Filter]@Filter
        MaxResults:int(5..1000) NextToken DryRun:bool]],
      output = "InternetGateways:[InternetGateway]@internetGatewaySet NextToken",
    },
    attach_internet_gateway = {
      repeatable = true,
      input = "InternetGatewayId! VpcId! DryRun:bool",
    },
    detach_internet_gateway = {
      repeatable = true,
      input = "InternetGatewayId! VpcId! DryRun:bool",
    },
    delete_internet_gateway = {
      input = "InternetGatewayId! DryRun:bool",
    },
    allocate_address = {
      once = true,
      input = [[
        Domain:(vpc|standard) Address TagSpecifications:[TagSpecification]@TagSpecification
        DryRun:bool]],
      output = "AllocationId Domain PublicIp",
    },
    describe_addresses = {
      input = [[
        PublicIps:[string]@PublicIp AllocationIds:[string]@AllocationId Filters:[Filter]@Filter
        DryRun:bool]],
      output = "Addresses:[Address]@addressesSet",
    },
    release_address = {
      repeatable = true,
      input = "AllocationId PublicIp DryRun:bool",
    },
    disassociate_address = {
      repeatable = true,
      input = "AssociationId PublicIp DryRun:bool",
    },
    create_nat_gateway = {
      input = [[
        AvailabilityMode:(zonal|regional) AllocationId SubnetId VpcId
        ConnectivityType:(private|public) PrivateIpAddress
        TagSpecifications:[TagSpecification]@TagSpecification ClientToken:token DryRun:bool]],
      output = "NatGateway:NatGateway ClientToken",
    },
    describe_nat_gateways = {
      items = "NatGateways",
      input = [[
        NatGatewayIds:[string]@NatGatewayId Filter:[Filter] MaxResults:int(5..1000) NextToken
        DryRun:bool]],
      output = "NatGateways:[NatGateway]@natGatewaySet NextToken",
    },
    delete_nat_gateway = {
      input = "NatGatewayId! DryRun:bool",
      output = "NatGatewayId",
    },

    -- Routes and endpoints
    create_route_table = {
      input = [[
        VpcId! TagSpecifications:[TagSpecification]@TagSpecification ClientToken:token DryRun:bool
      ]],
      output = "RouteTable:RouteTable ClientToken",
    },
    describe_route_tables = {
      items = "RouteTables",
      input = [[
        RouteTableIds:[string]@RouteTableId Filters:[Filter]@Filter MaxResults:int(5..100)
        NextToken DryRun:bool]],
      output = "RouteTables:[RouteTable]@routeTableSet NextToken",
    },
    delete_route_table = {
      input = "RouteTableId! DryRun:bool",
    },
    create_route = {
      repeatable = true,
      input = [[
        RouteTableId! DestinationPrefixListId VpcEndpointId DestinationCidrBlock GatewayId
        DestinationIpv6CidrBlock InstanceId NetworkInterfaceId NatGatewayId DryRun:bool]],
      output = "Return:bool",
    },
    replace_route = {
      repeatable = true,
      input = [[
        RouteTableId! DestinationPrefixListId VpcEndpointId DestinationCidrBlock GatewayId
        DestinationIpv6CidrBlock InstanceId NetworkInterfaceId NatGatewayId DryRun:bool]],
    },
    delete_route = {
      input = [[
        RouteTableId! DestinationPrefixListId DestinationCidrBlock DestinationIpv6CidrBlock
        DryRun:bool]],
    },
    associate_route_table = {
      repeatable = true,
      input = "RouteTableId! GatewayId SubnetId DryRun:bool",
      output = "AssociationId AssociationState:RouteTableAssociationState",
    },
    replace_route_table_association = {
      repeatable = true,
      input = "AssociationId! RouteTableId! DryRun:bool",
      output = "NewAssociationId AssociationState:RouteTableAssociationState",
    },
    disassociate_route_table = {
      repeatable = true,
      input = "AssociationId! DryRun:bool",
    },
    create_vpc_endpoint = {
      input = [[
        VpcId!
        VpcEndpointType:(Interface|Gateway|GatewayLoadBalancer|Resource|ServiceNetwork)
        ServiceName PolicyDocument:json RouteTableIds:[string]@RouteTableId
        SubnetIds:[string]@SubnetId SecurityGroupIds:[string]@SecurityGroupId
        PrivateDnsEnabled:bool TagSpecifications:[TagSpecification]@TagSpecification
        ClientToken:token DryRun:bool]],
      output = "VpcEndpoint:VpcEndpoint ClientToken",
    },
    describe_vpc_endpoints = {
      items = "VpcEndpoints",
      input = [[
        VpcEndpointIds:[string]@VpcEndpointId Filters:[Filter]@Filter MaxResults:int NextToken
        DryRun:bool]],
      output = "VpcEndpoints:[VpcEndpoint]@vpcEndpointSet NextToken",
    },
    modify_vpc_endpoint = {
      repeatable = true,
      input = [[
        VpcEndpointId! ResetPolicy:bool PolicyDocument:json
        AddRouteTableIds:[string]@AddRouteTableId RemoveRouteTableIds:[string]@RemoveRouteTableId
        AddSubnetIds:[string]@AddSubnetId RemoveSubnetIds:[string]@RemoveSubnetId
        AddSecurityGroupIds:[string]@AddSecurityGroupId
        RemoveSecurityGroupIds:[string]@RemoveSecurityGroupId PrivateDnsEnabled:bool DryRun:bool]],
      output = "Return:bool",
    },
    delete_vpc_endpoints = {
      input = "VpcEndpointIds!:[string]@VpcEndpointId DryRun:bool",
      output = "Unsuccessful:[UnsuccessfulItem]",
    },

    -- Security groups
    create_security_group = {
      once = true,
      input = [[
        Description!@GroupDescription GroupName! VpcId
        TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool]],
      output = "GroupId SecurityGroupArn Tags:[Tag]@tagSet",
    },
    describe_security_groups = {
      items = "SecurityGroups",
      input = [[
        GroupIds:[string]@GroupId GroupNames:[string]@GroupName Filters:[Filter]@Filter
        MaxResults:int(5..1000) NextToken DryRun:bool]],
      output = "SecurityGroups:[SecurityGroup]@securityGroupInfo NextToken",
    },
    delete_security_group = {
      input = "GroupId GroupName DryRun:bool",
      output = "Return:bool GroupId",
    },
    authorize_security_group_ingress = {
      repeatable = true,
      input = [[
        CidrIp FromPort:int GroupId GroupName IpPermissions:[IpPermission] IpProtocol ToPort:int
        TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool]],
      output = "Return:bool SecurityGroupRules:[SecurityGroupRule]@securityGroupRuleSet",
    },
    authorize_security_group_egress = {
      repeatable = true,
      input = [[
        GroupId! IpProtocol FromPort:int ToPort:int CidrIp IpPermissions:[IpPermission]
        TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool]],
      output = "Return:bool SecurityGroupRules:[SecurityGroupRule]@securityGroupRuleSet",
    },
    revoke_security_group_ingress = {
      repeatable = true,
      input = [[
        CidrIp FromPort:int GroupId GroupName IpPermissions:[IpPermission] IpProtocol ToPort:int
        SecurityGroupRuleIds:[string]@SecurityGroupRuleId DryRun:bool]],
      output = [[
        Return:bool UnknownIpPermissions:[IpPermission]@unknownIpPermissionSet
        RevokedSecurityGroupRules:[RevokedSecurityGroupRule]@revokedSecurityGroupRuleSet]],
    },
    revoke_security_group_egress = {
      repeatable = true,
      input = [[
        GroupId! SecurityGroupRuleIds:[string]@SecurityGroupRuleId IpProtocol FromPort:int
        ToPort:int CidrIp IpPermissions:[IpPermission] DryRun:bool]],
      output = [[
        Return:bool UnknownIpPermissions:[IpPermission]@unknownIpPermissionSet
        RevokedSecurityGroupRules:[RevokedSecurityGroupRule]@revokedSecurityGroupRuleSet]],
    },
    describe_security_group_rules = {
      items = "SecurityGroupRules",
      input = [[
        SecurityGroupRuleIds:[string]@SecurityGroupRuleId Filters:[Filter]@Filter
        MaxResults:int(5..1000) NextToken DryRun:bool]],
      output = "SecurityGroupRules:[SecurityGroupRule]@securityGroupRuleSet NextToken",
    },

    -- Interfaces
    describe_network_interfaces = {
      items = "NetworkInterfaces",
      input = [[
        NetworkInterfaceIds:[string]@NetworkInterfaceId Filters:[Filter]@Filter
        MaxResults:int(5..1000) NextToken DryRun:bool]],
      output = "NetworkInterfaces:[NetworkInterface]@networkInterfaceSet NextToken",
    },
    detach_network_interface = {
      repeatable = true,
      input = "AttachmentId! Force:bool DryRun:bool",
    },
    delete_network_interface = {
      input = "NetworkInterfaceId! DryRun:bool",
    },

    -- Launch templates
    create_launch_template = {
      input = [[
        LaunchTemplateName! LaunchTemplateData!:RequestLaunchTemplateData
        VersionDescription:string(0..255) TagSpecifications:[TagSpecification]@TagSpecification
        ClientToken:token DryRun:bool]],
      output = "LaunchTemplate:LaunchTemplate Warning:ValidationWarning",
    },
    create_launch_template_version = {
      input = [[
        LaunchTemplateData!:RequestLaunchTemplateData LaunchTemplateId
        LaunchTemplateName:string(3..128) SourceVersion VersionDescription:string(0..255)
        ClientToken:token DryRun:bool]],
      output = "LaunchTemplateVersion:LaunchTemplateVersion Warning:ValidationWarning",
    },
    modify_launch_template = {
      input = [[
        LaunchTemplateId LaunchTemplateName:string(3..128) DefaultVersion@SetDefaultVersion
        ClientToken:token DryRun:bool]],
      output = "LaunchTemplate:LaunchTemplate",
    },
    describe_launch_templates = {
      items = "LaunchTemplates",
      input = [[
        LaunchTemplateIds:[string]@LaunchTemplateId
        LaunchTemplateNames:[string(3..128)]@LaunchTemplateName Filters:[Filter]@Filter
        MaxResults:int(1..200) NextToken DryRun:bool]],
      output = "LaunchTemplates:[LaunchTemplate] NextToken",
    },
    describe_launch_template_versions = {
      items = "LaunchTemplateVersions",
      input = [[
        LaunchTemplateId LaunchTemplateName:string(3..128) Versions:[string]@LaunchTemplateVersion
        MinVersion MaxVersion Filters:[Filter]@Filter MaxResults:int NextToken DryRun:bool]],
      output = "LaunchTemplateVersions:[LaunchTemplateVersion]@launchTemplateVersionSet NextToken",
    },
    delete_launch_template = {
      input = "LaunchTemplateId LaunchTemplateName:string(3..128) DryRun:bool",
      output = "LaunchTemplate:LaunchTemplate",
    },

    -- Instances, types, volumes, images
    describe_instances = {
      items = "Reservations",
      input = [[
        InstanceIds:[string]@InstanceId Filters:[Filter]@Filter MaxResults:int NextToken
        DryRun:bool]],
      output = "Reservations:[Reservation]@reservationSet NextToken",
    },
    describe_instance_types = {
      items = "InstanceTypes",
      input = [[
        InstanceTypes:[string](0..100)@InstanceType Filters:[Filter]@Filter MaxResults:int(5..100)
        NextToken DryRun:bool]],
      output = "InstanceTypes:[InstanceTypeInfo]@instanceTypeSet NextToken",
    },
    describe_instance_type_offerings = {
      items = "InstanceTypeOfferings",
      input = [[
        LocationType:(region|availability-zone|availability-zone-id|outpost)
        Filters:[Filter]@Filter MaxResults:int(5..1000) NextToken DryRun:bool]],
      output = "InstanceTypeOfferings:[InstanceTypeOffering]@instanceTypeOfferingSet NextToken",
    },
    terminate_instances = {
      repeatable = true,
      input = "InstanceIds!:[string]@InstanceId Force:bool SkipOsShutdown:bool DryRun:bool",
      output = "TerminatingInstances:[InstanceStateChange]@instancesSet",
    },
    get_console_output = {
      input = "InstanceId! Latest:bool DryRun:bool",
      output = "InstanceId Timestamp:time Output",
    },
    describe_volumes = {
      items = "Volumes",
      input = [[
        VolumeIds:[string]@VolumeId Filters:[Filter]@Filter MaxResults:int NextToken DryRun:bool]],
      output = "Volumes:[Volume]@volumeSet NextToken",
    },
    delete_volume = {
      input = "VolumeId! DryRun:bool",
    },
    describe_images = {
      items = "Images",
      input = [[
        ExecutableUsers:[string]@ExecutableBy ImageIds:[string]@ImageId Owners:[string]@Owner
        IncludeDeprecated:bool IncludeDisabled:bool Filters:[Filter]@Filter MaxResults:int
        NextToken DryRun:bool]],
      output = "Images:[Image]@imagesSet NextToken",
    },

    -- Regions and zones
    describe_regions = {
      input = "RegionNames:[string]@RegionName AllRegions:bool Filters:[Filter]@Filter DryRun:bool",
      output = "Regions:[Region]@regionInfo",
    },
    describe_availability_zones = {
      input = [[
        ZoneNames:[string]@ZoneName ZoneIds:[string]@ZoneId AllAvailabilityZones:bool
        Filters:[Filter]@Filter DryRun:bool]],
      output = "AvailabilityZones:[AvailabilityZone]@availabilityZoneInfo",
    },
    describe_account_attributes = {
      input = "AttributeNames:[(supported-platforms|default-vpc)]@AttributeName DryRun:bool",
      output = "AccountAttributes:[AccountAttribute]@accountAttributeSet",
    },

    -- Placement and capacity
    create_placement_group = {
      once = true,
      input = [[
        GroupName Strategy:(cluster|spread|partition|precision-time) PartitionCount:int
        SpreadLevel:(host|rack) TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool]],
      output = "PlacementGroup:PlacementGroup",
    },
    describe_placement_groups = {
      input = [[
        GroupIds:[string]@GroupId GroupNames:[string]@GroupName Filters:[Filter]@Filter
        DryRun:bool]],
      output = "PlacementGroups:[PlacementGroup]@placementGroupSet",
    },
    delete_placement_group = {
      input = "GroupName! DryRun:bool",
    },
    create_capacity_reservation = {
      input = [[
        InstanceType! InstancePlatform! InstanceCount!:int AvailabilityZone AvailabilityZoneId
        Tenancy:(default|dedicated) EbsOptimized:bool EphemeralStorage:bool EndDate:time
        EndDateType:(unlimited|limited) InstanceMatchCriteria:(open|targeted) PlacementGroupArn
        StartDate:time CommitmentDuration:int(1..200000000) DeliveryPreference:(fixed|incremental)
        TagSpecifications:[TagSpecification] ClientToken:token DryRun:bool]],
      output = "CapacityReservation:CapacityReservation",
    },
    describe_capacity_reservations = {
      items = "CapacityReservations",
      input = [[
        CapacityReservationIds:[string]@CapacityReservationId Filters:[Filter]@Filter
        MaxResults:int(1..1000) NextToken DryRun:bool]],
      output = "CapacityReservations:[CapacityReservation]@capacityReservationSet NextToken",
    },
    modify_capacity_reservation = {
      repeatable = true,
      input = [[
        CapacityReservationId! InstanceCount:int EndDate:time EndDateType:(unlimited|limited)
        Accept:bool AdditionalInfo InstanceMatchCriteria:(open|targeted) DryRun:bool]],
      output = "Return:bool",
    },
    cancel_capacity_reservation = {
      repeatable = true,
      input = "CapacityReservationId! DryRun:bool",
      output = "Return:bool",
    },
    describe_capacity_block_offerings = {
      items = "CapacityBlockOfferings",
      input = [[
        CapacityDurationHours!:int InstanceType InstanceCount:int StartDateRange:time
        EndDateRange:time AllAvailabilityZones:bool MaxResults:int(1..1000) NextToken DryRun:bool]],
      output = "CapacityBlockOfferings:[CapacityBlockOffering]@capacityBlockOfferingSet NextToken",
    },
    purchase_capacity_block = {
      once = true,
      input = [[
        CapacityBlockOfferingId! InstancePlatform!
        TagSpecifications:[TagSpecification]@TagSpecification DryRun:bool]],
      output = [[
        CapacityReservation:CapacityReservation
        CapacityBlocks:[CapacityBlock]@capacityBlockSet]],
    },
    get_spot_placement_scores = {
      items = "SpotPlacementScores",
      input = [[
        TargetCapacity!:int(1..2000000000) InstanceTypes:[string](0..1000)@InstanceType
        TargetCapacityUnitType:(vcpu|memory-mib|units) SingleAvailabilityZone:bool
        RegionNames:[string](0..10)@RegionName IncludeLocalZones:bool MaxResults:int(10..1000)
        NextToken DryRun:bool]],
      output = "SpotPlacementScores:[SpotPlacementScore]@spotPlacementScoreSet NextToken",
    },
    describe_spot_price_history = {
      items = "SpotPriceHistory",
      input = [[
        AvailabilityZoneId StartTime:time EndTime:time InstanceTypes:[string]@InstanceType
        ProductDescriptions:[string]@ProductDescription AvailabilityZone Filters:[Filter]@Filter
        MaxResults:int NextToken DryRun:bool]],
      output = "SpotPriceHistory:[SpotPrice]@spotPriceHistorySet NextToken",
    },

    -- Tags
    create_tags = {
      repeatable = true,
      input = "Resources!:[string]@ResourceId Tags!:[Tag]@Tag DryRun:bool",
    },
    delete_tags = {
      input = "Resources!:[string]@ResourceId Tags:[Tag]@Tag DryRun:bool",
    },
    describe_tags = {
      items = "Tags",
      input = "Filters:[Filter]@Filter MaxResults:int NextToken DryRun:bool",
      output = "Tags:[TagDescription]@tagSet NextToken",
    },
  },
  shapes = {
    AccountAttribute = "AttributeName AttributeValues:[AccountAttributeValue]@attributeValueSet",
    AccountAttributeValue = "AttributeValue",
    Address = [[
      AllocationId AssociationId Domain NetworkInterfaceId NetworkInterfaceOwnerId
      PrivateIpAddress SubnetId InstanceId PublicIp Tags:[Tag]@tagSet]],
    AttributeBooleanValue = "Value:bool",
    AvailabilityZone = [[
      OptInStatus Messages:[AvailabilityZoneMessage]@messageSet RegionName ZoneName ZoneId
      GroupName ZoneType ParentZoneName ParentZoneId State@zoneState]],
    AvailabilityZoneMessage = "Message",
    BlockDeviceMapping = "Ebs:EbsBlockDevice NoDevice DeviceName VirtualName",
    CapacityBlock = [[
      CapacityBlockId AvailabilityZone AvailabilityZoneId
      CapacityReservationIds:[string]@capacityReservationIdSet StartDate:time EndDate:time
      CreateDate:time State Tags:[Tag]@tagSet]],
    CapacityBlockOffering = [[
      CapacityBlockOfferingId InstanceType AvailabilityZone InstanceCount:int StartDate:time
      EndDate:time CapacityBlockDurationHours:int UpfrontFee CurrencyCode Tenancy
      CapacityBlockDurationMinutes:int ZoneType]],
    CapacityReservation = [[
      CapacityReservationId OwnerId CapacityReservationArn AvailabilityZoneId InstanceType
      InstancePlatform AvailabilityZone Tenancy TotalInstanceCount:int AvailableInstanceCount:int
      EbsOptimized:bool EphemeralStorage:bool State StartDate:time EndDate:time EndDateType
      InstanceMatchCriteria CreateDate:time PlacementGroupArn ReservationType
      CommitmentInfo:CapacityReservationCommitmentInfo DeliveryPreference CapacityBlockId
      Tags:[Tag]@tagSet]],
    CapacityReservationCommitmentInfo = "CommittedInstanceCount:int CommitmentEndDate:time",
    CapacityReservationSpecificationResponse = [[
      CapacityReservationPreference CapacityReservationTarget:CapacityReservationTargetResponse]],
    CapacityReservationTarget = "CapacityReservationId CapacityReservationResourceGroupArn",
    CapacityReservationTargetResponse = "CapacityReservationId CapacityReservationResourceGroupArn",
    DiskInfo = "SizeInGB:int Count:int Type",
    DnsEntry = "DnsName HostedZoneId",
    EbsBlockDevice = [[
      DeleteOnTermination:bool Encrypted:bool Iops:int SnapshotId Throughput:int VolumeSize:int
      VolumeType KmsKeyId]],
    EbsInfo = [[
      EbsOptimizedSupport EncryptionSupport EbsOptimizedInfo:EbsOptimizedInfo NvmeSupport
      MaximumEbsAttachments:int]],
    EbsInstanceBlockDevice = "AttachTime:time DeleteOnTermination:bool Status VolumeId",
    EbsOptimizedInfo = "BaselineBandwidthInMbps:int MaximumBandwidthInMbps:int",
    EfaInfo = "MaximumEfaInterfaces:int",
    Filter = "Name Values:[string]@Value",
    GpuDeviceInfo = "Name Manufacturer Count:int MemoryInfo:GpuDeviceMemoryInfo",
    GpuDeviceMemoryInfo = "SizeInMiB:int",
    GpuInfo = "Gpus:[GpuDeviceInfo] TotalGpuMemoryInMiB:int",
    GroupIdentifier = "GroupId GroupName",
    IamInstanceProfile = "Arn Id",
    Image = [[
      ImageId Name Description State@imageState OwnerId@imageOwnerId CreationDate DeprecationTime
      Architecture RootDeviceName RootDeviceType
      BlockDeviceMappings:[BlockDeviceMapping]@blockDeviceMapping Public:bool@isPublic
      Tags:[Tag]@tagSet]],
    Instance = [[
      InstanceId InstanceType ImageId State:InstanceState@instanceState StateReason:StateReason
      StateTransitionReason@reason InstanceLifecycle LaunchTime:time Placement:Placement SubnetId
      VpcId PrivateIpAddress PrivateDnsName PublicIpAddress@ipAddress
      NetworkInterfaces:[InstanceNetworkInterface]@networkInterfaceSet
      SecurityGroups:[GroupIdentifier]@groupSet IamInstanceProfile:IamInstanceProfile
      BlockDeviceMappings:[InstanceBlockDeviceMapping]@blockDeviceMapping
      MetadataOptions:InstanceMetadataOptionsResponse CapacityReservationId
      CapacityReservationSpecification:CapacityReservationSpecificationResponse CapacityBlockId
      ClientToken Tags:[Tag]@tagSet Architecture]],
    InstanceBlockDeviceMapping = "DeviceName Ebs:EbsInstanceBlockDevice",
    InstanceMetadataOptionsResponse = [[
      State HttpTokens HttpPutResponseHopLimit:int HttpEndpoint HttpProtocolIpv6
      InstanceMetadataTags]],
    InstanceNetworkInterface = [[
      NetworkInterfaceId InterfaceType Description Attachment:InstanceNetworkInterfaceAttachment
      Groups:[GroupIdentifier]@groupSet PrivateIpAddress Status SubnetId VpcId
      SourceDestCheck:bool MacAddress]],
    InstanceNetworkInterfaceAttachment = [[
      AttachTime:time AttachmentId DeleteOnTermination:bool DeviceIndex:int NetworkCardIndex:int
      Status]],
    InstanceState = "Code:int Name",
    InstanceStateChange = "InstanceId CurrentState:InstanceState PreviousState:InstanceState",
    InstanceStorageInfo = "TotalSizeInGB:int Disks:[DiskInfo] NvmeSupport EncryptionSupport",
    InstanceTypeInfo = [[
      InstanceType CurrentGeneration:bool SupportedUsageClasses:[string] BareMetal:bool
      ProcessorInfo:ProcessorInfo VCpuInfo:VCpuInfo MemoryInfo:MemoryInfo
      InstanceStorageSupported:bool InstanceStorageInfo:InstanceStorageInfo EbsInfo:EbsInfo
      NetworkInfo:NetworkInfo GpuInfo:GpuInfo NeuronInfo:NeuronInfo
      PlacementGroupInfo:PlacementGroupInfo]],
    InstanceTypeOffering = "InstanceType LocationType Location",
    InternetGateway = [[
      Attachments:[InternetGatewayAttachment]@attachmentSet InternetGatewayId OwnerId
      Tags:[Tag]@tagSet]],
    InternetGatewayAttachment = "State VpcId",
    IpPermission = [[
      IpProtocol FromPort:int ToPort:int UserIdGroupPairs:[UserIdGroupPair]@groups
      IpRanges:[IpRange] Ipv6Ranges:[Ipv6Range] PrefixListIds:[PrefixListId]
    ]],
    IpRange = "Description CidrIp",
    Ipv6Range = "Description CidrIpv6",
    LastError = "Message Code",
    LaunchTemplate = [[
      LaunchTemplateId LaunchTemplateName CreateTime:time CreatedBy DefaultVersionNumber:int
      LatestVersionNumber:int Tags:[Tag]@tagSet]],
    LaunchTemplateBlockDeviceMapping = [[
      DeviceName VirtualName Ebs:LaunchTemplateEbsBlockDevice NoDevice]],
    LaunchTemplateBlockDeviceMappingRequest = [[
      DeviceName VirtualName Ebs:LaunchTemplateEbsBlockDeviceRequest NoDevice]],
    LaunchTemplateCapacityReservationSpecificationRequest = [[
      CapacityReservationPreference:(capacity-reservations-only|open|none)
      CapacityReservationTarget:CapacityReservationTarget]],
    LaunchTemplateCapacityReservationSpecificationResponse = [[
      CapacityReservationPreference CapacityReservationTarget:CapacityReservationTargetResponse]],
    LaunchTemplateCpuOptions = "CoreCount:int ThreadsPerCore:int",
    LaunchTemplateCpuOptionsRequest = "CoreCount:int ThreadsPerCore:int",
    LaunchTemplateEbsBlockDevice = [[
      Encrypted:bool DeleteOnTermination:bool Iops:int KmsKeyId SnapshotId VolumeSize:int
      VolumeType Throughput:int]],
    LaunchTemplateEbsBlockDeviceRequest = [[
      Encrypted:bool DeleteOnTermination:bool Iops:int KmsKeyId SnapshotId VolumeSize:int
      VolumeType:(standard|io1|io2|gp2|sc1|st1|gp3) Throughput:int]],
    LaunchTemplateIamInstanceProfileSpecification = "Arn Name",
    LaunchTemplateIamInstanceProfileSpecificationRequest = "Arn Name",
    LaunchTemplateInstanceMarketOptions = "MarketType",
    LaunchTemplateInstanceMarketOptionsRequest = [[
      MarketType:(spot|capacity-block|interruptible-capacity-reservation)]],
    LaunchTemplateInstanceMetadataOptions = [[
      State HttpTokens HttpPutResponseHopLimit:int HttpEndpoint HttpProtocolIpv6
      InstanceMetadataTags]],
    LaunchTemplateInstanceMetadataOptionsRequest = [[
      HttpTokens:(optional|required) HttpPutResponseHopLimit:int HttpEndpoint:(disabled|enabled)
      HttpProtocolIpv6:(disabled|enabled) InstanceMetadataTags:(disabled|enabled)]],
    LaunchTemplateNetworkInterface = [[
      DeviceIndex:int NetworkCardIndex:int InterfaceType Groups:[string*groupId]@groupSet SubnetId
      NetworkInterfaceId AssociatePublicIpAddress:bool DeleteOnTermination:bool Description
      PrivateIpAddress]],
    LaunchTemplateNetworkInterfaceRequest = [[
      DeviceIndex:int NetworkCardIndex:int InterfaceType Groups:[string]@SecurityGroupId SubnetId
      NetworkInterfaceId AssociatePublicIpAddress:bool DeleteOnTermination:bool Description
      PrivateIpAddress]],
    LaunchTemplatePlacement = "AvailabilityZone GroupName GroupId Tenancy PartitionNumber:int",
    LaunchTemplatePlacementRequest = [[
      AvailabilityZone GroupName GroupId Tenancy:(default|dedicated|host) PartitionNumber:int]],
    LaunchTemplateTagSpecification = "ResourceType Tags:[Tag]@tagSet",
    LaunchTemplateTagSpecificationRequest = "ResourceType Tags:[Tag]@Tag",
    LaunchTemplateVersion = [[
      LaunchTemplateId LaunchTemplateName VersionNumber:int VersionDescription CreateTime:time
      CreatedBy DefaultVersion:bool LaunchTemplateData:ResponseLaunchTemplateData]],
    LaunchTemplatesMonitoring = "Enabled:bool",
    LaunchTemplatesMonitoringRequest = "Enabled:bool",
    MemoryInfo = "SizeInMiB:int",
    NatGateway = [[
      CreateTime:time DeleteTime:time FailureCode FailureMessage
      NatGatewayAddresses:[NatGatewayAddress]@natGatewayAddressSet NatGatewayId State SubnetId
      VpcId ConnectivityType AvailabilityMode RouteTableId Tags:[Tag]@tagSet]],
    NatGatewayAddress = [[
      AllocationId NetworkInterfaceId PrivateIp PublicIp AssociationId IsPrimary:bool
      FailureMessage Status AvailabilityZone AvailabilityZoneId]],
    NetworkCardInfo = [[
      NetworkCardIndex:int NetworkPerformance MaximumNetworkInterfaces:int
      BaselineBandwidthInGbps:float PeakBandwidthInGbps:float]],
    NetworkInfo = [[
      NetworkPerformance MaximumNetworkInterfaces:int MaximumNetworkCards:int
      DefaultNetworkCardIndex:int NetworkCards:[NetworkCardInfo] Ipv4AddressesPerInterface:int
      EnaSupport EfaSupported:bool EfaInfo:EfaInfo EncryptionInTransitSupported:bool]],
    NetworkInterface = [[
      NetworkInterfaceId InterfaceType Description Status RequesterManaged:bool RequesterId
      Attachment:NetworkInterfaceAttachment Groups:[GroupIdentifier]@groupSet
      Association:NetworkInterfaceAssociation PrivateIpAddress SubnetId VpcId AvailabilityZone
      MacAddress TagSet:[Tag]
    ]],
    NetworkInterfaceAssociation = "AllocationId AssociationId PublicIp IpOwnerId PublicDnsName",
    NetworkInterfaceAttachment = [[
      AttachmentId AttachTime:time DeleteOnTermination:bool DeviceIndex:int NetworkCardIndex:int
      InstanceId InstanceOwnerId Status]],
    NeuronDeviceCoreInfo = "Count:int Version:int",
    NeuronDeviceInfo = [[
      Count:int Name CoreInfo:NeuronDeviceCoreInfo MemoryInfo:NeuronDeviceMemoryInfo]],
    NeuronDeviceMemoryInfo = "SizeInMiB:int",
    NeuronInfo = "NeuronDevices:[NeuronDeviceInfo] TotalNeuronDeviceMemoryInMiB:int",
    Placement = "AvailabilityZone AvailabilityZoneId GroupName GroupId Tenancy PartitionNumber:int",
    PlacementGroup = [[
      GroupName State Strategy PartitionCount:int GroupId GroupArn SpreadLevel Tags:[Tag]@tagSet]],
    PlacementGroupInfo = "SupportedStrategies:[string]",
    PrefixListId = "Description PrefixListId",
    ProcessorInfo = "SupportedArchitectures:[string] SustainedClockSpeedInGhz:float Manufacturer",
    ReferencedSecurityGroup = "GroupId PeeringStatus UserId VpcId",
    Region = "OptInStatus RegionName Endpoint@regionEndpoint",
    RequestLaunchTemplateData = [[
      ImageId InstanceType KeyName
      IamInstanceProfile:LaunchTemplateIamInstanceProfileSpecificationRequest EbsOptimized:bool
      BlockDeviceMappings:[LaunchTemplateBlockDeviceMappingRequest]@BlockDeviceMapping
      NetworkInterfaces:[LaunchTemplateNetworkInterfaceRequest]@NetworkInterface
      SecurityGroupIds:[string]@SecurityGroupId UserData Placement:LaunchTemplatePlacementRequest
      Monitoring:LaunchTemplatesMonitoringRequest
      MetadataOptions:LaunchTemplateInstanceMetadataOptionsRequest
      InstanceMarketOptions:LaunchTemplateInstanceMarketOptionsRequest
      CapacityReservationSpecification:LaunchTemplateCapacityReservationSpecificationRequest
      TagSpecifications:[LaunchTemplateTagSpecificationRequest]@TagSpecification
      CpuOptions:LaunchTemplateCpuOptionsRequest]],
    Reservation = [[
      ReservationId OwnerId RequesterId Groups:[GroupIdentifier]@groupSet
      Instances:[Instance]@instancesSet]],
    ResponseLaunchTemplateData = [[
      ImageId InstanceType KeyName
      IamInstanceProfile:LaunchTemplateIamInstanceProfileSpecification EbsOptimized:bool
      BlockDeviceMappings:[LaunchTemplateBlockDeviceMapping]@blockDeviceMappingSet
      NetworkInterfaces:[LaunchTemplateNetworkInterface]@networkInterfaceSet
      SecurityGroupIds:[string]@securityGroupIdSet UserData Placement:LaunchTemplatePlacement
      Monitoring:LaunchTemplatesMonitoring MetadataOptions:LaunchTemplateInstanceMetadataOptions
      InstanceMarketOptions:LaunchTemplateInstanceMarketOptions
      CapacityReservationSpecification:LaunchTemplateCapacityReservationSpecificationResponse
      TagSpecifications:[LaunchTemplateTagSpecification]@tagSpecificationSet
      CpuOptions:LaunchTemplateCpuOptions]],
    RevokedSecurityGroupRule = [[
      SecurityGroupRuleId GroupId IsEgress:bool IpProtocol FromPort:int ToPort:int CidrIpv4
      CidrIpv6 PrefixListId ReferencedGroupId Description]],
    Route = [[
      DestinationCidrBlock DestinationIpv6CidrBlock DestinationPrefixListId GatewayId InstanceId
      InstanceOwnerId NatGatewayId NetworkInterfaceId Origin State IpAddress]],
    RouteTable = [[
      Associations:[RouteTableAssociation]@associationSet RouteTableId Routes:[Route]@routeSet
      VpcId OwnerId Tags:[Tag]@tagSet]],
    RouteTableAssociation = [[
      Main:bool RouteTableAssociationId RouteTableId SubnetId GatewayId
      AssociationState:RouteTableAssociationState]],
    RouteTableAssociationState = "State StatusMessage",
    SecurityGroup = [[
      GroupId GroupName Description@groupDescription VpcId IpPermissions:[IpPermission]
      IpPermissionsEgress:[IpPermission] OwnerId Tags:[Tag]@tagSet]],
    SecurityGroupIdentifier = "GroupId GroupName",
    SecurityGroupRule = [[
      SecurityGroupRuleId GroupId GroupOwnerId IsEgress:bool IpProtocol FromPort:int ToPort:int
      CidrIpv4 CidrIpv6 PrefixListId ReferencedGroupInfo:ReferencedSecurityGroup Description
      SecurityGroupRuleArn Tags:[Tag]@tagSet]],
    SpotPlacementScore = "Region AvailabilityZoneId Score:int",
    SpotPrice = [[
      AvailabilityZone AvailabilityZoneId InstanceType ProductDescription SpotPrice Timestamp:time
    ]],
    StateReason = "Code Message",
    Subnet = [[
      SubnetId SubnetArn State VpcId CidrBlock AvailableIpAddressCount:int AvailabilityZone
      AvailabilityZoneId DefaultForAz:bool MapPublicIpOnLaunch:bool OwnerId Tags:[Tag]@tagSet]],
    SubnetIpPrefixes = "SubnetId IpPrefixes:[string]@ipPrefixSet",
    Tag = "Key Value",
    TagDescription = "Key ResourceId ResourceType Value",
    TagSpecification = "ResourceType Tags:[Tag]@Tag",
    UnsuccessfulItem = "Error:UnsuccessfulItemError ResourceId",
    UnsuccessfulItemError = "Code Message",
    UserIdGroupPair = "Description UserId GroupName GroupId VpcId PeeringStatus",
    VCpuInfo = "DefaultVCpus:int DefaultCores:int DefaultThreadsPerCore:int",
    ValidationError = "Code Message",
    ValidationWarning = "Errors:[ValidationError]@errorSet",
    Volume = [[
      VolumeId VolumeType Size:int Iops:int Throughput:int Encrypted:bool KmsKeyId SnapshotId
      State@status AvailabilityZone CreateTime:time Attachments:[VolumeAttachment]@attachmentSet
      Tags:[Tag]@tagSet]],
    VolumeAttachment = [[
      DeleteOnTermination:bool VolumeId InstanceId Device State@status AttachTime:time]],
    Vpc = [[
      VpcId State CidrBlock IsDefault:bool InstanceTenancy DhcpOptionsId OwnerId Tags:[Tag]@tagSet
    ]],
    VpcEndpoint = [[
      VpcEndpointId VpcEndpointType VpcId ServiceName State PolicyDocument:json
      RouteTableIds:[string]@routeTableIdSet SubnetIds:[string]@subnetIdSet
      Groups:[SecurityGroupIdentifier]@groupSet PrivateDnsEnabled:bool RequesterManaged:bool
      NetworkInterfaceIds:[string]@networkInterfaceIdSet DnsEntries:[DnsEntry]@dnsEntrySet
      CreationTimestamp:time OwnerId LastError:LastError
      Ipv4Prefixes:[SubnetIpPrefixes]@ipv4PrefixSet FailureReason Tags:[Tag]@tagSet]],
  },
  waiters = {
    instance_exists = { op = "describe_instances", delay = 5, tries = 40,
      { "success", some = "Reservations[]" },
      { "retry", error = "InvalidInstanceID.NotFound" },
    },
    image_exists = { op = "describe_images", delay = 15, tries = 40,
      { "success", some = "Images[]" },
      { "retry", error = "InvalidAMIID.NotFound" },
    },
    image_available = { op = "describe_images", delay = 15, tries = 40,
      { "success", all = "Images[].State", is = "available" },
      { "failure", any = "Images[].State", is = "failed" },
    },
    instance_running = { op = "describe_instances", delay = 15, tries = 40,
      { "success", all = "Reservations[].Instances[].State.Name", is = "running" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "shutting-down" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "terminated" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "stopping" },
      { "retry", error = "InvalidInstanceID.NotFound" },
    },
    instance_stopped = { op = "describe_instances", delay = 15, tries = 40,
      { "success", all = "Reservations[].Instances[].State.Name", is = "stopped" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "pending" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "terminated" },
    },
    instance_terminated = { op = "describe_instances", delay = 15, tries = 40,
      { "success", all = "Reservations[].Instances[].State.Name", is = "terminated" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "pending" },
      { "failure", any = "Reservations[].Instances[].State.Name", is = "stopping" },
    },
    internet_gateway_exists = { op = "describe_internet_gateways", delay = 5, tries = 6,
      { "success", some = "InternetGateways[].InternetGatewayId" },
      { "retry", error = "InvalidInternetGateway.NotFound" },
      { "retry", error = "InvalidInternetGatewayID.NotFound" },
    },
    nat_gateway_available = { op = "describe_nat_gateways", delay = 15, tries = 40,
      { "success", all = "NatGateways[].State", is = "available" },
      { "failure", any = "NatGateways[].State", is = "failed" },
      { "failure", any = "NatGateways[].State", is = "deleting" },
      { "failure", any = "NatGateways[].State", is = "deleted" },
      { "retry", error = "NatGatewayNotFound" },
    },
    nat_gateway_deleted = { op = "describe_nat_gateways", delay = 15, tries = 40,
      { "success", all = "NatGateways[].State", is = "deleted" },
      { "success", error = "NatGatewayNotFound" },
    },
    network_interface_available = { op = "describe_network_interfaces", delay = 20, tries = 10,
      { "success", all = "NetworkInterfaces[].Status", is = "available" },
      { "failure", error = "InvalidNetworkInterfaceID.NotFound" },
    },
    security_group_exists = { op = "describe_security_groups", delay = 5, tries = 6,
      { "success", some = "SecurityGroups[].GroupId" },
      { "retry", error = "InvalidGroup.NotFound" },
    },
    subnet_available = { op = "describe_subnets", delay = 15, tries = 40,
      { "success", all = "Subnets[].State", is = "available" },
    },
    volume_available = { op = "describe_volumes", delay = 15, tries = 40,
      { "success", all = "Volumes[].State", is = "available" },
      { "failure", any = "Volumes[].State", is = "deleted" },
    },
    volume_deleted = { op = "describe_volumes", delay = 15, tries = 40,
      { "success", all = "Volumes[].State", is = "deleted" },
      { "success", error = "InvalidVolume.NotFound" },
    },
    volume_in_use = { op = "describe_volumes", delay = 15, tries = 40,
      { "success", all = "Volumes[].State", is = "in-use" },
      { "failure", any = "Volumes[].State", is = "deleted" },
    },
    vpc_available = { op = "describe_vpcs", delay = 15, tries = 40,
      { "success", all = "Vpcs[].State", is = "available" },
    },
    vpc_exists = { op = "describe_vpcs", delay = 1, tries = 5,
      { "success", status = 200 },
      { "retry", error = "InvalidVpcID.NotFound" },
    },
  },
}
