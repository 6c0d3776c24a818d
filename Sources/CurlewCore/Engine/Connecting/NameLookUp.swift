internal import CLinux
internal import CurlewPlatform

/// A name and the requested family of its addresses. Names that differ only in the case of ASCII letters are equal.
struct NameQuery: Sendable, Hashable {
    let name: [UInt8]
    let family: ConnectionRoute.AddressFamily

    init(_ name: String, _ family: ConnectionRoute.AddressFamily) {
        self.name = name.utf8.map(\.lowercasedASCII)
        self.family = family
    }
}

/// The reason why no address was found for a name.
struct NameFailure: Error, Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// The name does not exist, or has no address of the requested family.
        case notFound
        /// The name servers give no answer at present: they are silent or fail.
        case temporary
        /// A system error, by its number.
        case system(Int32)
        /// Too many look-ups are waiting, or no thread could be made.
        case resourcesExhausted
        /// Another code of `getaddrinfo`.
        case other(Int32)
    }

    let kind: Kind
    /// The text of `gai_strerror`, or Curlew's text if the system was not asked.
    let words: String

    init(_ kind: Kind, _ words: String) {
        self.kind = kind
        self.words = words
    }

    /// The codes of `getaddrinfo` for a name without addresses. Its header hides two of them without _GNU_SOURCE.
    private static let codesOfAbsence: Set<Int32> = [EAI_NONAME, -5, -9]

    /// - Parameters:
    ///   - code: The result of `getaddrinfo`.
    ///   - systemError: The value of `errno` after it. The C library reports a lack of descriptors or memory with
    ///     another code.
    init(code: Int32, systemError: Int32) {
        let isLack = systemError == EMFILE || systemError == ENFILE || systemError == ENOMEM
        switch code {
        case EAI_SYSTEM: self.init(.system(systemError), describe(systemError))
        case _ where isLack: self.init(.system(systemError), describe(systemError))
        case EAI_AGAIN: self.init(.temporary, Self.words(code))
        case _ where Self.codesOfAbsence.contains(code): self.init(.notFound, Self.words(code))
        default: self.init(.other(code), Self.words(code))
        }
    }

    private static func words(_ code: Int32) -> String { String(cString: gai_strerror(code)) }
}

/// The look-ups of the system: `/etc/hosts`, DNS and its other configured sources.
enum NameLookUp {
    typealias Answer = Result<[HostAddress], NameFailure>

    /// The longest name, in bytes (RFC 1035 §2.3.4).
    static let longestName = 255

    /// The answer that needs no look-up: for an address, for a name of this machine, which libcurl does not look up
    /// either (RFC 6761 §6.3), and for text that is not a valid name.
    /// - Returns: nil for other names.
    static func knownAnswer(_ name: String, _ family: ConnectionRoute.AddressFamily) -> Answer? {
        guard (1...longestName).contains(name.utf8.count), !name.utf8.contains(0) else {
            return .failure(NameFailure(.notFound, "a name has 1 to \(longestName) bytes, and no NUL"))
        }
        if let literal = HostAddress.literal(name) { return literal.flatMap { only(family, of: [$0]) } }
        return LocalName.contains(name) ? only(family, of: HostAddress.loopback) : nil
    }

    /// Names the calling thread. Otherwise it would keep the name of the event loop that made it.
    static func nameThread() { _ = pthread_setname_np(pthread_self(), "curlew-names") }

    /// The addresses of a family, in their order.
    static func only(_ family: ConnectionRoute.AddressFamily, of addresses: [HostAddress]) -> Answer {
        let fitting = addresses.filter { $0.belongs(to: family) }
        guard fitting.isEmpty else { return .success(fitting) }
        return .failure(NameFailure(.notFound, "no address of the family \(family)"))
    }

    /// Asks the system, and waits for its answer. The order is that of `getaddrinfo` (RFC 6724).
    ///
    /// The hints are those of libcurl's threaded resolver, without `AI_ADDRCONFIG`: IPv6 is omitted only if the system
    /// has none. A look-up of IPv6 alone requests only IPv6; libcurl requests both families and drops IPv4.
    static func addresses(of query: NameQuery) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(curlew_socket_stream)
        hints.ai_family = systemFamily(query.family)
        let name = query.name.map(CChar.init(bitPattern:)) + [0]
        var list: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let code = getaddrinfo(name, nil, &hints, &list)
        let systemError = errno
        guard code == 0 else { return .failure(NameFailure(code: code, systemError: systemError)) }
        defer { freeaddrinfo(list) }
        return only(query.family, of: addresses(in: list))
    }

    private static func systemFamily(_ family: ConnectionRoute.AddressFamily) -> Int32 {
        switch family {
        case .any: hasIPv6 ? AF_UNSPEC : AF_INET
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    /// False if the system has no IPv6 at all. libcurl uses the same test, but also treats a lack of descriptors as no
    /// IPv6.
    private static let hasIPv6: Bool = {
        let probe = CurlewPlatform.socket(AF_INET6, Int32(curlew_socket_stream) | O_CLOEXEC, 0)
        guard probe >= 0 else { return errno != EAFNOSUPPORT }
        close(probe)
        return true
    }()

    private static func addresses(in list: UnsafeMutablePointer<addrinfo>?) -> [HostAddress] {
        var found: [HostAddress] = []
        var known: Set<HostAddress> = []
        var entry = list
        while let current = entry?.pointee {
            entry = current.ai_next
            guard let form = current.ai_addr else { continue }
            let bytes = UnsafeRawBufferPointer(start: form, count: Int(current.ai_addrlen))
            guard case .ip(let host, _) = SocketAddress(systemForm: bytes) else { continue }
            if known.insert(host).inserted { found.append(host) }
        }
        return found
    }
}
