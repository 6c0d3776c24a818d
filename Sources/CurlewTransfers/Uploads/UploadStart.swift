internal import HTTPTypes

/// The choice of the protocol, and the upload of the file in one part or several.
struct UploadStart: Sendable {
    let sender: UploadSender
    let method: HTTPRequest.Method
    let settings: ResumableUpload.Options

    private var journal: UploadJournal { sender.journal }

    static func dialect(_ name: UploadDialectName) throws -> any UploadDialect {
        switch name {
        case .draft(let interop): return DraftDialect(interop: interop)
        case .tus: return TusDialect()
        case .multipart:
            throw CurlewError(.invalidResumeToken, "an upload by presigned URLs can be resumed by presigned URLs only")
        case .undecided: throw CurlewError(.invalidResumeToken, "the upload has not begun")
        }
    }

    static let noChecksum = CurlewError(.unsupported, "the server accepts no checksum that is supported here")

    func run(_ choice: ResumableUpload.Dialect) async throws -> CurlewResponse {
        for name in settings.metadata.keys {
            guard !name.isEmpty, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }) else {
                throw CurlewError(.invalidRequest, "a key of the metadata is ASCII without spaces and commas")
            }
        }
        let (dialect, limits) = try await dialect(for: choice)
        if settings.checksParts, dialect.digests.isEmpty { throw Self.noChecksum }
        if settings.token == nil {
            let canConcatenate = (dialect as? TusDialect)?.features.extensions.contains("concatenation") ?? false
            // Parts of a small file would cost more than they save.
            let most = max(1, Int(min(journal.length >> 20, Int64(UploadToken.parallelLimit))))
            let parts = UploadPart.parts(
                of: journal.length, count: canConcatenate ? min(max(1, settings.parallelParts), most) : 1)
            try journal.begin(dialect.name, parts)
        }
        guard journal.partCount > 1 else {
            return try await UploadRun(
                sender: sender, part: 0, dialect: dialect, method: method, settings: settings, limits: limits,
                speaksAll: choice == .automatic
            ).run()
        }
        guard var parts = dialect as? TusDialect else {
            throw CurlewError(.invalidResumeToken, "its protocol does not support parts")
        }
        guard journal.length <= limits.maximumSize ?? .max else {
            throw CurlewError(
                .invalidRequest, "the file has \(journal.length) bytes, a size that the server does not accept")
        }
        parts.isPart = true
        return try await concatenation(parts)
    }

    // MARK: Protocol

    /// - Returns: The dialect, and the limits that are known before the upload.
    private func dialect(
        for choice: ResumableUpload.Dialect
    ) async throws -> (any UploadDialect, UploadLimits) {
        if let token = settings.token {
            let dialect = try Self.dialect(token.dialect)
            guard dialect.name == .tus, settings.checksParts else { return (dialect, UploadLimits()) }
            return (TusDialect(features: try await offer().tus ?? .none), UploadLimits())
        }
        switch choice {
        case .ietf: return (DraftDialect(interop: 6), UploadLimits())
        case .tus where !settings.checksParts && settings.parallelParts <= 1:
            // The options need no extension of tus, so the server is not queried.
            return (TusDialect(metadata: settings.metadata), UploadLimits())
        case .tus, .automatic:
            let offer = try await offer()
            if let tus = offer.tus { return (TusDialect(features: tus, metadata: settings.metadata), offer.limits) }
            guard choice == .automatic else {
                throw CurlewError(.unsupported, "the server does not support the protocol of resumable uploads")
            }
            return (DraftDialect(interop: offer.interop ?? 6), offer.limits)
        }
    }

    /// The protocols and limits that the server declares in its response to OPTIONS.
    private func offer() async throws -> (tus: TusFeatures?, interop: Int?, limits: UploadLimits) {
        let response = try await sender.send(UploadStep(method: .options, fields: HTTPFields()), to: journal.target)
        await response.discard()
        guard let tus = TusFeatures(response.head) else {
            let interop = DraftDialect.interop(in: response.head)
            return (nil, interop, DraftDialect(interop: interop ?? 6).limits(in: response.head))
        }
        return (tus, nil, UploadLimits(maximumSize: tus.maximumSize))
    }

    // MARK: Parts

    /// Sends the parts in parallel. The server then concatenates them.
    private func concatenation(_ dialect: TusDialect) async throws -> CurlewResponse {
        var patience = UploadPatience(settings)
        while true {
            try await withThrowingTaskGroup { group in
                for index in 0..<journal.partCount {
                    group.addTask {
                        let response = try await UploadRun(
                            sender: sender, part: index, dialect: dialect, method: method, settings: settings
                        ).run()
                        await response.discard()
                    }
                }
                try await group.waitForAll()
            }
            do {
                try journal.verifyFile()
                let uris = (0..<journal.partCount).compactMap { journal.part($0).uri }
                let response = try await sender.send(dialect.concatenation(of: uris), to: journal.target)
                guard response.status == .created else { throw await sender.refusal(response) }
                return response
            } catch let error as CurlewError {
                // The server may have lost a part. The next round asks for the offset of each part again.
                let isWorth =
                    error.response != nil || sender.mayBeRepeated(.post) || error.stage == .connecting
                    || error.stage == .preparing
                let isRefused = error.response.map { $0.status.kind == .clientError } ?? false
                try await patience.wait(
                    after: error,
                    isWorth: isWorth && (error.isWorthRepeating || isRefused && error.response?.status.code != 403))
            }
        }
    }
}
