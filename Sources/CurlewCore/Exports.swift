// Requests, responses and fields are the types of swift-http-types: a program that imports Curlew has their names, and
// those of CurlewJSON. CurlewSupport has names for the package alone; every file of Curlew sees them.
@_exported public import CurlewJSON
@_exported public import CurlewSupport
@_exported public import HTTPTypes
