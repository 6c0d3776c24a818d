internal import Glibc

/// Whom a client wants to speak to, in the form that certificates are compared with (RFC 9525 §6.1).
enum HostName: Sendable, Hashable {
    /// Lower case, ASCII, without a trailing dot.
    case name(String)
    /// 4 or 16 bytes.
    case address([UInt8])

    /// Reads the host of a URI.
    /// - Parameter host: As the URI has it: in ASCII, an IPv6 address in brackets.
    init?(host: String) {
        if host.hasPrefix("["), host.hasSuffix("]") {
            var bytes = [UInt8](repeating: 0, count: 16)
            guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &bytes) == 1 else { return nil }
            self = .address(bytes)
            return
        }
        var name = host
        if name.hasSuffix(".") { name.removeLast() }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        // libcurl takes the old spellings of IPv4 addresses for such, as `inet_aton` does; so they are compared as such.
        var address = in_addr()
        if name.utf8.first?.isDigit == true, inet_aton(name, &address) == 1 {
            self = .address(withUnsafeBytes(of: address.s_addr) { Array($0) })
        } else {
            self = .name(name.lowercased())
        }
    }

    var description: String {
        switch self {
        case .name(let name): return name
        case .address(let bytes):
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
                return "an address"
            }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
