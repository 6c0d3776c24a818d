import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Logging
import Testing

@testable import Curlew

@Suite("Rotating identities and anchors", .noLeaks, .timeLimit(.minutes(2)))
struct RotationTests {
    /// The interval of the tests' rotations, on a clock that the test sets.
    private static let interval = Duration.seconds(10)

    private static func client(_ name: String, validity: HeldCertificate.Validity = .usual) throws -> HeldCertificate {
        try HeldCertificate(.init(commonName: name, validity: validity), issuer: TestChain.root.get())
    }

    private static func identity(_ held: HeldCertificate) throws -> ClientIdentity {
        try ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM)
    }

    /// Files of a client's certificate and key, and the rotation that watches them.
    private struct Files {
        let folder: ScratchFolder
        let clock = TestClock()
        let rotation: SecurityPolicy.Rotation
        let first: HeldCertificate
        var updates: AsyncStream<SecurityPolicy.Rotation.Update>.AsyncIterator

        init(_ folder: ScratchFolder? = nil, base: String = "") throws {
            let folder = try folder ?? ScratchFolder()
            self.folder = folder
            first = try RotationTests.client("first")
            if base.isEmpty { try Self.write(first, in: folder.path) }
            rotation = try SecurityPolicy.Rotation(
                certificateFile: folder.path + base + "/tls.crt", keyFile: folder.path + base + "/tls.key",
                every: interval, clock: clock)
            updates = rotation.updates.makeAsyncIterator()
        }

        static func write(_ held: HeldCertificate, in path: String) throws {
            try Data(held.certificatePEM.utf8).write(to: URL(filePath: path + "/tls.crt"))
            try Data(held.privateKeyPEM.utf8).write(to: URL(filePath: path + "/tls.key"))
        }

        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)"))
        }

        /// Triggers a check of the files, and waits for it.
        func look() async throws {
            try await clock.waitForSleepers(1)
            clock.advance(by: interval)
            try await clock.waitForSleepers(1)
        }
    }

    private func leaf(_ update: SecurityPolicy.Rotation.Update?) -> [UInt8]? {
        guard case .replaced(let material) = update else { return nil }
        return material.identity?.chain.first?.der
    }

    private func refusal(_ update: SecurityPolicy.Rotation.Update?) -> CurlewError? {
        guard case .refused(let error) = update else { return nil }
        return error
    }

    // MARK: Connections

    @Test(
        "the next connection presents the new certificate, and a running request continues with the old one",
        arguments: [HTTPVersionPolicy.http11, .negotiated])
    func nextConnection(_ version: HTTPVersionPolicy) async throws {
        let (first, second) = (try Self.client("first"), try Self.client("second"))
        let given = Guarded(try Self.identity(first))
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(identity: Self.identity(first)), clock: TestClock()
        ) { .init(identity: given.withLock { $0 }) }
        var tls = ServerTLS(try TestChain.sent())
        tls.clientCertificates = .required(trusting: [try TestChain.root.get()])
        let gate = Gate()
        let server = try await MockServer.start(.init(tls: tls)) { request in
            if request.target == "/held" { try await gate.wait() }
            return MockResponse(body: "ok")
        }
        var policy = try TestChain.root.get().anchor
        policy.rotation = rotation
        let session = try makeSession { [policy] in
            $0.security = policy
            $0.versionPolicy = version
        }
        func shown() async throws -> [UInt8]? {
            #expect(try await session.fetch(server.url()) == Array("ok".utf8))
            return await server.takeRequest()?.tls?.clientCertificateDER
        }
        #expect(try await shown() == first.certificateDER)
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await session.fetch(server.url("/held")) }
            try await server.waitForRequests(2)
            #expect(await server.takeRequest()?.tls?.clientCertificateDER == first.certificateDER)
            given.withLock { [identity = try Self.identity(second)] in $0 = identity }
            try await rotation.reload()
            for _ in 0..<3 { #expect(try await shown() == second.certificateDER) }
            #expect(server.connectionCounts.accepted == 2)
            gate.open()
            #expect(try await group.next() == Array("ok".utf8))
        }
        // The old connection is idle now, and is not used.
        #expect(try await shown() == second.certificateDER)
        #expect(server.connectionCounts.accepted == 2)
        await session.shutdown()
        await server.shutdown()
    }

    @Test(
        "a TLS session of the old certificate is not resumed under the new one",
        arguments: [ServerTLS.Version.tls12, .tls13])
    func tickets(_ version: ServerTLS.Version) async throws {
        let given = Guarded(try Self.identity(Self.client("first")))
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(identity: given.withLock { $0 }), clock: TestClock()
        ) { .init(identity: given.withLock { $0 }) }
        var tls = ServerTLS(try TestChain.sent())
        tls.maximumVersion = version
        let server = try await MockServer.start(.init(tls: tls, protocols: [.http11])) { _ in
            var response = MockResponse(body: "ok")
            response.fields[.connection] = "close"
            return response
        }
        var policy = try TestChain.root.get().anchor
        policy.rotation = rotation
        let session = try makeSession { [policy] in $0.security = policy }
        func resumed() async throws -> Bool? {
            let response = try await session.get(.raw(server.url()))
            _ = try await response.body.collect(upTo: 100)
            return response.security?.isResumed
        }
        #expect(try await resumed() == false)
        #expect(try await resumed() == true)
        given.withLock { [identity = try Self.identity(Self.client("second"))] in $0 = identity }
        try await rotation.reload()
        #expect(try await resumed() == false)
        #expect(try await resumed() == true)
        await session.shutdown()
        await server.shutdown()
    }

    /// The place of the rotating policy.
    enum Place: CaseIterable { case session, request, host, handshakeAlone }

    @Test("anchors rotate in the policy of a session, of a request and of a host", arguments: Place.allCases)
    func anchors(_ place: Place) async throws {
        let server = try await MockServer.start(.init(tls: ServerTLS(try TestChain.sent()))) { _ in
            MockResponse(body: "ok")
        }
        let given = Guarded([try TestChain.otherRoot.get().certificate])
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(anchors: given.withLock { $0 }), clock: TestClock()
        ) { .init(anchors: given.withLock { $0 }) }
        var policy = SecurityPolicy.anchors([try TestChain.otherRoot.get().certificate])
        policy.rotation = rotation
        if place == .host {
            var around = SecurityPolicy.anchors([try TestChain.otherRoot.get().certificate])
            around.hosts = ["localhost", "127.0.0.1"].map { [policy] in SecurityPolicy.HostPolicy($0, policy) }
            policy = around
        }
        let session = try makeSession { [policy] in if place != .request { $0.security = policy } }
        var options = RequestOptions()
        if place == .request { options.security = policy }
        func code() async throws -> ErrorCode? {
            do {
                if place == .handshakeAlone {
                    _ = try await #require(session.session).connectionSecurity(of: server.url())
                } else {
                    _ = try await session.fetch(server.url(), options: options)
                }
                return nil
            } catch let error as CurlewError { return error.code }
        }
        #expect(try await code() == .unknownIssuer)
        given.withLock { [root = try TestChain.root.get().certificate] in $0 = [root] }
        #expect(try await code() == .unknownIssuer)
        try await rotation.reload()
        #expect(try await code() == nil)
        #expect(try await code() == nil)
        given.withLock { [root = try TestChain.otherRoot.get().certificate] in $0 = [root] }
        try await rotation.reload()
        #expect(try await code() == .unknownIssuer)
        await session.shutdown()
        await server.shutdown()
    }

    // MARK: Files

    /// The ways of replacing files.
    enum Replacement: CaseIterable { case rename, inPlace, symbolicLink }

    @Test("replaced files are detected", arguments: Replacement.allCases)
    func replaced(_ replacement: Replacement) async throws {
        let folder = try ScratchFolder()
        let manager = FileManager.default
        let usesLink = replacement == .symbolicLink
        if usesLink {
            // The folder is a symbolic link that is replaced, as in Kubernetes.
            for name in ["one", "two"] {
                try manager.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: false)
            }
            try Files.write(Self.client("first"), in: folder.path + "/one")
            try manager.createSymbolicLink(atPath: folder.path + "/data", withDestinationPath: "one")
        }
        var files = try Files(folder, base: usesLink ? "/data" : "")
        let second = try Self.client("second")
        switch replacement {
        case .rename:
            let other = try ScratchFolder()
            try Files.write(second, in: other.path)
            for name in ["tls.crt", "tls.key"] {
                #expect(rename("\(other.path)/\(name)", "\(folder.path)/\(name)") == 0)
            }
        case .inPlace: try Files.write(second, in: folder.path)
        case .symbolicLink:
            try Files.write(second, in: folder.path + "/two")
            try manager.createSymbolicLink(atPath: folder.path + "/data.new", withDestinationPath: "two")
            #expect(rename(folder.path + "/data.new", folder.path + "/data") == 0)
        }
        try await files.look()
        let news = await files.updates.next()
        #expect(leaf(news) == second.certificateDER)
        #expect(files.rotation.material.identity?.chain.first?.der == second.certificateDER)
        let version = files.rotation.version
        for _ in 0..<3 { try await files.look() }
        #expect(files.rotation.version == version)
    }

    /// The faults of files.
    enum Damage: CaseIterable {
        case brokenCertificate, halfCertificate, otherKey, noKey, emptyCertificate, folderInstead
    }

    @Test("unusable files change nothing, and are reported once", arguments: Damage.allCases)
    func refused(_ damage: Damage) async throws {
        let log = RecordingLog()
        var files = try withLogger(log.logger(.info)) { _ in try Files() }
        let (path, second) = (files.folder.path, try Self.client("second"))
        switch damage {
        case .brokenCertificate:
            try files.write("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        case .halfCertificate: try files.write("tls.crt", String(second.certificatePEM.prefix(200)))
        case .otherKey: try files.write("tls.key", second.privateKeyPEM)
        case .noKey: try FileManager.default.removeItem(atPath: path + "/tls.key")
        case .emptyCertificate: try files.write("tls.crt", "")
        case .folderInstead:
            try FileManager.default.removeItem(atPath: path + "/tls.crt")
            try FileManager.default.createDirectory(atPath: path + "/tls.crt", withIntermediateDirectories: false)
        }
        for _ in 0..<4 { try await files.look() }
        let first = await files.updates.next()
        let error = try #require(refusal(first))
        #expect(error.code == .invalidTLSSetting)
        #expect(files.rotation.material.identity?.chain.first?.der == files.first.certificateDER)
        #expect(files.rotation.version == 1)
        // Each reload throws the error, but the log has a single line.
        let rotation = files.rotation
        await #expect(throws: CurlewError.self) { try await rotation.reload() }
        #expect(log.lines.count == 1)
        #expect(log.lines.allSatisfy { $0.level == .warning && !$0.message.contains("PRIVATE") })
        if damage == .folderInstead { try FileManager.default.removeItem(atPath: path + "/tls.crt") }
        try Files.write(second, in: path)
        try await files.look()
        let next = await files.updates.next()
        #expect(leaf(next) == second.certificateDER)
        #expect(log.lines.count == 1)
    }

    @Test("a certificate that is written before its key is used once the key is there")
    func oneAfterTheOther() async throws {
        var files = try Files()
        let second = try Self.client("second")
        try files.write("tls.crt", second.certificatePEM)
        try await files.look()
        let first = await files.updates.next()
        #expect(refusal(first) != nil)
        try files.write("tls.key", second.privateKeyPEM)
        try await files.look()
        let next = await files.updates.next()
        #expect(leaf(next) == second.certificateDER)
    }

    @Test(
        "a certificate that has expired, or is not valid yet, is used with a warning",
        arguments: [HeldCertificate.Validity.expired, .notYetValid])
    func expired(_ validity: HeldCertificate.Validity) async throws {
        let log = RecordingLog()
        let files = try withLogger(log.logger(.info)) { _ in try Files() }
        let second = try Self.client("second", validity: validity)
        try Files.write(second, in: files.folder.path)
        try await files.look()
        #expect(files.rotation.material.identity?.chain.first?.der == second.certificateDER)
        #expect(log.lines.map(\.level) == [.warning])
    }

    @Test("unusable files at the start are an error")
    func unusableAtStart() throws {
        let folder = try ScratchFolder()
        try Files.write(Self.client("first"), in: folder.path)
        let good = folder.path + "/tls.crt"
        let key = folder.path + "/tls.key"
        let makers: [() throws -> SecurityPolicy.Rotation] = [
            { try .init() }, { try .init(keyFile: key) }, { try .init(certificateFile: good) },
            { try .init(certificateFile: good + ".no", keyFile: key) },
            { try .init(certificateFile: good, keyFile: key, anchorsFile: folder.path) },
            { try .init(certificateFile: good, keyFile: key, anchorsFile: key) },
            { try .init(passphrase: "x", anchorsFile: good) },
            { try .init(initial: .init(anchors: [])) { .init() } },
        ]
        for make in makers {
            let error = #expect(throws: CurlewError.self) { _ = try make() }
            #expect(error?.code == .invalidTLSSetting)
        }
        let error = #expect(throws: CurlewError.self) {
            _ = try SecurityPolicy.Rotation(certificateFile: good, keyFile: key, every: .zero)
        }
        #expect(error?.code == .invalidRequest)
        #expect(try SecurityPolicy.Rotation(anchorsFile: good).material.anchors?.count == 1)
    }

    // MARK: Providers

    private struct Outage: Error {}

    @Test(
        "a provider that fails or returns unusable material changes nothing, and each failure is reported once"
    )
    func provider() async throws {
        let (first, second) = (try Self.client("first"), try Self.client("second"))
        let clock = TestClock()
        let answer = Guarded(
            Result<SecurityPolicy.Rotation.Material, any Error>.success(.init(identity: try Self.identity(first))))
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(identity: Self.identity(first)), every: Self.interval, clock: clock
        ) { try answer.withLock { $0 }.get() }
        var updates = rotation.updates.makeAsyncIterator()
        func look() async throws {
            try await clock.waitForSleepers(1)
            clock.advance(by: Self.interval)
            try await clock.waitForSleepers(1)
        }
        try await look()
        #expect(rotation.version == 1)
        answer.withLock { $0 = .failure(Outage()) }
        for _ in 0..<3 { try await look() }
        let failed = refusal(await updates.next())
        #expect(failed?.code == .invalidTLSSetting)
        #expect(failed?.underlying is Outage)
        answer.withLock { $0 = .success(.init(anchors: [])) }
        for _ in 0..<3 { try await look() }
        let unusable = await updates.next()
        #expect(refusal(unusable)?.code == .invalidTLSSetting)
        answer.withLock { [material = SecurityPolicy.Rotation.Material(identity: try Self.identity(second))] in
            $0 = .success(material)
        }
        for _ in 0..<3 { try await look() }
        let usable = await updates.next()
        #expect(leaf(usable) == second.certificateDER)
        #expect(rotation.version == 2)
        answer.withLock { $0 = .failure(CancellationError()) }
        await #expect(throws: CancellationError.self) { try await rotation.reload() }
        #expect(rotation.material.identity == (try Self.identity(second)))
    }

    @Test("a late answer to an earlier query does not replace the answer to a later query")
    func order() async throws {
        let certificates = try ["first", "second", "third"].map { try Self.identity(Self.client($0)) }
        let gate = Gate()
        let asked = Guarded(0)
        let rotation = try SecurityPolicy.Rotation(initial: .init(identity: certificates[0]), clock: TestClock()) {
            let number = asked.withLock { count in
                count += 1
                return count
            }
            if number == 1 { try await gate.wait() }
            return .init(identity: certificates[number])
        }
        let late = Task { try await rotation.reload() }
        try await eventually("the first question has been asked") { asked.withLock { $0 } == 1 }
        try await rotation.reload()
        gate.open()
        try await late.value
        #expect(rotation.material.identity == certificates[2])
        #expect(rotation.version == 2)
    }

    // MARK: Lifecycle

    @Test("a rotation without references ends its task, its provider's wait and its updates")
    func dropped() async throws {
        let clock = TestClock()
        let (begun, signal) = AsyncStream.makeStream(of: Void.self)
        let isCancelled = Guarded(false)
        var rotation: SecurityPolicy.Rotation? = try SecurityPolicy.Rotation(
            initial: .init(), every: Self.interval, clock: clock
        ) {
            signal.yield()
            do { try await Gate().wait() } catch { isCancelled.withLock { $0 = true } }
            throw CancellationError()
        }
        weak let seen = rotation
        let updates = try #require(rotation).updates.makeAsyncIterator()
        try await clock.waitForSleepers(1)
        clock.advance(by: Self.interval)
        for await _ in begun { break }
        rotation = nil
        #expect(seen == nil)
        var iterator = updates
        let end = await iterator.next()
        #expect(end == nil)
        try await eventually("the provider is cancelled") { isCancelled.withLock { $0 } }
        try await eventually("nobody sleeps on the clock") { clock.sleeperCount == 0 }
    }

    @Test("a policy's equality includes its rotation, and a policy with a rotation cannot be encoded")
    func encoding() throws {
        let rotation = try SecurityPolicy.Rotation(initial: .init(), clock: TestClock()) { .init() }
        let other = try SecurityPolicy.Rotation(initial: .init(), clock: TestClock()) { .init() }
        var policy = SecurityPolicy.system
        policy.rotation = rotation
        var copy = policy
        #expect(copy == policy)
        copy.rotation = other
        #expect(copy != policy)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(policy) }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(SecurityPolicy.Rotation.self, from: Data("1".utf8))
        }
        let plain = try JSONDecoder().decode(SecurityPolicy.self, from: JSONEncoder().encode(SecurityPolicy.system))
        #expect(plain == .system)
    }
}
