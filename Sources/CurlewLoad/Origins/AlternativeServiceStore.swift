internal import CurlewPlatform
internal import HTTPTypes
internal import Synchronization

extension AlternativeServices {
    /// The alternative services of origins (RFC 7838), for one or several ``AlternativeServices`` links.
    ///
    /// A store is a reference type and safe for concurrent use. Alternatives without the mark `persist` belong to the
    /// network on which they were received: call ``networkChanged()`` when the network changes.
    ///
    /// ```swift
    /// let alternatives = AlternativeServices.Store()
    /// try await alternatives.load(from: "altsvc.txt")
    /// ```
    public final class Store: Sendable {
        /// The limits of the store.
        public let limits: Limits
        private let clock: @Sendable () -> Int64
        /// True if alternatives for HTTP/3 are stored.
        private let takesHTTP3: Bool
        private let state = Guarded(State())
        private let filled = Atomic(false)

        private struct State {
            var origins: [String: [Service]] = [:]
            var failures: [Failure.Place: Failure] = [:]
        }

        /// The failures of an alternative.
        private struct Failure {
            struct Place: Hashable {
                let origin: String
                let host: String
                let port: Int
                let isHTTP3: Bool
            }

            var count = 0
            /// The time after which the alternative may be tried again, in seconds since 1970.
            var end: Int64 = 0

            /// The time for which an alternative is excluded after a failure: five minutes, then twice as long each
            /// time, up to two days.
            static func pause(after count: Int) -> Int64 { min(300 << Int64(min(count - 1, 10)), longestPause) }

            static let longestPause: Int64 = 172_800
        }

        /// Makes an empty store.
        /// - Parameters:
        ///   - limits: The limits of the store.
        ///   - clock: The time in seconds since the beginning of 1970, UTC; nil is the system's.
        public init(limits: Limits = Limits(), clock: (@Sendable () -> Int64)? = nil) {
            self.limits = limits
            takesHTTP3 = Engine.hasHTTP3
            self.clock = clock ?? { Int64(time(nil)) }
        }

        init(limits: Limits = Limits(), takesHTTP3: Bool, clock: @escaping @Sendable () -> Int64) {
            self.limits = limits
            self.takesHTTP3 = takesHTTP3
            self.clock = clock
        }

        /// True if the store has alternatives. Every request reads it, without the lock.
        var isFilled: Bool { filled.load(ordering: .acquiring) }

        /// The valid alternatives for the origin of a URI, the best first.
        public func services(for uri: CurlewURI) -> [Service] {
            let now = clock()
            return state.withLock { $0.origins[Self.origin(of: uri), default: []].filter { $0.expirySeconds > now } }
        }

        /// The first alternative that satisfies a condition and is not excluded after a failure. nil if that is the
        /// origin itself.
        func service(for uri: CurlewURI, where condition: (Service) -> Bool) -> Service? {
            let now = clock()
            let origin = Self.origin(of: uri)
            let chosen = state.withLock { state in
                state.origins[origin]?.first { service in
                    guard service.expirySeconds > now, condition(service) else { return false }
                    guard let failure = state.failures[Self.place(service, origin)] else { return true }
                    // A clock that was set back must not exclude the alternative for ever.
                    return failure.end <= now || failure.end - now > Failure.longestPause
                }
            }
            guard let chosen else { return nil }
            let isOrigin = chosen.port == uri.port && chosen.host == Self.host(of: uri) && chosen.kind != .http3
            return isOrigin ? nil : chosen
        }

        /// Stores the Alt-Svc fields of a verified response.
        func note(_ response: CurlewResponse) {
            let values = response.fields.lazy.filter { $0.name == AlternativeServices.field }
                .map { $0.withUnsafeBytesOfValue { Array($0) } }
            let age = response.fields[.age].flatMap { DeltaSeconds.read($0.utf8) } ?? 0
            note(values, from: response.uri, version: response.version, age: age)
        }

        /// - Parameter age: The time that the response spent in caches, in seconds.
        func note(
            _ values: some Sequence<[UInt8]>, from uri: CurlewURI, version: HTTPProtocolVersion = .http11,
            age: Int64 = 0
        ) {
            guard uri.layout.isSecure, let content = AlternativeServiceField.read(values) else { return }
            let now = clock()
            let origin = Self.origin(of: uri)
            guard case .services(let found) = content else { return change { $0.origins[origin] = nil } }
            let longest = limits.age.wholeSeconds
            let services = found.compactMap { field -> Service? in
                guard let kind = AlternativeProtocol(rawValue: field.protocol), field.age > age else { return nil }
                let host = field.host ?? Self.host(of: uri)
                guard takes(kind, host, for: Self.host(of: uri)) else { return nil }
                return Service(
                    kind: kind, host: host, port: field.port, persists: field.persists,
                    expirySeconds: now + min(field.age - age, longest), source: AlternativeProtocol(version))
            }
            change { state in
                state.origins[origin] = services.isEmpty ? nil : Array(services.prefix(max(1, limits.perOrigin)))
                shrink(&state, now: now)
            }
        }

