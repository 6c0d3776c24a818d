// Requests, responses and fields are the types of swift-http-types: whoever imports Curlew has their names.
@_exported public import HTTPTypes

#if !os(Linux)
#error("Curlew runs on Linux; on another system, build it in the devcontainer (.devcontainer/devcontainer.json)")
#endif
