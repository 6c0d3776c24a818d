internal import FoundationEssentials
internal import Logging

extension SecurityPolicy {
    /// A client certificate and certificate authorities that change while sessions are in use
    /// (``SecurityPolicy/rotation``).
    ///
    /// Connections that are opened after a change use the new material. Running requests are not affected, and later
    /// requests do not use their connections. Connections and TLS sessions of one material are never used with another.
    ///
    /// ```swift
    /// policy.rotation = try SecurityPolicy.Rotation(
    ///     certificateFile: "/run/tls/tls.crt", keyFile: "/run/tls/tls.key", anchorsFile: "/run/tls/ca.crt")
    /// ```
    ///
    /// Invalid material is refused, and the old material stays. Examples are a missing or half-written file, an
    /// unreadable certificate, and a key of another certificate. The refusal is logged as a warning and reported in
    /// ``updates``, once for the same content. An expired certificate is accepted with a warning: the server decides on
    /// it.
    ///
    /// The rotation is active while it is retained, for example by a policy in use. Two rotations are equal if they are
    /// the same object; a policy with one cannot be encoded.
    public final class Rotation: Sendable {
        /// The parts of a policy that a rotation changes.
        public struct Material: Sendable, Hashable {
            /// The client's certificate and key; nil keeps the policy's ``SecurityPolicy/identity``.
            public var identity: ClientIdentity?
            /// The anchors that replace the policy's; nil keeps the policy's. With
            /// ``SecurityPolicy/Pinning/certificates(_:)`` the path must also be valid with the pinned certificates as
            /// the only anchors.
            public var anchors: [CurlewCertificate]?

            public init(identity: ClientIdentity? = nil, anchors: [CurlewCertificate]? = nil) {
                self.identity = identity
                self.anchors = anchors
            }
        }

        /// A change of a rotation, or its failure.
        public enum Update: Sendable {
            /// New material is used from now on.
            case replaced(Material)
            /// New material is invalid; the old material stays.
            case refused(CurlewError)
        }

        private struct State {
            var material: Material
            var version: UInt64 = 1
            /// The number of the last started reading, and of the latest that has taken effect.
            var lastTicket: UInt64 = 0
            var newestTicket: UInt64 = 0
            /// The content that was refused last, until new material is accepted.
            var refused: String?
        }

        private let source: any RotationSource
        private let state: Guarded<State>
        private let broadcaster = Broadcaster<Update>(bufferSize: Rotation.updateBufferSize)
        private let logger = Logger.current
        private let watcher = Guarded<Task<Void, Never>?>(nil)

        /// The largest number of updates that wait for a slow listener: 100. Beyond it the oldest are dropped.
        public static let updateBufferSize = 100

        /// Reads files, now and after each change. A change may be a write in place, a new file of the same name, or a
        /// changed symbolic link in the path, as in Kubernetes. The first reading blocks.
        /// - Parameters:
        ///   - certificateFile: The certificate and its intermediates, PEM, at most 1 MiB; nil provides no identity.
        ///   - keyFile: The key, PEM, at most 1 MiB; with nil it is read from `certificateFile`.
        ///   - passphrase: The passphrase of an encrypted key.
        ///   - anchorsFile: The authorities, PEM or DER, at most 16 MiB; nil provides none.
        ///   - interval: The time between two checks of the files.
        ///   - clock: The clock that measures the interval; tests use their own.
        /// - Throws: ``CurlewError``: ``ErrorCode/invalidTLSSetting`` for invalid files, or without any file;
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

        /// Asks a closure for material, for example a client of a vault or of a workload API.
        /// - Parameters:
        ///   - initial: The material until the closure has first returned.
        ///   - interval: The time between a result and the next call.
        ///   - clock: The clock that measures the interval; tests use their own.
        ///   - provider: Returns the latest material. After an error the old material stays. The closure is not called
        ///     again before it has returned, and it is cancelled when the rotation is released.
        /// - Throws: ``CurlewError``: ``ErrorCode/invalidTLSSetting`` for invalid initial material;
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
                    // The task does not retain the rotation between two checks.
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

        /// The material for connections that are opened now.
        public var material: Material { state.withLock { $0.material } }

        /// The updates from now on, for any number of listeners.
        public var updates: Updates { Updates(broadcaster: broadcaster) }

        /// Reads the files, or calls the closure, at once, even without a detected change.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for invalid material: the old material stays.
        ///   A `CancellationError` of the closure is thrown as such.
        public func reload() async throws {
            let ticket = takeTicket()
            let reading = await source.reload()
            try take(reading, ticket).get()
        }

        /// The version of the material; it grows with each change.
        var version: UInt64 { state.withLock { $0.version } }

        /// The material and its version.
        var current: (material: Material, version: UInt64) { state.withLock { ($0.material, $0.version) } }

        private func takeTicket() -> UInt64 {
            state.withLock { state in
                state.lastTicket += 1
                return state.lastTicket
            }
        }

        /// Applies the material of a reading, unless a later reading has already taken effect.
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

        // A rotation cannot be decoded: its key must not be part of a configuration, and its files may differ
        // elsewhere.
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
    /// The updates of a rotation. Each listener gets the updates after its start; of the unread ones the latest
    /// ``SecurityPolicy/Rotation/updateBufferSize`` are kept. The sequence ends with the rotation.
    public struct Updates: AsyncSequence, Sendable {
        public typealias Element = SecurityPolicy.Rotation.Update
        public typealias Failure = Never

        let broadcaster: Broadcaster<SecurityPolicy.Rotation.Update>

        /// Starts listening at once, before the first `next`.
        public func makeAsyncIterator() -> AsyncStream<SecurityPolicy.Rotation.Update>.AsyncIterator {
            broadcaster.listen().makeAsyncIterator()
        }
    }
}

extension SecurityPolicy.Rotation.Material {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for material that no policy can use.
    fileprivate func check() throws {
        // The policy always gets explicit anchors, as reading the system's is not necessary here.
        guard let certificates = anchors ?? identity?.chain else { return }
        var policy = SecurityPolicy.anchors(certificates)
        policy.identity = identity
        _ = try TrustRules(policy)
    }
}

extension SecurityPolicy {
    /// The policy with the present material of its rotations, including those of its host policies.
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
