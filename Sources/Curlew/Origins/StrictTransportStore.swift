internal import Glibc
internal import Synchronization

extension StrictTransport {
    /// The hosts that have asked to be reached by `https` alone (RFC 6797), for a ``StrictTransport`` link or several.
    ///
    /// It is a reference, and may be used from anywhere at once. It begins empty: browsers' preload list is not part of it. A store
    /// that knows nobody costs a request next to nothing.
    ///
    /// ```swift
    /// let store = StrictTransport.Store()
    /// try await store.load(from: "hsts.txt")
    /// store.add("example.com", includesSubdomains: true, age: .seconds(86_400))
    /// ```
    public final class Store: Sendable {
        /// Its bounds.
        public let limits: Limits
        private let clock: @Sendable () -> Int64
        private let entries = Guarded<[String: Entry]>([:])
        /// True if there is anything to look for: asked for every request, without the lock.
        private let isFilled = Atomic(false)

        private struct Entry {
            /// In seconds since 1970; the first second in which it does not hold.
            var expiry: Int64
            var includesSubdomains: Bool
        }

        /// Makes an empty store.
        /// - Parameters:
        ///   - limits: Its bounds.
        ///   - clock: The time in seconds since the beginning of 1970, UTC; nil is the system's.
        public init(limits: Limits = Limits(), clock: (@Sendable () -> Int64)? = nil) {
            self.limits = limits
            self.clock = clock ?? { Int64(time(nil)) }
        }

        /// The hosts whose time is not over, sorted by name.
        public var hosts: [Host] {
            let now = clock()
            return entries.withLock { entries in
                entries.filter { $0.value.expiry > now }.map { name, entry in
                    Host(name: name, includesSubdomains: entry.includesSubdomains, expirySeconds: entry.expiry)
                }
            }.sorted { $0.name < $1.name }
        }

        /// True if the host of a URI, or one above it that includes its subdomains, has asked for `https`.
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

        /// Adds a host, as one that the caller is sure of.
        /// - Parameters:
        ///   - host: Its name.
        ///   - includesSubdomains: Whether it holds for every name beneath it as well.
        ///   - age: How long; ``Limits/age`` at most, and zero or less removes the host.
        /// - Returns: Whether it is there now. Not if it is an address or no name.
        @discardableResult
        public func add(_ host: String, includesSubdomains: Bool = false, age: Duration) -> Bool {
            let ascii = host.utf8.allSatisfy { $0 < 0x80 } ? host : InternationalName.ascii(host)
            guard let name = ascii.flatMap({ OriginHost.name($0) }) else { return false }
            return set(name, StrictTransportField(age: age.wholeSeconds, includesSubdomains: includesSubdomains))
        }

        /// Notes the value of a Strict-Transport-Security field that a verified response from a URI of `https` has brought.
        /// - Returns: Whether the host is known now because of it. Not if the value breaks the grammar, has no age or that of zero.
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

        /// Expired hosts are removed first, then those that expire soonest.
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
    /// The file takes its name when it is whole, so that a reader sees the old one or the new; only its owner may read it
    /// (mode 0600).
    /// - Parameter path: The file. What is there is replaced if it is a regular file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed``.
    public func save(to path: String) async throws {
        var text = "# Hosts that are reached by https alone, in the format of curl --hsts\n"
        for host in hosts {
            text += "\(host.includesSubdomains ? "." : "")\(host.name) \"\(OriginFile.text(of: host.expirySeconds))\"\n"
        }
        try await OriginFile.save(text, to: path, of: "hosts")
    }

    /// Adds the hosts of a file in the format of `curl --hsts`. What has expired is skipped. Of a host that is there already,
    /// what expires later stays. Lines that are none are skipped, and reported.
    /// - Returns: The numbers of the lines that could not be read, from 1 on; the first hundred.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed`` for a file that cannot be read, or is larger than
    ///   ``Limits/fileSize``; the store is then as it was.
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
    /// A host that has asked for `https`.
    public struct Host: Sendable, Hashable, Codable {
        /// Its name, in lower case and ASCII.
        public let name: String
        /// True if every name beneath it has to be reached by `https` as well.
        public let includesSubdomains: Bool
        /// When it ends, in seconds since the beginning of 1970, UTC.
        public let expirySeconds: Int64
    }

    /// Bounds of a ``StrictTransport/Store``.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most hosts; the one that is the soonest to expire goes. 10,000 by default.
        public var hosts: Int
        /// The longest time that a host is known for without saying so again. 730 days by default.
        public var age: Duration
        /// The size of a file that is loaded. 16 MiB by default.
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
    /// Its seconds, within a hundred years.
    var wholeSeconds: Int64 {
        let century = Duration.seconds(3_155_760_000)
        return min(max(self, .zero - century), century).components.seconds
    }
}
