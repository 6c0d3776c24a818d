internal import FoundationEssentials
internal import Logging

extension SecurityPolicy {
    /// A client certificate, and certificate authorities, that change while sessions live (``SecurityPolicy/rotation``).
    ///
    /// Connections that are made after a change use the new material. Requests under way go on as they began, and no other
    /// request goes over their connections. Neither connections nor TLS sessions of the one are used with the other.
    ///
    /// ```swift
    /// policy.rotation = try SecurityPolicy.Rotation(
    ///     certificateFile: "/run/tls/tls.crt", keyFile: "/run/tls/tls.key", anchorsFile: "/run/tls/ca.crt")
    /// ```
    ///
    /// What cannot be used is refused, and the old material stays: a file that is gone or half written, a certificate that cannot be
    /// read, a key that is another's. It is logged as a warning and among the ``updates``, once for the same content. A
    /// certificate that has expired is taken, with a warning: whether to accept it is the server's to say.
    ///
    /// The rotation works as long as somebody has it, such as a policy that is in use. Two are equal if they are one object;
    /// a policy with one cannot be encoded.
    public final class Rotation: Sendable {
        /// What changes of a policy.
        public struct Material: Sendable, Hashable {
            /// The client's certificate and key; nil leaves that of the policy (``SecurityPolicy/identity``).
            public var identity: ClientIdentity?
            /// The only certificates that paths may end at; nil leaves those of the policy. In the pinning mode
            /// `certificate` the pins are the only ones in any case.
            public var anchors: [CurlewCertificate]?

            public init(identity: ClientIdentity? = nil, anchors: [CurlewCertificate]? = nil) {
                self.identity = identity
                self.anchors = anchors
            }
        }

        /// A change of a rotation, or its failure.
        public enum Update: Sendable {
            /// Other material is used from now on.
            case replaced(Material)
            /// What was found cannot be used; the old material stays.
            case refused(CurlewError)
        }

        private struct State {
            var material: Material
            var version: UInt64 = 1
            /// The last reading that was begun, and the newest that has had its effect.
            var lastTicket: UInt64 = 0
            var newestTicket: UInt64 = 0
            /// What was refused last, as long as nothing has been taken since.
            var refused: String?
        }

        private let source: any RotationSource
        private let state: Guarded<State>
        private let broadcaster = Broadcaster<Update>(bufferSize: Rotation.updateBufferSize)
        private let logger = Logger.current
        private let watcher = Guarded<Task<Void, Never>?>(nil)

        /// The most updates that wait for a listener that is behind; then the oldest are dropped.
        public static let updateBufferSize = 100

        /// Reads files, now and whenever they have changed, be it in place, by another file that takes the name, or by a
        /// symbolic link on the way that leads elsewhere, as with Kubernetes. The first reading blocks.
        /// - Parameters:
        ///   - certificateFile: The certificate and its intermediates, PEM, 1 MiB at most; nil has no identity.
        ///   - keyFile: The key, PEM, 1 MiB at most; nil looks for it in `certificateFile`.
        ///   - passphrase: What the key is encrypted with.
        ///   - anchorsFile: The authorities, PEM or DER, 16 MiB at most; nil has none.
        ///   - interval: The time between two looks at the files.
        ///   - clock: The clock that it is measured by; tests bring their own.
        /// - Throws: ``CurlewError``: ``ErrorCode/invalidTLSSetting`` for files that cannot be used, or none at all;
        ///   ``ErrorCode/invalidRequest`` for an interval of zero or less.
        public convenience init(
            certificateFile: String? = nil, keyFile: String? = nil, passphrase: String? = nil,
            anchorsFile: String? = nil,
            every interval: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
        ) throws {
            let files = try RotatedFiles(
                certificate: certificateFile, key: keyFile, passphrase: passphrase, anchors: anchorsFile)
            try self.init(source: files, initial: files.read(), every: interval, clock: clock)
        }

        /// Asks code of your own, such as a client of a vault or of a workload API.
        /// - Parameters:
        ///   - initial: What holds until the code has first answered.
        ///   - interval: The time between an answer and the next question.
        ///   - clock: The clock that it is measured by; tests bring their own.
        ///   - provider: The newest material. An error leaves the old one. It is cancelled when nobody has the rotation any
        ///     more, and not asked again before it has answered.
        /// - Throws: ``CurlewError``: ``ErrorCode/invalidTLSSetting`` for initial material that cannot be used;
        ///   ``ErrorCode/invalidRequest`` for an interval of zero or less.
        public convenience init(
            initial: Material, every interval: Duration = .seconds(10),
            clock: any Clock<Duration> = ContinuousClock(), provider: @escaping @Sendable () async throws -> Material
        ) throws {
            try self.init(source: RotationProvider(ask: provider), initial: initial, every: interval, clock: clock)
        }

        private init(
            source: any RotationSource, initial: Material, every interval: Duration, clock: any Clock<Duration>
        ) throws {
            try Timeouts.check(interval, "the interval of a rotation")
            try initial.check()
            self.source = source
            state = Guarded(State(material: initial))
            warn(of: initial)
            let timekeeper = Timekeeper(clock)
            let task = Task { [weak self, source] in
                while (try? await timekeeper.sleep(for: interval)) != nil {
                    // Between a look and the next nobody here keeps the rotation alive.
                    guard let ticket = self?.takeTicket() else { return }
                    guard let reading = await source.look(), !Task.isCancelled else { continue }
                    _ = self?.take(reading, ticket)
                }
            }
            watcher.withLock { $0 = task }
        }

