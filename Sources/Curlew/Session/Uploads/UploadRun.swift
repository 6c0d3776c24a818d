internal import FoundationEssentials
internal import HTTPTypes

/// A file, or a part of it that the server has as an upload of its own, from its creation or its token to its end. One task runs it.
final class UploadRun {
    private let sender: UploadSender
    private let journal: UploadJournal
    private let index: Int
    private let method: HTTPRequest.Method
    private let settings: ResumableUpload.Options
    private let length: Int64
    private var dialect: any UploadDialect
    private var limits = UploadLimits()
    private var patience: UploadPatience
    /// The furthest offset that the server has confirmed.
    private var best: Int64
    private let content: PrefixDigest?
    private let place: UploadPlace
    /// True if any protocol that the server has will do.
    private let speaksAll: Bool

    init(
        sender: UploadSender, part index: Int, dialect: any UploadDialect, method: HTTPRequest.Method,
        settings: ResumableUpload.Options, speaksAll: Bool = false
    ) {
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

    // MARK: The way

    /// - Returns: The server's answer to all of it.
    func run() async throws -> CurlewResponse {
        try await verifyContent()
        // What the server has; nil where it has to be asked.
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
        /// The server has so much; nil if it has to be asked.
        case at(Int64?)
        /// The same once more, in another dialect.
        case again
    }

    /// The file may be another under the same size and date.
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
            throw CurlewError(.invalidRequest, "the file has \(length) bytes, which the server does not take")
        }
        let dialect = dialect
        var step = dialect.creation(method: method, length: length)
        if step.fields[.contentType] == nil, sender.fields[.contentType] == nil, step.carriesBytes {
            step.fields[.contentType] = MultipartFormData.contentType(forFileNamed: journal.path)
        }
        if step.carriesBytes { try await addDigest(to: &step, from: 0, count: length) }
        if step.carriesBytes, !sender.mayBeRepeated(step.method) { try await settings.willCreate?() }
        let response = try await sender.send(
            step, to: journal.target, step.carriesBytes ? .init(part: index, offset: 0, count: length) : nil,
            interim: { [place] head in await place.note(head, dialect) })
        try note(limitsIn: response.head)
        switch try dialect.outcome(of: response.head, isCreation: true) {
        case .complete: return try await concluded(response, sentFrom: 0, count: length)
        case .unknown:
            guard step.carriesBytes, dialect.name != .tus else {
                await response.discard()
                throw CurlewError(.unsupported, "the server does not know the protocol of resumable uploads")
            }
            return try await concluded(response, sentFrom: 0, count: length)
        case .refused:
            if case .draft(let asked) = dialect.name, let spoken = DraftDialect.interop(in: response.head),
                spoken != asked
            {
                await response.discard()
                self.dialect = DraftDialect(interop: spoken)
                journal.speak(.draft(spoken))
                return .again
            }
            // One that does not answer to OPTIONS says it now.
            if case .draft = dialect.name, speaksAll, let features = TusFeatures(response.head) {
                await response.discard()
                self.dialect = TusDialect(features: features, metadata: settings.metadata)
                journal.speak(.tus)
                return .again
            }
            throw await sender.refusal(response)
        case .incomplete(let location, let offset):
            if let location { try await place.adopt(location, response.uri) }
            guard journal.part(index).uri != nil else {
                await response.discard()
                throw CurlewError(.invalidResponse, "the upload was created, and the server does not say where")
            }
            // tus says the end by the offset.
            if dialect.name == .tus, step.carriesBytes, offset == length {
                return try await concluded(response, sentFrom: 0, count: length)
            }
            await response.discard()
            return .at(try await confirmed(offset))
        }
    }

    private func inquire(_ uri: CurlewURI) async throws -> Step {
        let response = try await sender.send(dialect.inquiry(), to: uri)
        guard response.status.kind == .successful else { throw await sender.refusal(response) }
        try note(limitsIn: response.head)
        guard let answer = try dialect.state(in: response.head) else {
            await response.discard()
            throw CurlewError(.invalidResponse, "the server does not say how much it has")
        }
        if answer.isComplete {
            guard answer.offset == length else {
                await response.discard()
                throw CurlewError(.invalidResponse, "the server takes \(answer.offset) of \(length) bytes for all")
            }
            _ = try await confirmed(length)
            return .finished(response)
        }
        await response.discard()
        return .at(try await confirmed(answer.offset))
    }

    private func append(from offset: Int64, to uri: CurlewURI) async throws -> Step {
        let left = length - offset
        let most = min(
            limits.maximumAppend ?? .max, settings.checksParts ? Int64(max(settings.partSize.bytes, 64 << 10)) : .max)
        let count = min(left, max(1, most))
        let isLast = count == left
        var step = dialect.append(from: offset, isLast: isLast, length: length)
        try await addDigest(to: &step, from: offset, count: count)
        let dialect = dialect
        let response = try await sender.send(
            step, to: uri, .init(part: index, offset: offset, count: count),
            interim: { [place] head in await place.note(head, dialect) })
        switch try dialect.outcome(of: response.head, isCreation: false) {
        case .complete where isLast: return try await concluded(response, sentFrom: offset, count: count)
        case .complete:
            await response.discard()
            throw CurlewError(.invalidResponse, "the server takes a part for all")
        case .incomplete(_, let reached?) where reached == length && dialect.name == .tus:
            return try await concluded(response, sentFrom: offset, count: count)
        case .incomplete(_, let reached):
            try note(limitsIn: response.head)
            await response.discard()
            return .at(try await confirmed(reached))
        case .unknown, .refused: throw await sender.refusal(response)
        }
    }

    /// The end, if all was sent: a server may answer before it has read all.
    private func concluded(_ response: CurlewResponse, sentFrom offset: Int64, count: Int64) async throws -> Step {
        if journal.sent(index) >= offset + count {
            try journal.verifyFile()
            if journal.part(index).uri != nil { _ = try await confirmed(length) }
            return .finished(response)
        }
        await response.discard()
        guard journal.part(index).uri != nil else {
            throw CurlewError(.invalidResponse, "the server has answered before it had all")
        }
        return .at(nil)
    }

    // MARK: What is known

    private func note(limitsIn head: HTTPResponse) throws {
        let found = dialect.limits(in: head)
        limits.formUnion(found)
        if let moment = found.expires { journal.expire(moment) }
    }

    /// Takes note of what the server has.
    private func confirmed(_ offset: Int64?) async throws -> Int64? {
        guard let offset else { return nil }
        guard offset <= journal.sent(index) else {
            throw CurlewError(
                .invalidResponse, "the server has \(offset) bytes, and \(journal.sent(index)) were sent")
        }
        var digest: ContentDigest?
        if let content { digest = ContentDigest(hex: try await content.hash(to: min(offset, length))) }
        try await journal.confirm(index, offset, digest)
        if offset > best {
            best = offset
            patience.succeed()
        }
        return offset
    }

    /// Has a request say the digest of its bytes, if that is asked for.
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
            // The server has forgotten it, or ended it.
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

    /// A creation that carries the file may have been taken for all of it, and is not repeated, unless that does no harm. One that
    /// carries nothing leaves an empty upload behind.
    private func mayBeCreatedAgain(_ error: CurlewError) -> Bool {
        if error.stage == .preparing || error.stage == .connecting || error.response != nil { return true }
        let step = dialect.creation(method: method, length: length)
        return !step.carriesBytes || sender.mayBeRepeated(step.method)
    }
}

