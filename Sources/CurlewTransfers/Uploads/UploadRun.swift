internal import FoundationEssentials
internal import HTTPTypes

/// The upload of a file, or of a part with an upload of its own, from its creation or its token to its end. A single
/// task runs it.
final class UploadRun {
    private let sender: UploadSender
    private let journal: UploadJournal
    private let index: Int
    private let method: HTTPRequest.Method
    private let settings: ResumableUpload.Options
    private let length: Int64
    private var dialect: any UploadDialect
    private var limits: UploadLimits
    private var patience: UploadPatience
    /// The furthest offset that the server has confirmed.
    private var best: Int64
    private let content: PrefixDigest?
    private let place: UploadPlace
    /// True if every protocol is allowed.
    private let speaksAll: Bool
    /// The dialects in which the creation was tried.
    private var tried: Set<UploadDialectName> = []

    init(
        sender: UploadSender, part index: Int, dialect: any UploadDialect, method: HTTPRequest.Method,
        settings: ResumableUpload.Options, limits: UploadLimits = UploadLimits(), speaksAll: Bool = false
    ) {
        self.limits = limits
        self.speaksAll = speaksAll
        self.sender = sender
        self.index = index
        self.dialect = dialect
        self.method = method
        self.settings = settings
        journal = sender.journal
        let part = journal.part(index)
        length = part.length
        best = part.offset
        place = UploadPlace(
            journal: journal, index: index, allowsOtherOrigins: settings.allowsOtherOrigins,
            isDigested: settings.digestsContent || part.digest != nil)
        patience = UploadPatience(settings)
        content = place.isDigested ? PrefixDigest(path: journal.path, start: part.start, .sha256) : nil
    }

    // MARK: Main loop

    /// - Returns: The server's response to the complete upload.
    func run() async throws -> CurlewResponse {
        try await verifyContent()
        // The server's offset; nil if the server has to be asked.
        var known: Int64?
        while true {
            do {
                try Task.checkCancellation()
                try journal.verifyFile()
                let step: Step
                if let uri = journal.part(index).uri {
                    step = if let known { try await append(from: known, to: uri) } else { try await inquire(uri) }
                } else {
                    step = try await create()
                }
                switch step {
                case .finished(let response): return response
                case .at(let offset): known = offset
                case .again: break
                }
            } catch let error as CurlewError {
                known = nil
                try await recover(from: error)
            }
        }
    }

    private enum Step {
        case finished(CurlewResponse)
        /// The server's offset; nil if the server has to be asked.
        case at(Int64?)
        /// The creation has to be repeated in another dialect.
        case again
    }

    /// Checks the digest: the file may be another one with the same size and date.
    private func verifyContent() async throws {
        let part = journal.part(index)
        guard let content, let digest = part.digest else { return }
        guard try await content.hash(to: part.offset) == digest.description else {
            throw CurlewError(.bodyLengthMismatch, "the file is not the one that the upload was begun with")
        }
    }

    // MARK: Steps

