internal import Curlew

extension FieldRule {
    /// The fields about the route and the limits of a request.
    static let carriage: [FieldRule] = [
        FieldRule("timeout_ms") { field, order in order.options.totalTimeout = try field.milliseconds() },
        FieldRule("connect_timeout_ms") { field, order in order.options.connectTimeout = try field.milliseconds() },
        FieldRule("idle_timeout_ms") { field, order in order.options.idleTimeout = try field.milliseconds() },
        FieldRule("http_version") { field, order in
            let word = try field.string()
            guard let version = Order.Version(rawValue: word), version != .negotiated else {
                throw LineProblem.unsupported("http_version \(word)")
            }
            order.version = version
        },
        FieldRule("resolve") { field, order in order.hosts = try field.strings().map { try RouteText.override($0) } },
        FieldRule("connect_to") { field, order in
            order.redirections = try field.strings().map { try RouteText.connectTo($0) }
        },
        FieldRule("unix_socket") { field, order in order.unixSocket = try field.string() },
        FieldRule("proxy") { field, order in order.proxy = try field.string() },
        FieldRule("proxy_auth") { field, order in order.proxyLogin = try ProxyLogin(field) },
        FieldRule("address_policy") { field, order in
            switch try field.string() {
            case "any": order.options.addressPolicy = .any
            case "public": order.options.addressPolicy = .publicOnly
            case let word: throw LineProblem.unsupported("address_policy \(word)")
            }
        },
    ]
}
