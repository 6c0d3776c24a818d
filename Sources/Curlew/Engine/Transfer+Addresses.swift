internal import CLibcurl
internal import Glibc

extension Transfer {
    /// Whether a socket may be made towards the address. Those of a proxy are the configuration's own choice; what the proxy
    /// is asked for is judged by ``ConnectionOptions/checkTarget(_:)``.
    func mayConnect(to address: UnsafePointer<curl_sockaddr>) -> Bool {
        // The attempt will be refused, so there is no use in a connection.
        guard refusal == nil else { return false }
        guard request.options.judgesAddresses else {
            hasTriedAddress = true
            return true
        }
        let policy = request.options.values.addressPolicy
        let isPermitted: Bool
        let name: String
        if let peer = Self.address(at: address) {
            isPermitted = policy.permits(peer)
            name = "\(peer)"
        } else {
            isPermitted = address.pointee.family == AF_UNIX && policy.permitsUnixSockets
            name = socketName
        }
        if isPermitted { hasTriedAddress = true } else { forbidden = name }
        return isPermitted
    }

    /// Whether the request may go over a connection to this peer: one that is kept may have been opened under another policy.
    func mayUse(peer: UnsafePointer<CChar>?) -> Bool {
        guard request.options.judgesAddresses else { return true }
        let policy = request.options.values.addressPolicy
        let isPermitted: Bool
        if request.options.values.route.unixSocket != nil {
            isPermitted = policy.permitsUnixSockets
        } else {
            isPermitted = peer.map { policy.permits(String(cString: $0)) } ?? false
        }
        guard !isPermitted else { return true }
        forbidden = request.options.values.route.unixSocket == nil ? peer.map { String(cString: $0) } : socketName
        // The host may have other addresses; if it has not, no second connection comes about.
        if isReused, !attempt.isFresh { refusal = .forbiddenAddress } else { failure = addressError() }
        return false
    }

    private var socketName: String { "the Unix socket \(request.options.values.route.unixSocket ?? "")" }

    /// What the policy has to say about an attempt that failed.
    func addressVerdict(on result: CURLcode, _ context: CurlewError.Context) -> CurlewError? {
        let isRefused = refusal == .forbiddenAddress || (result == CURLE_COULDNT_CONNECT && !hasTriedAddress)
        guard forbidden != nil, isRefused else { return nil }
        return addressError(context)
    }

    private func addressError(_ context: CurlewError.Context = CurlewError.Context()) -> CurlewError {
        CurlewError(
            .addressForbidden,
            "the address policy forbids \(forbidden ?? "the address") for \(request.uri.host)", context: context)
    }

    /// The bytes behind `family` and `addrlen` are a `sockaddr` of that family; there are `addrlen` of them, though the
    /// structure declares fewer.
    private static func address(at pointer: UnsafePointer<curl_sockaddr>) -> IPAddress? {
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(pointer).advanced(by: offset), count: Int(pointer.pointee.addrlen))
        // Where the address stands in `sockaddr_in` and `sockaddr_in6`.
        switch pointer.pointee.family {
        case AF_INET where bytes.count >= 8: return IPAddress(bytes: bytes[4..<8])
        case AF_INET6 where bytes.count >= 24: return IPAddress(bytes: bytes[8..<24])
        default: return nil
        }
    }
}
