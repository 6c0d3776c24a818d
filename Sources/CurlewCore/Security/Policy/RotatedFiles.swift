internal import CurlewPlatform
internal import Dispatch

/// The source of a rotation's material.
protocol RotationSource: Sendable {
    /// The material; nil if it is known to be unchanged since the last reading.
    func look() async -> RotationReading?

    /// The material, even if it has not changed.
    func reload() async -> RotationReading
}

/// The result of one reading.
struct RotationReading: Sendable {
    let result: Result<SecurityPolicy.Rotation.Material, any Error>
    /// The identity of the content, to recognize the same content again; nil if there is none.
    var fingerprint: String?
}

/// A closure that provides material.
struct RotationProvider: RotationSource {
    let ask: @Sendable () async throws -> SecurityPolicy.Rotation.Material

    func look() async -> RotationReading? { await reload() }

    func reload() async -> RotationReading {
        do { return RotationReading(result: .success(try await ask())) } catch {
            return RotationReading(result: .failure(error))
        }
    }
}

/// The files of a rotation, and their state at the last reading. They are read on a separate queue.
final class RotatedFiles: RotationSource {
    /// The metadata of a file. A replaced or changed file has another mark.
    private struct Mark: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let modified: [Int]
        let changed: [Int]

        /// - Returns: nil if the file does not exist. Symbolic links are followed.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
            changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
        }

        /// True if a later write may leave the same times. Times advance with the kernel's ticks or, on some file
        /// systems, every two seconds.
        func isRecent(at seconds: Int) -> Bool { abs(seconds - changed[0]) <= 2 }
    }

    private struct Seen {
        var marks: [Mark?] = []
        /// True if the next look has to read the files, even if the marks are equal.
        var isDoubtful = true
        var fingerprint: String?
    }

    private struct Content {
        var certificate: [UInt8]?
        var key: [UInt8]?
        var anchors: [UInt8]?
    }

    /// The limit on the size of the authorities' file.
    private static let anchorsLimit = 16 << 20
    /// The largest number of readings per look, if files change while they are read.
    private static let readingLimit = 3

    private let certificatePath: String?
    private let keyPath: String?
    private let passphrase: String?
    private let anchorsPath: String?
    private let queue = DispatchQueue(label: "curlew.rotation")
    private let seen = Guarded(Seen())

    init(certificate: String?, key: String?, passphrase: String?, anchors: String?) throws {
        guard certificate != nil || anchors != nil else {
            throw CurlewError(.invalidTLSSetting, "a rotation needs the file of a certificate, or of authorities")
        }
        guard certificate != nil || (key == nil && passphrase == nil) else {
            throw CurlewError(.invalidTLSSetting, "a rotation has a key, and no certificate for it")
        }
        certificatePath = certificate
        keyPath = key
        self.passphrase = passphrase
        anchorsPath = anchors
    }

    func look() async -> RotationReading? { await read(isForced: false) }

    func reload() async -> RotationReading { await read(isForced: true) ?? impossible }

    private func read(isForced: Bool) async -> RotationReading? {
        // A lock hands over the result, as ThreadSanitizer does not recognize the order that a queue and a continuation
        // establish.
        let result = Guarded<RotationReading?>(nil)
        await withCheckedContinuation { waiter in
            queue.async {
                let reading = self.reading(isForced: isForced)
                result.withLock { $0 = reading }
                waiter.resume()
            }
        }
        return result.withLock { $0 }
    }

    /// Reads the files on this thread.
    func read() throws -> SecurityPolicy.Rotation.Material { try (reading(isForced: true) ?? impossible).result.get() }

    private var impossible: RotationReading {
        RotationReading(result: .failure(CurlewError(.invalidTLSSetting, "the files of a rotation were not read")))
    }

    /// - Returns: nil if the files have not changed and the reading is not forced.
    private func reading(isForced: Bool) -> RotationReading? {
        let marks = marks
        let last = seen.withLock { $0 }
        guard isForced || last.isDoubtful || marks != last.marks else { return nil }
        do {
            let (content, marks) = try content(marks)
            let fingerprint = try Self.fingerprint(content)
            let now = time(nil)
            let isDoubtful = marks.contains { $0?.isRecent(at: now) ?? true }
            seen.withLock { $0 = Seen(marks: marks, isDoubtful: isDoubtful, fingerprint: fingerprint) }
            guard isForced || fingerprint != last.fingerprint else { return nil }
            return RotationReading(result: Result { try material(content) }, fingerprint: fingerprint)
        } catch {
            seen.withLock { $0 = Seen() }
            return RotationReading(result: .failure(error))
        }
    }

    private var paths: [String] { [certificatePath, keyPath, anchorsPath].compactMap { $0 } }

    private var marks: [Mark?] { paths.map(Mark.init) }

    /// Reads all files. Files that belong together are replaced one by one, so all are read again if one has changed
    /// meanwhile.
    private func content(_ first: [Mark?]) throws -> (Content, [Mark?]) {
        var marks = first
        var content = try readOnce()
        for _ in 1..<Self.readingLimit {
            let after = self.marks
            if after == marks { break }
            marks = after
            content = try readOnce()
        }
        // Later changes are detected by the next poll.
        return (content, marks)
    }

    private func readOnce() throws -> Content {
        var content = Content()
        content.certificate = try certificatePath.map { try SecurityFile.bytes(of: $0, limit: KeyReading.sizeLimit) }
        content.key = try keyPath.map { try SecurityFile.bytes(of: $0, limit: KeyReading.sizeLimit) }
        content.anchors = try anchorsPath.map { try SecurityFile.bytes(of: $0, limit: Self.anchorsLimit) }
        return content
    }

    private static func fingerprint(_ content: Content) throws -> String {
        let digest = try MessageDigest(.sha256)
        for bytes in [content.certificate, content.key, content.anchors] {
            try digest.update(Array("\(bytes?.count ?? -1):".utf8))
            if let bytes { try digest.update(bytes) }
        }
        return try digest.finish()
    }

    private func material(_ content: Content) throws -> SecurityPolicy.Rotation.Material {
        var material = SecurityPolicy.Rotation.Material()
        if let certificate = content.certificate {
            material.identity = try ClientIdentity(
                pem: String(decoding: certificate, as: UTF8.self),
                key: content.key.map { String(decoding: $0, as: UTF8.self) }, passphrase: passphrase)
        }
        material.anchors = try content.anchors.map { try SecurityPolicy.certificates(in: $0) }
        return material
    }
}