    private func create() async throws -> Step {
        guard length <= limits.maximumSize ?? .max, length >= limits.minimumSize ?? 0 else {
            throw CurlewError(.invalidRequest, "the file has \(length) bytes, a size that the server does not accept")
        }
        let dialect = dialect
        tried.insert(dialect.name)
        var step = dialect.creation(method: method, length: length)
        if step.fields[.contentType] == nil, sender.fields[.contentType] == nil, step.carriesBytes {
            step.fields[.contentType] = MultipartFormData.contentType(forFileNamed: journal.path)
        }
        if step.carriesBytes { try await addDigest(to: &step, from: 0, count: length) }
        if step.carriesBytes, !sender.mayBeRepeated(step.method) { try await settings.willCreate?() }
        let response = try await sender.send(
            step, to: journal.target, step.carriesBytes ? .init(part: index, offset: 0, count: length) : nil,
            interim: { [place] head, uri in await place.note(head, from: uri, dialect) })
        try note(limitsIn: response.head)
        switch try dialect.outcome(of: response.head, isCreation: true) {
        case .complete: return try await concluded(response, sentFrom: 0, count: length)
        case .unknown:
            guard step.carriesBytes, dialect.name != .tus else {
                await response.discard()
                throw CurlewError(.unsupported, "the server does not support the protocol of resumable uploads")
            }
            return try await concluded(response, sentFrom: 0, count: length)
        case .refused:
            if let other = try otherDialect(after: response.head) {
                await response.discard()
                self.dialect = other
                journal.speak(other.name)
                return .again
            }
            throw await sender.refusal(response)
        case .incomplete(let location, let offset):
            if let location { try await place.adopt(location, response.uri) }
            guard journal.part(index).uri != nil else {
                await response.discard()
                throw CurlewError(.invalidResponse, "the server created the upload, but did not send its URL")
            }
            // tus reports the end by the offset.
            if dialect.name == .tus, step.carriesBytes, offset == length {
                return try await concluded(response, sentFrom: 0, count: length)
            }
            await response.discard()
            if let offset { try await confirm(offset) }
            return .at(offset)
        }
    }

    /// The dialect that a server declares when it refuses another one; nil if it declares no dialect that is still
    /// untried.
    private func otherDialect(after refusal: HTTPResponse) throws -> (any UploadDialect)? {
        guard case .draft = dialect.name else { return nil }
        if let interop = DraftDialect.interop(in: refusal) {
            return tried.contains(.draft(interop)) ? nil : DraftDialect(interop: interop)
        }
        // A server that ignores OPTIONS may declare its protocol in this refusal.
        guard speaksAll, let features = TusFeatures(refusal) else { return nil }
        let dialect = TusDialect(features: features, metadata: settings.metadata)
        if settings.checksParts, dialect.digests.isEmpty { throw UploadStart.noChecksum }
        return dialect
    }

    private func inquire(_ uri: CurlewURI) async throws -> Step {
        let response = try await sender.send(dialect.inquiry(), to: uri)
        guard response.status.kind == .successful else { throw await sender.refusal(response) }
        try note(limitsIn: response.head)
        guard let answer = try dialect.state(in: response.head) else {
            await response.discard()
            throw CurlewError(.invalidResponse, "the server does not report the number of bytes that it has")
        }
        if answer.isComplete {
            guard answer.offset == length else {
                await response.discard()
                throw CurlewError(
                    .invalidResponse,
                    "the server reports the upload as complete after \(answer.offset) of \(length) bytes")
            }
            try await confirm(length)
            return .finished(response)
        }
        await response.discard()
        try await confirm(answer.offset)
        return .at(answer.offset)
    }

    private func append(from offset: Int64, to uri: CurlewURI) async throws -> Step {
        let left = length - offset
        let wanted = settings.checksParts ? Int64(max(settings.partSize.bytes, 64 << 10)) : .max
        let most = limits.maximumAppend ?? .max
        guard most >= min(left, UploadLimits.leastAppend) else {
            throw CurlewError(.unsupported, "the server accepts only \(most) bytes in one request")
        }
        let count = min(left, most, max(wanted, limits.minimumAppend ?? 0))
        let isLast = count == left
        var step = dialect.append(from: offset, isLast: isLast, length: length)
        try await addDigest(to: &step, from: offset, count: count)
        let dialect = dialect
        let response = try await sender.send(
            step, to: uri, .init(part: index, offset: offset, count: count),
            interim: { [place] head, uri in await place.note(head, from: uri, dialect) })
        switch try dialect.outcome(of: response.head, isCreation: false) {
        case .complete where isLast: return try await concluded(response, sentFrom: offset, count: count)
        case .complete:
            await response.discard()
            throw CurlewError(.invalidResponse, "the server reports the upload as complete after a part")
        case .incomplete(_, let reached?) where reached == length && dialect.name == .tus:
            return try await concluded(response, sentFrom: offset, count: count)
        case .incomplete(_, let reached):
            try note(limitsIn: response.head)
            await response.discard()
            guard let reached else {
                try patience.count(Self.isStalled)
                return .at(nil)
            }
            if !(try await confirm(reached)) { try await patience.wait(after: Self.isStalled, isWorth: true) }
            // The server has all bytes, but does not declare the end. It may declare the end when it is asked.
            return .at(reached == length ? nil : reached)
        case .unknown, .refused: throw await sender.refusal(response)
        }
    }