        /// True if an alternative may be stored. HTTP/3 is used at the origin's own host only.
        private func takes(_ kind: AlternativeProtocol, _ host: String, for originHost: String) -> Bool {
            kind != .http3 || (takesHTTP3 && host == originHost)
        }

        /// Records a failure of an alternative.
        func failed(_ service: Service, for uri: CurlewURI) {
            let now = clock()
            change { state in
                let place = Self.place(service, Self.origin(of: uri))
                var failure = state.failures[place] ?? Failure()
                // Requests that fail at the same time count as one failure.
                guard failure.end <= now || failure.end - now > Failure.longestPause else { return }
                failure.count += 1
                failure.end = now + Failure.pause(after: failure.count)
                state.failures[place] = failure
                shrink(&state, now: now)
            }
        }

        /// Records a success of an alternative.
        func succeeded(_ service: Service, for uri: CurlewURI) {
            state.withLock { state in
                guard !state.failures.isEmpty else { return }
                state.failures[Self.place(service, Self.origin(of: uri))] = nil
            }
        }

        /// Removes the alternatives without the mark `persist`, and all recorded failures. Call it after a change of
        /// the network.
        ///
        /// ```swift
        /// for await _ in try ReachabilityMonitor().updates.dropFirst() { alternatives.networkChanged() }
        /// ```
        public func networkChanged() {
            change { state in
                state.origins = state.origins.mapValues { $0.filter(\.persists) }.filter { !$0.value.isEmpty }
                state.failures = [:]
            }
        }

        /// Removes the alternatives of the origin of a URI.
        public func remove(for uri: CurlewURI) { change { $0.origins[Self.origin(of: uri)] = nil } }

        /// Removes all alternatives.
        public func removeAll() { change { $0 = State() } }

        private func change(_ body: (inout State) -> Void) {
            state.withLock { state in
                body(&state)
                filled.store(!state.origins.isEmpty, ordering: .releasing)
            }
        }

        /// Removes expired alternatives first, then the origins whose alternatives expire soonest. The number of
        /// failures is limited too.
        private func shrink(_ state: inout State, now: Int64) {
            let failureLimit = max(1, limits.origins) * max(1, limits.perOrigin)
            if state.failures.count > failureLimit {
                state.failures = state.failures.filter { $0.value.end > now }
                if state.failures.count > failureLimit { state.failures = [:] }
            }
            let limit = max(1, limits.origins)
            guard state.origins.count > limit else { return }
            func end(_ services: [Service]) -> Int64 { services.lazy.map(\.expirySeconds).max() ?? 0 }
            state.origins = state.origins.filter { end($0.value) > now }
            let excess = state.origins.count - limit
            guard excess > 0 else { return }
            let ends = state.origins.map { (origin: $0.key, end: end($0.value)) }.sorted { $0.end < $1.end }
            for entry in ends.prefix(excess) { state.origins[entry.origin] = nil }
        }

        // MARK: Names

        private static func origin(of uri: CurlewURI) -> String { "\(host(of: uri)):\(uri.port)" }

        private static func host(of uri: CurlewURI) -> String {
            AlternativeServiceField.host(uri.host) ?? uri.host.lowercased()
        }

        private static func place(_ service: Service, _ origin: String) -> Failure.Place {
            Failure.Place(
                origin: origin, host: service.host, port: service.port, isHTTP3: service.kind == .http3)
        }
    }
}

