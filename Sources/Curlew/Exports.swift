// Requests, responses and fields are the types of swift-http-types: whoever imports Curlew has their names.
@_exported public import HTTPTypes
