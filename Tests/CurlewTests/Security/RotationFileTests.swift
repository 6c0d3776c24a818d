import CurlewTesting
import CurlewTestingTraits
import Foundation
import Logging
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Rotating identities and anchors in files", .noLeaks, .timeLimit(.minutes(2)))
struct RotationFileTests {
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
            first = try RotationScene.client("first")
            if base.isEmpty { try Self.write(first, in: folder.path) }
            rotation = try SecurityPolicy.Rotation(
                certificateFile: folder.path + base + "/tls.crt", keyFile: folder.path + base + "/tls.key",
                every: RotationScene.interval, clock: clock)
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
            clock.advance(by: RotationScene.interval)
            try await clock.waitForSleepers(1)
        }
    }

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
            try Files.write(RotationScene.client("first"), in: folder.path + "/one")
            try manager.createSymbolicLink(atPath: folder.path + "/data", withDestinationPath: "one")
        }
        var files = try Files(folder, base: usesLink ? "/data" : "")
        let second = try RotationScene.client("second")
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
        #expect(news?.leaf == second.certificateDER)
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
        let (path, second) = (files.folder.path, try RotationScene.client("second"))
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
        let error = try #require(first?.refusal)
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
        #expect(next?.leaf == second.certificateDER)
        #expect(log.lines.count == 1)
    }

    @Test("a certificate that is written before its key is used once the key is there")
    func oneAfterTheOther() async throws {
        var files = try Files()
        let second = try RotationScene.client("second")
        try files.write("tls.crt", second.certificatePEM)
        try await files.look()
        let first = await files.updates.next()
        #expect(first?.refusal != nil)
        try files.write("tls.key", second.privateKeyPEM)
        try await files.look()
        let next = await files.updates.next()
        #expect(next?.leaf == second.certificateDER)
    }

    @Test(
        "a certificate that has expired, or is not valid yet, is used with a warning",
        arguments: [HeldCertificate.Validity.expired, .notYetValid])
    func expired(_ validity: HeldCertificate.Validity) async throws {
        let log = RecordingLog()
        let files = try withLogger(log.logger(.info)) { _ in try Files() }
        let second = try RotationScene.client("second", validity: validity)
        try Files.write(second, in: files.folder.path)
        try await files.look()
        #expect(files.rotation.material.identity?.chain.first?.der == second.certificateDER)
        #expect(log.lines.map(\.level) == [.warning])
    }

    @Test("unusable files at the start are an error")
    func unusableAtStart() throws {
        let folder = try ScratchFolder()
        try Files.write(RotationScene.client("first"), in: folder.path)
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
}
