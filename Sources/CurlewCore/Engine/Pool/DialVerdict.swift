internal import CurlewPlatform

extension DialFailure {
    /// True if the process or the system has no descriptor for another socket.
    var isLackOfDescriptors: Bool {
        if case .noDescriptor(let number) = self { number == EMFILE || number == ENFILE } else { false }
    }

    /// The error of an exchange that received no connection.
    func error(for request: PreparedRequest) -> CurlewError {
        let proxy = request.options.values.proxy
        let place = proxy.map { "the proxy \($0.host):\($0.port)" } ?? request.place
        let limit = request.timeouts.connect
        switch self {
        case .name(let failure):
            let name = proxy.map { _ in place } ?? request.options.dialHost(for: request.uri)
            return CurlewError(
                proxy == nil ? .hostNotFound : .proxyNotFound, "no address was found for \(name): \(failure.words)")
        case .forbidden(let address):
            return CurlewError(
                .addressForbidden,
                "the address policy forbids \(Self.words(address, request)) for \(request.uri.host)")
        case .connect(let number, _):
            return CurlewError(
                Self.code(number, isProxied: proxy != nil), EngineFailure.connectSentence(to: place, number))
        case .noDescriptor(let number):
            return CurlewError(.resourcesExhausted, EngineFailure.connectSentence(to: place, number))
        case .unwatchable(let error), .unusable(let error): return error
        case .timeout:
            return CurlewError(
                .connectTimeout,
                proxy == nil
                    ? "no connection to \(place) within \(limit.text)"
                    : "no connection through \(place) within \(limit.text)")
        case .interface(let words): return CurlewError(.connectionFailed, words)
        }
    }

    private static func words(_ address: SocketAddress, _ request: PreparedRequest) -> String {
        address.ip.map { "\($0)" } ?? "the Unix socket \(request.options.values.route.unixSocket ?? "")"
    }

    private static func code(_ number: Int32, isProxied: Bool) -> ErrorCode {
        if isProxied { return .proxyFailed }
        return switch number {
        case ECONNREFUSED: .connectionRefused
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: .resourcesExhausted
        default: .connectionFailed
        }
    }
}

extension PreparedRequest {
    /// The destination of the request, for an error message.
    var place: String {
        let socket = options.values.route.unixSocket
        return socket.map { "the socket \($0)" } ?? "\(uri.host):\(uri.port)"
    }
}