        deinit {
            watcher.withLock { $0?.cancel() }
            broadcaster.finish()
        }

        /// What is used for connections that are made now.
        public var material: Material { state.withLock { $0.material } }

        /// The updates from now on, for any number of listeners.
        public var updates: Updates { Updates(broadcaster: broadcaster) }

        /// Reads files, or asks the code, at once, also where nothing seems to have changed.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for what cannot be used: the old material stays. A
        ///   `CancellationError` of the code is thrown as such.
        public func reload() async throws {
            let ticket = takeTicket()
            let reading = await source.reload()
            try take(reading, ticket).get()
        }

        /// A number that grows with each change.
        var version: UInt64 { state.withLock { $0.version } }

        /// The material and its number.
        var current: (material: Material, version: UInt64) { state.withLock { ($0.material, $0.version) } }

        private func takeTicket() -> UInt64 {
            state.withLock { state in
                state.lastTicket += 1
                return state.lastTicket
            }
        }

        /// Puts what was read into force, unless what was read later has been already.
        private func take(_ reading: RotationReading, _ ticket: UInt64) -> Result<Void, any Error> {
            do {
                let material = try reading.result.get()
                try material.check()
                let isNew = state.withLock { state in
                    guard ticket > state.newestTicket else { return false }
                    state.newestTicket = ticket
                    state.refused = nil
                    guard material != state.material else { return false }
                    state.material = material
                    state.version += 1
                    return true
                }
                guard isNew else { return .success(()) }
                warn(of: material)
                broadcaster.publish(.replaced(material))
                return .success(())
            } catch is CancellationError {
                return .failure(CancellationError())
            } catch {
                let refusal =
                    error as? CurlewError
                    ?? CurlewError(.invalidTLSSetting, "the provider of a rotation failed", underlying: error)
                refuse(refusal, reading.fingerprint ?? "\(refusal)", ticket)
                return .failure(refusal)
            }
        }

        private func refuse(_ error: CurlewError, _ fingerprint: String, _ ticket: UInt64) {
            let isNew = state.withLock { state in
                guard ticket > state.newestTicket else { return false }
                state.newestTicket = ticket
                defer { state.refused = fingerprint }
                return state.refused != fingerprint
            }
            guard isNew else { return }
            logger.warning("a TLS identity or its authorities could not be replaced, the old ones stay: \(error)")
            broadcaster.publish(.refused(error))
        }

        private func warn(of material: Material) {
            guard let leaf = material.identity?.chain.first, let validity = try? leaf.handle().validity else { return }
            let now = Int64(Date().timeIntervalSince1970)
            guard !validity.contains(now) else { return }
            let state = validity.upperBound < now ? "has expired" : "is not valid yet"
            logger.warning("the certificate of \(leaf) \(state), and is shown to servers nevertheless")
        }

        // A key is not written where a configuration goes, and a file may be another there.
        public init(from decoder: any Decoder) throws {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "a rotation cannot be decoded"))
        }
    }
}

extension SecurityPolicy.Rotation: Hashable, Codable {
    public static func == (first: SecurityPolicy.Rotation, second: SecurityPolicy.Rotation) -> Bool { first === second }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            "a rotation", .init(codingPath: encoder.codingPath, debugDescription: "a rotation cannot be encoded"))
    }
}

extension SecurityPolicy.Rotation {
    /// The updates of a rotation. Each listener gets those that happen after it began to listen; of those that it has not taken
    /// yet the newest ``SecurityPolicy/Rotation/updateBufferSize`` are kept. It ends with the rotation.
    public struct Updates: AsyncSequence, Sendable {
        public typealias Element = SecurityPolicy.Rotation.Update
        public typealias Failure = Never

        let broadcaster: Broadcaster<SecurityPolicy.Rotation.Update>

        /// Begins to listen: at once, not with the first `next`.
        public func makeAsyncIterator() -> AsyncStream<SecurityPolicy.Rotation.Update>.AsyncIterator {
            broadcaster.listen().makeAsyncIterator()
        }
    }
}

extension SecurityPolicy.Rotation.Material {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for what no policy can use.
    fileprivate func check() throws {
        // With anchors in any case, as the system's are not looked for where nobody asks for them.
        guard let certificates = anchors ?? identity?.chain else { return }
        var policy = SecurityPolicy.anchors(certificates)
        policy.identity = identity
        _ = try TrustRules(policy)
    }
}

extension SecurityPolicy {
    /// The policy with what its rotations, and those of its policies for hosts, have now.
    var settled: (policy: SecurityPolicy, rotations: [Rotation], versions: [UInt64]) {
        guard rotation != nil || hosts.contains(where: { $0.policy.rotation != nil }) else { return (self, [], []) }
        var rotations: [Rotation] = []
        var versions: [UInt64] = []
        func settle(_ policy: inout SecurityPolicy) {
            guard let rotation = policy.rotation else { return }
            let (material, version) = rotation.current
            policy.rotation = nil
            if let identity = material.identity { policy.identity = identity }
            if let anchors = material.anchors { policy = policy.replacingAnchors(anchors) }
            rotations.append(rotation)
            versions.append(version)
        }
        var policy = self
        settle(&policy)
        for index in policy.hosts.indices { settle(&policy.hosts[index].policy) }
        return (policy, rotations, versions)
    }
}
