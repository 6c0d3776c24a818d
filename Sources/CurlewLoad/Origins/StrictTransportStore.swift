internal import CurlewPlatform
internal import Synchronization

extension StrictTransport {
    /// The hosts that require `https` (RFC 6797), for one or several ``StrictTransport`` links.
    ///
    /// A store is a reference type and safe for concurrent use. It is empty at first: the preload list of browsers is
    /// not part of it. An empty store costs a request very little.
    ///
    /// ```swift
    /// let store = StrictTransport.Store()
    /// try await store.load(from: "hsts.txt")
    /// store.add("example.com", includesSubdomains: true, age: .seconds(86_400))
    /// ```
    public final class Store: Sendable {
        /// The limits of the store.
        public let limits: Limits
        private let clock: @Sendable () -> Int64
        private let entries = Guarded<[String: Entry]>([:])
        /// True if the store has hosts. Every request reads it, without the lock.
        private let isFilled = Atomic(false)

        private struct Entry {
            /// The time of expiry in seconds since 1970: the first second in which the entry is invalid.
            var expiry: Int64
            var includesSubdomains: Bool
        }

        /// Makes an empty store.
        /// - Parameters:
        ///   - limits: The limits of the store.
        ///   - clock: The time in seconds since the beginning of 1970, UTC; nil is the system's.
        public init(limits: Limits = Limits(), clock: (@Sendable () -> Int64)? = nil) {
            self.limits = limits
            self.clock = clock ?? { Int64(time(nil)) }
        }

        /// The hosts that have not expired, sorted by name.
        public var hosts: [Host] {
            let now = clock()
            return entries.withLock { entries in
                entries.filter { $0.value.expiry > now }.map { name, entry in
                    Host(name: name, includesSubdomains: entry.includesSubdomains, expirySeconds: entry.expiry)
                }
            }.sorted { $0.name < $1.name }
        }

        /// True if the host of a URI, or a parent domain that includes its subdomains, requires `https`.
        public func requiresHTTPS(_ uri: CurlewURI) -> Bool {
            guard isFilled.load(ordering: .acquiring), let host = OriginHost.name(uri.host) else { return false }
            let now = clock()
            return entries.withLock { entries in
                var name = host[...]
                var isHost = true
                while true {
                    if let entry = entries[String(name)], entry.expiry > now, isHost || entry.includesSubdomains {
                        return true
                    }
                    guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
                    name = name[name.utf8.index(after: dot)...]
                    isHost = false
                }
            }
        }

        /// Adds a host of the caller's.
        /// - Parameters:
        ///   - host: The name of the host.
        ///   - includesSubdomains: True if all subdomains are included.
        ///   - age: The lifetime, at most ``Limits/age``; zero or less removes the host.
        /// - Returns: True if the store now has the host. False for a lifetime of zero or less, for an address, and for
        ///   an invalid name.
        @discardableResult
        public func add(_ host: String, includesSubdomains: Bool = false, age: Duration) -> Bool {
            let ascii = host.utf8.allSatisfy { $0 < 0x80 } ? host : InternationalName.ascii(host)
            guard let name = ascii.flatMap({ OriginHost.name($0) }) else { return false }
            return set(name, StrictTransportField(age: age.wholeSeconds, includesSubdomains: includesSubdomains))
        }

        /// Stores the value of a Strict-Transport-Security field of a verified response.
        /// - Returns: True if the store now has the host because of it. False if the value is malformed, or its age is
        ///   missing or zero.
        @discardableResult
        func note(_ value: [UInt8], from uri: CurlewURI) -> Bool {
            guard uri.layout.isSecure, let name = OriginHost.name(uri.host), let field = StrictTransportField(value)
            else { return false }
            return set(name, field)
        }

        private func set(_ name: String, _ field: StrictTransportField) -> Bool {
            let now = clock()
            return change { entries in
                guard field.age > 0 else {
                    entries[name] = nil
                    return false
                }
                entries[name] = Entry(
                    expiry: now + min(field.age, limits.age.wholeSeconds), includesSubdomains: field.includesSubdomains)
                shrink(&entries, now: now)
                return entries[name] != nil
            }
        }

        /// Removes a host.
        public func remove(_ host: String) {
            guard let name = OriginHost.name(host) else { return }
            change { $0[name] = nil }
        }

        /// Removes all hosts.
        public func removeAll() { change { $0 = [:] } }

