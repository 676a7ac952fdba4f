-- Amazon S3, as far as a checkpoint bucket needs it.
-- The format is described in rtl/aws/model.lua.
return {
  name = "s3", id = "S3", protocol = "rest-xml", version = "2006-03-01",
  xmlns = "http://s3.amazonaws.com/doc/2006-03-01/",
  endpoint = "s3", signing = "s3", actions = "s3",
  hosts = {
    any = {
      dual = "s3.dualstack.{region}.{suffix}", fips = "s3-fips.{region}.{suffix}",
      fips_dual = "s3-fips.dualstack.{region}.{suffix}",
    },
    ["aws-cn"] = { fips = false, fips_dual = false },
  },
  page = { send = "ContinuationToken", receive = "ContinuationToken", size = "MaxBuckets" },
  operations = {
    create_bucket = {
      once = true, method = "PUT", path = "/{Bucket}", payload = "CreateBucketConfiguration",
      header = "ObjectOwnership:(BucketOwnerPreferred|ObjectWriter|BucketOwnerEnforced)"
        .. "@x-amz-object-ownership",
      input = "CreateBucketConfiguration:CreateBucketConfiguration",
      output_header = "Location BucketArn@x-amz-bucket-arn",
    },
    head_bucket = {
      permission = "ListBucket",
      method = "HEAD", path = "/{Bucket}",
      output_header = "BucketArn@x-amz-bucket-arn BucketRegion@x-amz-bucket-region",
    },
    delete_bucket = {
      method = "DELETE", path = "/{Bucket}", status = 204,
    },
    list_buckets = {
      permission = "ListAllMyBuckets",
      method = "GET", path = "/", items = "Buckets",
      query = [[
        MaxBuckets:int(1..10000)@max-buckets ContinuationToken@continuation-token Prefix@prefix
        BucketRegion@bucket-region]],
      output = "Buckets:[Bucket*Bucket] ContinuationToken Prefix",
    },
    put_bucket_tagging = {
      repeatable = true, checksum = true,
      method = "PUT", path = "/{Bucket}?tagging",
      payload = "Tagging",
      input = "Tagging!:Tagging",
    },
    get_bucket_tagging = {
      method = "GET", path = "/{Bucket}?tagging",
      output = "TagSet:[Tag*Tag]",
    },
    list_objects_v2 = {
      permission = "ListBucket",
      method = "GET", path = "/{Bucket}?list-type=2",
      items = "Contents",
      page = {
        send = "ContinuationToken", receive = "NextContinuationToken",
        size = "MaxKeys", more = "IsTruncated",
      },
      query = [[
        Delimiter@delimiter MaxKeys:int@max-keys Prefix@prefix
        ContinuationToken@continuation-token StartAfter@start-after]],
      output = [[
        IsTruncated:bool Contents:[Object]~ Name Prefix Delimiter MaxKeys:int
        CommonPrefixes:[CommonPrefix]~ KeyCount:int ContinuationToken NextContinuationToken
        StartAfter]],
    },
    delete_objects = {
      permission = "DeleteObject",
      checksum = true, method = "POST", path = "/{Bucket}?delete", payload = "Delete",
      input = "Delete!:Delete",
      output = "Deleted:[DeletedObject]~ Errors:[Error]~@Error",
    },
    put_public_access_block = {
      permission = "PutBucketPublicAccessBlock",
      repeatable = true, checksum = true,
      method = "PUT", path = "/{Bucket}?publicAccessBlock",
      payload = "PublicAccessBlockConfiguration",
      input = "PublicAccessBlockConfiguration!:PublicAccessBlockConfiguration",
    },
    get_public_access_block = {
      permission = "GetBucketPublicAccessBlock",
      method = "GET", path = "/{Bucket}?publicAccessBlock",
      output_payload = "PublicAccessBlockConfiguration",
      output = "PublicAccessBlockConfiguration:PublicAccessBlockConfiguration",
    },
    put_bucket_encryption = {
      permission = "PutEncryptionConfiguration",
      repeatable = true, checksum = true,
      method = "PUT", path = "/{Bucket}?encryption",
      payload = "ServerSideEncryptionConfiguration",
      input = "ServerSideEncryptionConfiguration!:ServerSideEncryptionConfiguration",
    },
    get_bucket_encryption = {
      permission = "GetEncryptionConfiguration",
      method = "GET", path = "/{Bucket}?encryption",
      output_payload = "ServerSideEncryptionConfiguration",
      output = "ServerSideEncryptionConfiguration:ServerSideEncryptionConfiguration",
    },
    put_bucket_lifecycle_configuration = {
      permission = "PutLifecycleConfiguration",
      repeatable = true, checksum = true,
      method = "PUT", path = "/{Bucket}?lifecycle",
      payload = "LifecycleConfiguration",
      input = "LifecycleConfiguration:BucketLifecycleConfiguration",
    },
    put_object = {
      repeatable = true, method = "PUT", path = "/{Bucket}/{Key+}", payload = "Body",
      header = "ContentType@Content-Type",
      input = "Body:blob",
      output_header = "ETag VersionId@x-amz-version-id",
    },
    get_object = {
      method = "GET", path = "/{Bucket}/{Key+}", output_payload = "Body",
      query = "VersionId@versionId",
      header = "Range",
      output_header = [[
        ContentLength:int@Content-Length ETag LastModified:time.http@Last-Modified
        ContentType@Content-Type VersionId@x-amz-version-id]],
      output = "Body:blob",
    },
    delete_object = {
      method = "DELETE", path = "/{Bucket}/{Key+}", status = 204,
      query = "VersionId@versionId",
      output_header = "DeleteMarker:bool@x-amz-delete-marker VersionId@x-amz-version-id",
    },
    list_multipart_uploads = {
      permission = "ListBucketMultipartUploads",
      method = "GET", path = "/{Bucket}?uploads",
      query = [[
        Delimiter@delimiter KeyMarker@key-marker MaxUploads:int@max-uploads Prefix@prefix
        UploadIdMarker@upload-id-marker]],
      output = [[
        Bucket KeyMarker UploadIdMarker NextKeyMarker Prefix Delimiter NextUploadIdMarker
        MaxUploads:int IsTruncated:bool Uploads:[MultipartUpload]~@Upload
        CommonPrefixes:[CommonPrefix]~]],
    },
    abort_multipart_upload = {
      repeatable = true, method = "DELETE", path = "/{Bucket}/{Key+}", status = 204,
      query = "UploadId!@uploadId",
    },
    list_object_versions = {
      permission = "ListBucketVersions",
      method = "GET", path = "/{Bucket}?versions",
      query = [[
        Delimiter@delimiter KeyMarker@key-marker MaxKeys:int@max-keys Prefix@prefix
        VersionIdMarker@version-id-marker]],
      output = [[
        IsTruncated:bool KeyMarker VersionIdMarker NextKeyMarker NextVersionIdMarker
        Versions:[ObjectVersion]~@Version DeleteMarkers:[DeleteMarkerEntry]~@DeleteMarker Name
        Prefix Delimiter MaxKeys:int CommonPrefixes:[CommonPrefix]~]],
    },
    get_bucket_versioning = {
      method = "GET", path = "/{Bucket}?versioning",
      output = "Status",
    },
  },
  shapes = {
    AbortIncompleteMultipartUpload = "DaysAfterInitiation:int",
    Bucket = "Name CreationDate:time BucketRegion BucketArn",
    BucketLifecycleConfiguration = "Rules!:[LifecycleRule]~@Rule",
    CommonPrefix = "Prefix",
    CreateBucketConfiguration = "LocationConstraint",
    Delete = "Objects!:[ObjectIdentifier]~@Object Quiet:bool",
    DeleteMarkerEntry = "Key VersionId IsLatest:bool LastModified:time",
    DeletedObject = "Key VersionId DeleteMarker:bool DeleteMarkerVersionId",
    Error = "Key VersionId Code Message",
    LifecycleExpiration = "Date:time Days:int ExpiredObjectDeleteMarker:bool",
    LifecycleRule = [[
      Expiration:LifecycleExpiration ID Filter:LifecycleRuleFilter Status!:(Enabled|Disabled)
      NoncurrentVersionExpiration:NoncurrentVersionExpiration
      AbortIncompleteMultipartUpload:AbortIncompleteMultipartUpload]],
    LifecycleRuleFilter = "Prefix",
    MultipartUpload = "UploadId Key Initiated:time StorageClass",
    NoncurrentVersionExpiration = "NoncurrentDays:int NewerNoncurrentVersions:int",
    Object = "Key LastModified:time ETag Size:int StorageClass",
    ObjectIdentifier = "Key!:string(1..) VersionId ETag LastModifiedTime:time.http Size:int",
    ObjectVersion = "ETag Size:int StorageClass Key VersionId IsLatest:bool LastModified:time",
    PublicAccessBlockConfiguration = [[
      BlockPublicAcls:bool IgnorePublicAcls:bool BlockPublicPolicy:bool RestrictPublicBuckets:bool
    ]],
    ServerSideEncryptionByDefault = [[
      SSEAlgorithm!:(AES256|aws:fsx|aws:backup|aws:kms|aws:kms:dsse) KMSMasterKeyID]],
    ServerSideEncryptionConfiguration = "Rules!:[ServerSideEncryptionRule]~@Rule",
    ServerSideEncryptionRule = [[
      ApplyServerSideEncryptionByDefault:ServerSideEncryptionByDefault BucketKeyEnabled:bool]],
    Tag = "Key!:string(1..) Value!",
    Tagging = "TagSet!:[Tag*Tag]",
  },
  waiters = {
    bucket_exists = { op = "head_bucket", delay = 5, tries = 20,
      { "success", status = 200 },
      { "success", status = 301 },
      { "success", status = 403 },
      { "retry", status = 404 },
    },
    bucket_not_exists = { op = "head_bucket", delay = 5, tries = 20,
      { "success", status = 404 },
    },
  },
  errors = {
    BucketAlreadyExists = 409,
    BucketAlreadyOwnedByYou = 409,
    NoSuchBucket = 404,
    NoSuchUpload = 404,
  },
}