    private static let isStalled = CurlewError(
        .invalidResponse, "the server confirms no progress")

    /// Ends the upload if all bytes were sent: a server may respond before it has read all of them.
    private func concluded(_ response: CurlewResponse, sentFrom offset: Int64, count: Int64) async throws -> Step {
        if journal.most(index) >= offset + count {
            try journal.verifyFile()
            if journal.part(index).uri != nil { try await confirm(length) }
            return .finished(response)
        }
        await response.discard()
        guard journal.part(index).uri != nil else {
            throw CurlewError(.invalidResponse, "the server responded before it had all bytes")
        }
        try patience.count(Self.isStalled)
        return .at(nil)
    }

    // MARK: State

    private func note(limitsIn head: HTTPResponse) throws {
        let found = dialect.limits(in: head)
        limits.formUnion(found)
        if let moment = found.expires { journal.expire(moment) }
    }

    /// Records the offset that the server has confirmed.
    /// - Returns: True if the offset is progress.
    @discardableResult
    private func confirm(_ offset: Int64) async throws -> Bool {
        let most = journal.most(index)
        guard offset <= most else {
            throw CurlewError(.invalidResponse, "the server has \(offset) bytes, and \(most) were sent")
        }
        var digest: ContentDigest?
        if let content { digest = try ContentDigest(hex: try await content.hash(to: min(offset, length))) }
        try await journal.confirm(index, offset, digest)
        let isProgress = UploadPatience.isProgress(gain: offset - best, sent: most - best, left: length - best)
        best = max(best, offset)
        if isProgress { patience.succeed() }
        return isProgress
    }

    /// Adds the digest of a request's bytes, if the options require it.
    private func addDigest(to step: inout UploadStep, from offset: Int64, count: Int64) async throws {
        guard settings.checksParts, let digest = dialect.digests.first else { return }
        let part = PrefixDigest(path: journal.path, start: journal.part(index).start + offset, digest.algorithm)
        let digits = try await part.hash(to: count).utf8.compactMap(\.hexValue)
        let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        step.fields[digest.field] = "\(digest.prefix)\(Data(bytes).base64EncodedString())\(digest.suffix)"
    }

    // MARK: Failures

    private func recover(from error: CurlewError) async throws {
        let status = error.response?.status.code
        let hasPlace = journal.part(index).uri != nil
        if hasPlace, status == 404 || status == 410 {
            // The server has deleted the upload, which may have expired or ended.
            try patience.restart(after: error)
            journal.restart(index)
            best = 0
            return
        }
        let isWorth =
            hasPlace
            ? error.isWorthRepeating || [409, 412, 423, 460].contains(status)
                || (error.code == .unacceptableStatus && (status ?? 0) >= 500)
            : error.isWorthRepeating && mayBeCreatedAgain(error)
        try await patience.wait(after: error, isWorth: isWorth)
    }

    /// True if a creation may be repeated. The server may have accepted a creation with the file as complete, so it is
    /// repeated only if that is harmless. A repeated creation without bytes only leaves an empty upload behind.
    private func mayBeCreatedAgain(_ error: CurlewError) -> Bool {
        if error.stage == .preparing || error.stage == .connecting || error.response != nil { return true }
        let step = dialect.creation(method: method, length: length)
        return !step.carriesBytes || sender.mayBeRepeated(step.method)
    }
}
