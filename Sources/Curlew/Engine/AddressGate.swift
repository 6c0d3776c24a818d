internal import CLibcurl
internal import Glibc

/// The judgement of one attempt's addresses: those that it connects to, and those of connections that are kept and may have
/// been opened under another policy.
///
/// The addresses of a proxy are the configuration's own choice; what the proxy is asked for is judged by
/// ``ConnectionOptions/checkTarget(_:)``.
struct AddressGate {
    /// Somewhere to connect to.
    enum Address {
        case ip(IPAddress)
        case unixSocket
        /// Of a family that no policy knows.
        case unknown
    }

    private let options: ConnectionOptions
    /// What the policy refused, and whether any other address was tried.
    private var forbidden: String?
    private(set) var hasTriedAddress = false

    init(_ options: ConnectionOptions) { self.options = options }

    /// True if a socket may be made towards the address.
    mutating func mayConnect(to address: @autoclosure () -> Address) -> Bool {
        guard options.judgesAddresses else {
            hasTriedAddress = true
            return true
        }
        let policy = options.values.addressPolicy
        let isPermitted: Bool
        let name: String
        switch address() {
        case .ip(let peer):
            isPermitted = policy.permits(peer)
            name = "\(peer)"
        case .unixSocket:
            isPermitted = policy.permitsUnixSockets
            name = socketName
        case .unknown:
            isPermitted = false
            name = socketName
        }
        if isPermitted { hasTriedAddress = true } else { forbidden = name }
        return isPermitted
    }

    /// True if the request may go over a connection to this peer.
    mutating func mayUse(peer: @autoclosure () -> String?) -> Bool {
        guard options.judgesAddresses else { return true }
        let policy = options.values.addressPolicy
        guard options.values.route.unixSocket == nil else {
            if policy.permitsUnixSockets { return true }
            forbidden = socketName
            return false
        }
        let name = peer()
        if let name, policy.permits(name) { return true }
        forbidden = name
        return false
    }

    private var socketName: String { "the Unix socket \(options.values.route.unixSocket ?? "")" }

    /// The policy's error for an attempt that has failed; nil if it is not to blame.
    /// - Parameter isRefused: Whether a kept connection was refused for its address.
    func verdict(host: String, isRefused: Bool, couldNotConnect: Bool) -> CurlewError? {
        guard forbidden != nil, isRefused || (couldNotConnect && !hasTriedAddress) else { return nil }
        return error(host: host)
    }

    func error(host: String) -> CurlewError {
        CurlewError(.addressForbidden, "the address policy forbids \(forbidden ?? "the address") for \(host)")
    }
}

extension AddressGate.Address {
    /// The bytes behind `family` and `addrlen` are a `sockaddr` of that family; there are `addrlen` of them, though the
    /// structure declares fewer.
    init(_ pointer: UnsafePointer<curl_sockaddr>) {
        self = .unknown
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return }
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(pointer).advanced(by: offset), count: Int(pointer.pointee.addrlen))
        // Where the address stands in `sockaddr_in` and `sockaddr_in6`.
        switch pointer.pointee.family {
        case AF_INET where bytes.count >= 8: if let address = IPAddress(bytes: bytes[4..<8]) { self = .ip(address) }
        case AF_INET6 where bytes.count >= 24: if let address = IPAddress(bytes: bytes[8..<24]) { self = .ip(address) }
        case AF_UNIX: self = .unixSocket
        default: break
        }
    }
}
