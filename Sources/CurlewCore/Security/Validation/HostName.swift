internal import CurlewPlatform

#if PublicSuffixList
internal import CPSL
#endif

/// The host of a request, in the form that certificates are compared with (RFC 9525 §6.1).
enum HostName: Sendable, Hashable, CustomStringConvertible {
    /// A name in lower case, ASCII, without a trailing dot.
    case name(String)
    /// An address of 4 or 16 bytes.
    case address([UInt8])

    /// Reads the host of a URI.
    /// - Parameter host: The host as in the URI: in ASCII, an IPv6 address in brackets.
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
        // libcurl accepts the old spellings of IPv4 addresses, as `inet_aton` does, so they are compared as addresses.
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

extension HostName {
    /// True if the certificate has this name (RFC 9525 §6). Only alternative names count, never the common name.
    func matches(_ names: AlternativeNames) -> Bool {
        switch self {
        case .address(let bytes): names.addresses.contains(bytes)
        case .name(let name): names.hosts.contains { Self.matches(presented: $0, name) }
        }
    }

    /// True if a DNS name of a certificate matches `reference`. A wildcard is the complete leftmost label and matches
    /// one label. The rest must have at least two labels and must not be a public suffix.
    static func matches(presented: [UInt8], _ reference: String) -> Bool {
        guard let presented = plainName(presented, allowsWildcard: true) else { return false }
        guard presented.hasPrefix("*.") else { return presented == reference }
        let parent = presented.dropFirst(2)
        guard let dot = reference.firstIndex(of: "."), dot > reference.startIndex,
            reference[reference.index(after: dot)...] == parent
        else { return false }
        return parent.contains(".") && !isPublicSuffix(String(parent))
    }

    /// The name in lower case if it is valid, otherwise nil. A valid name has at most 253 bytes; its labels have 1 to
    /// 63 letters, digits, hyphens and underscores, and are joined by single dots. A NUL, a trailing dot, or a star
    /// anywhere but as the complete first label is invalid.
    static func plainName(_ bytes: some BidirectionalCollection<UInt8>, allowsWildcard: Bool) -> String? {
        guard !bytes.isEmpty, bytes.count <= 253 else { return nil }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for (index, label) in labels.enumerated() {
            if index == 0, allowsWildcard, label.elementsEqual([UInt8(ascii: "*")]), labels.count > 1 { continue }
            guard (1...63).contains(label.count), label.allSatisfy(isNameByte) else { return nil }
            guard label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-") else { return nil }
        }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// True if the name is in the registries' part of the public suffix list, as in browsers: `*.github.io` is a
    /// certificate in use. Without the trait `PublicSuffixList` the check of the parent's two labels must suffice.
    private static func isPublicSuffix(_ name: String) -> Bool {
        #if PublicSuffixList
        guard let list = psl_builtin() else { return false }
        return psl_is_public_suffix2(list, name, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE) == 1
        #else
        return false
        #endif
    }
}