/// Where a part is on the server.
struct UploadPlace: Sendable {
    let journal: UploadJournal
    let index: Int
    let allowsOtherOrigins: Bool
    /// True if its token has a digest of what has arrived.
    let isDigested: Bool

    /// Takes note of where the upload is.
    func adopt(_ location: String, _ base: CurlewURI) async throws {
        let uri: CurlewURI
        do { uri = try base.resolving(location) } catch {
            throw CurlewError(.invalidResponse, "the place of the upload is no URL", underlying: error)
        }
        guard allowsOtherOrigins || uri.hasSameOrigin(as: journal.target) else {
            throw CurlewError(.invalidResponse, "the server sends the upload to another origin, \(uri.origin)")
        }
        guard uri.scheme == "https" || journal.target.scheme != "https" else {
            throw CurlewError(.invalidResponse, "the server sends the upload from https to http")
        }
        if journal.part(index).uri != uri { try await journal.change(index) { $0.uri = uri } }
    }

    /// Takes note of an interim response. What it says wrong is passed over: the answer counts.
    func note(_ interim: HTTPResponse, _ dialect: any UploadDialect) async {
        guard let announcement = dialect.announcement(in: interim) else { return }
        if let location = announcement.location { try? await adopt(location, journal.target) }
        // A digest would have to be made of it at once: the next answer says it once more.
        let part = journal.part(index)
        guard let offset = announcement.offset, !isDigested, part.uri != nil, offset > part.offset,
            offset <= journal.sent(index)
        else { return }
        try? await journal.change(index) { $0.offset = max($0.offset, offset) }
    }
}