extension AlternativeServices.Store {
    /// Writes the alternatives of `https` origins into a file in the format of `curl --alt-svc`.
    ///
    /// The file is replaced in one step: a reader gets the complete old or the complete new file. Only its owner may
    /// read it (mode 0600).
    /// - Parameter path: The path of the file. An existing file is replaced if it is a regular file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed``.
    public func save(to path: String) async throws {
        let now = clock()
        var text = "# Alternative services, in the format of curl --alt-svc\n"
        for (origin, services) in state.withLock({ $0.origins }).sorted(by: { $0.key < $1.key }) {
            guard let (host, port) = AlternativeServiceField.place(Array(origin.utf8)), let host else { continue }
            for service in services where service.expirySeconds > now {
                let place = "\(service.kind.fileWord) \(service.host) \(service.port)"
                let end = OriginFile.text(of: service.expirySeconds)
                text += "\(service.source.fileWord) \(host) \(port) \(place) \"\(end)\" "
                text += "\(service.persists ? 1 : 0) 0\n"
            }
        }
        try await OriginFile.save(text, to: path, of: "alternative services")
    }

    /// Adds the alternatives in a file in the format of `curl --alt-svc`. Skipped are expired ones, those of an origin
    /// that already has alternatives, and those for HTTP/3 that cannot be used. Invalid lines are skipped and reported.
    /// - Returns: The numbers of the invalid lines, from 1; the first hundred.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed`` for a file that is unreadable or larger than
    ///   ``Limits/fileSize``; the store is then unchanged.
    @discardableResult
    public func load(from path: String) async throws -> [Int] {
        let bytes = try await OriginFile.bytes(of: path, upTo: limits.fileSize, of: "alternative services")
        let (read, skipped) = OriginFile.read(bytes, Self.line)
        let now = clock()
        change { state in
            var found: [String: [Service]] = [:]
            for (origin, var service) in read {
                guard service.expirySeconds > now, state.origins[origin] == nil,
                    let originHost = AlternativeServiceField.place(Array(origin.utf8))?.host,
                    takes(service.kind, service.host, for: originHost)
                else { continue }
                service.expirySeconds = min(service.expirySeconds, now + limits.age.wholeSeconds)
                guard found[origin, default: []].count < max(1, limits.perOrigin) else { continue }
                // curl writes an alternative once for each HTTP version over which it was received.
                guard !found[origin, default: []].contains(where: { $0.isSame(as: service) }) else { continue }
                found[origin, default: []].append(service)
            }
            state.origins.merge(found) { own, _ in own }
            shrink(&state, now: now)
        }
        return skipped
    }

    /// An origin and its alternative.
    private static func line(_ words: [String]) -> (origin: String, service: Service)? {
        guard words.count == 9, let source = AlternativeProtocol(fileWord: words[0]),
            let kind = AlternativeProtocol(fileWord: words[3]),
            let origin = AlternativeServiceField.place(Array("\(words[1]):\(words[2])".utf8)), let host = origin.host,
            let place = AlternativeServiceField.place(Array("\(words[4]):\(words[5])".utf8)), let target = place.host,
            let end = OriginFile.seconds(of: words[6]), words[7] == "0" || words[7] == "1"
        else { return nil }
        let service = Service(
            kind: kind, host: target, port: place.port, persists: words[7] == "1", expirySeconds: end, source: source)
        return ("\(host):\(origin.port)", service)
    }
}

extension AlternativeServices.Store {
    /// An alternative service of an origin.
    public struct Service: Sendable, Hashable {
        /// The protocol of the service, by its ALPN name: `h3`, `h2` or `http/1.1`.
        public var `protocol`: String { kind.rawValue }
        let kind: AlternativeProtocol
        /// The host to connect to; an IPv6 address is in brackets.
        public let host: String
        /// The port to connect to.
        public let port: Int
        /// True if the alternative remains valid after a change of the network.
        public let persists: Bool
        /// The time of expiry, in seconds since the beginning of 1970, UTC.
        public fileprivate(set) var expirySeconds: Int64
        /// The protocol over which the alternative was received.
        let source: AlternativeProtocol

        fileprivate func isSame(as other: Service) -> Bool {
            kind == other.kind && host == other.host && port == other.port
        }
    }

    /// The limits of an ``AlternativeServices/Store``.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most origins. Beyond it, the origin whose alternatives expire soonest is removed. 1,000 by default.
        public var origins: Int
        /// The most alternatives of an origin; further ones are ignored. 8 by default.
        public var perOrigin: Int
        /// The longest time for which an alternative is kept without being announced again. 30 days by default.
        public var age: Duration
        /// The largest size of a file that is loaded. 4 MiB by default.
        public var fileSize: ByteSize

        public init(
            origins: Int = 1000, perOrigin: Int = 8, age: Duration = .seconds(2_592_000),
            fileSize: ByteSize = .mebibytes(4)
        ) {
            self.origins = origins
            self.perOrigin = perOrigin
            self.age = age
            self.fileSize = fileSize
        }
    }
}
