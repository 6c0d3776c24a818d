#if Postgres
internal import CPQ
internal import Curlew
internal import CurlewPlatform

/// The effective parameters of a libpq connection: those of the settings, the environment, its files and its defaults.
struct EffectiveConnection {
    private var words: [String: String] = [:]

    init(words: [String: String]) { self.words = words }

    /// Reads the parameters; nil if libpq is out of memory.
    init?(_ connection: OpaquePointer) {
        guard let options = PQconninfo(connection) else { return nil }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { words[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
    }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a connection over a network with
    ///   less protection.
    func verify(_ protection: PostgresSettings.Protection) throws {
        guard protection != .none, !isLocal else { return }
        let mode = words["sslmode"] ?? "prefer"
        if mode == "verify-full" || words["gssencmode"] == "require" { return }
        if protection == .encrypted, mode == "require" || mode == "verify-ca" { return }
        let wanted = protection == .verified ? "verify-full" : "require"
        throw CurlewError(
            .invalidRequest,
            "the database is on another machine, and sslmode is \(mode): the settings' protection needs \(wanted)")
    }

    /// True if no server is reached over a network.
    private var isLocal: Bool {
        let hosts = list("host")
        let addresses = list("hostaddr")
        return (0..<max(hosts.count, addresses.count)).allSatisfy { index in
            let address = index < addresses.count ? addresses[index] : ""
            return Self.isLocal(address.isEmpty ? (index < hosts.count ? hosts[index] : "") : address)
        }
    }

    private func list(_ word: String) -> [Substring] {
        (words[word] ?? "").utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { Substring($0) }
    }

    /// True for a folder of sockets, an abstract socket, and a loopback address. An empty host is libpq's folder of
    /// sockets.
    private static func isLocal(_ host: Substring) -> Bool {
        guard let first = host.utf8.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "@") else { return true }
        if host.lowercased() == "localhost" { return true }
        var four = in_addr()
        if inet_pton(AF_INET, String(host), &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
        var six = in6_addr()
        guard inet_pton(AF_INET6, String(host), &six) == 1 else { return false }
        return withUnsafeBytes(of: six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }
}
#endif