        private func change<Value>(_ body: (inout [String: Entry]) -> Value) -> Value {
            entries.withLock { entries in
                defer { isFilled.store(!entries.isEmpty, ordering: .releasing) }
                return body(&entries)
            }
        }

        /// Removes expired hosts first, then those that expire soonest.
        private func shrink(_ entries: inout [String: Entry], now: Int64) {
            let limit = max(1, limits.hosts)
            guard entries.count > limit else { return }
            entries = entries.filter { $0.value.expiry > now }
            let excess = entries.count - limit
            guard excess > 0 else { return }
            if excess == 1, let soonest = entries.min(by: { $0.value.expiry < $1.value.expiry }) {
                entries[soonest.key] = nil
            } else {
                for entry in entries.sorted(by: { $0.value.expiry < $1.value.expiry }).prefix(excess) {
                    entries[entry.key] = nil
                }
            }
        }
    }
}

extension StrictTransport.Store {
    /// Writes the hosts into a file in the format of `curl --hsts`.
    ///
    /// The file is replaced in one step: a reader gets the complete old or the complete new file. Only its owner may
    /// read it (mode 0600).
    /// - Parameter path: The path of the file. An existing file is replaced if it is a regular file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed``.
    public func save(to path: String) async throws {
        var text = "# Hosts that are reached by https alone, in the format of curl --hsts\n"
        for host in hosts {
            text += "\(host.includesSubdomains ? "." : "")\(host.name) \"\(OriginFile.text(of: host.expirySeconds))\"\n"
        }
        try await OriginFile.save(text, to: path, of: "hosts")
    }

    /// Adds the hosts in a file in the format of `curl --hsts`. Expired hosts are skipped. For a host that is already
    /// there, the later expiry is kept. Invalid lines are skipped and reported.
    /// - Returns: The numbers of the invalid lines, from 1; the first hundred.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed`` for a file that is unreadable or larger than
    ///   ``Limits/fileSize``; the store is then unchanged.
    @discardableResult
    public func load(from path: String) async throws -> [Int] {
        let bytes = try await OriginFile.bytes(of: path, upTo: limits.fileSize, of: "hosts")
        let (read, skipped) = OriginFile.read(bytes) { words -> (String, Entry)? in
            guard words.count == 2, let expiry = OriginFile.seconds(of: words[1]) else { return nil }
            let includesSubdomains = words[0].hasPrefix(".")
            guard let name = OriginHost.name(words[0].dropFirst(includesSubdomains ? 1 : 0)) else { return nil }
            return (name, Entry(expiry: expiry, includesSubdomains: includesSubdomains))
        }
        let now = clock()
        change { entries in
            for (name, found) in read where found.expiry > now {
                var entry = found
                entry.expiry = min(entry.expiry, now + limits.age.wholeSeconds)
                if let own = entries[name], own.expiry >= entry.expiry { continue }
                entries[name] = entry
            }
            shrink(&entries, now: now)
        }
        return skipped
    }
}

extension StrictTransport.Store {
    /// A host that requires `https`.
    public struct Host: Sendable, Hashable, Codable {
        /// The name of the host, in lower case and ASCII.
        public let name: String
        /// True if all subdomains require `https` too.
        public let includesSubdomains: Bool
        /// The time of expiry, in seconds since the beginning of 1970, UTC.
        public let expirySeconds: Int64
    }

    /// The limits of a ``StrictTransport/Store``.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most hosts. Beyond it, the host that expires soonest is removed. 10,000 by default.
        public var hosts: Int
        /// The longest time for which a host is kept without being announced again. 730 days by default.
        public var age: Duration
        /// The largest size of a file that is loaded. 16 MiB by default.
        public var fileSize: ByteSize

        public init(hosts: Int = 10_000, age: Duration = .seconds(63_072_000), fileSize: ByteSize = .mebibytes(16)) {
            self.hosts = hosts
            self.age = age
            self.fileSize = fileSize
        }
    }
}

extension StrictTransportField {
    init(age: Int64, includesSubdomains: Bool) {
        self.age = age
        self.includesSubdomains = includesSubdomains
    }
}

extension Duration {
    /// The number of full seconds, limited to a hundred years.
    var wholeSeconds: Int64 {
        let century = Duration.seconds(3_155_760_000)
        return min(max(self, .zero - century), century).components.seconds
    }
}
