internal import HTTPTypes

struct CacheRules: Sendable {
    init(_ head: HTTPResponse, responseTime: Int64) {}
}
