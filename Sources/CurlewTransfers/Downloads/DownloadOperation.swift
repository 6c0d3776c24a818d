internal import HTTPTypes

/// A running download: from its request, or its token, to the file at its destination. It runs once.
///
/// Its ``DownloadPlan`` decides the next step, and its ``DownloadStorage`` writes to the disk. This actor guards the
/// state that several segments share; it is entered once per chunk.
actor DownloadOperation {
    /// The kept part of a response. The response itself is not kept, because a reference to it holds its transfer.
    private struct Origin: Sendable {
        let head: HTTPResponse
        let uri: CurlewURI
        let history: [CurlewResponse.Redirect]
        let exchange: (any ResponseExchange)?

        init(_ response: CurlewResponse) {
            head = response.head
            uri = response.uri
            history = response.history
            exchange = response.exchange
        }
    }

    /// A response that makes the download restart.
    private struct Rejection: Sendable {
        let restart: DownloadPlan.Restart
        /// The response, if it contains the complete file.
        var response: CurlewResponse?
    }

    /// The request of the complete file, without the fields of the attempts.
    private let request: CurlewRequest
    private let options: DownloadTask.Options
    private let progress: DownloadProgressSource
    private let token: ResumeToken?
    private let storage: DownloadStorage
    private var plan: DownloadPlan
    private var attempts: DownloadAttempts
    /// The response that began the file, or the response to the first range after a token.
    private var origin: Origin?
    /// The requirements of the caller and the server on the file.
    private var check: IntegrityCheck?
    /// The trailer fields of a body that was read completely.
    private var trailers = HTTPFields()
    /// A response with the complete file, received for a range request.
    private var pending: CurlewResponse?

    init(
        session: HTTPSession, request: CurlewRequest, destination: Destination, options: DownloadTask.Options,
        token: ResumeToken?, progress: DownloadProgressSource
    ) {
        self.request = request
        self.options = options
        self.token = token
        self.progress = progress
        storage = DownloadStorage(destination, options)
        plan = DownloadPlan(segments: options.segments, smallestSegment: options.smallestSegment)
        attempts = DownloadAttempts(session, request, options)
    }

    /// Downloads the file.
    /// - Throws: ``CurlewError``, with a token if the download can be resumed.
    func run() async throws(CurlewError) -> DownloadedFile {
        // The token is valid as long as its part file has not changed.
        var untouched = token
        do {
            if let token { try await restore(from: token) }
            untouched = nil
            return try await performPlan()
        } catch {
            throw await conclude(error, untouched)
        }
    }

    private func restore(from token: ResumeToken) async throws {
        guard let ranges = try await storage.restore(from: token) else { return }
        plan.restore(ranges, of: DownloadPlan.Representation(token))
        publish()
    }

    // MARK: Steps

    private func performPlan() async throws -> DownloadedFile {
        while true {
            switch plan.next {
            case .askForWhole:
                do { reject(try await fetchWhole()) } catch { try await recover(from: error) }
            case .askForRanges(let segments, let limit):
                reject(try await fetch(segments, atATime: limit))
            case .verify(let request):
                do { reject(try await verify(request)) } catch { try await recover(from: error) }
            case .restart:
                plan.restart()
                try await clear()
            case .finish(let total): return try await finish(total)
            case .fail(let reason): throw CurlewError(.rangesFailed, reason)
            }
        }
    }

    private func reject(_ rejection: Rejection?) {
        guard let rejection else { return }
        plan.reject(rejection.restart)
        pending = rejection.response
    }

    /// Waits until the next attempt after a failure.
    /// - Throws: The failure if it is final.
    private func recover(from failure: any Error) async throws {
        guard let failure = failure as? CurlewError, !Task.isCancelled, let wait = attempts.wait(after: failure) else {
            throw failure
        }
        try await attempts.sleep(for: wait)
    }

    /// Removes the bytes that the plan has discarded.
    private func clear() async throws {
        origin = nil
        try await storage.clear()
        publish()
    }

    private func publish() { progress.publish(received: plan.receivedCount, total: plan.representation?.total) }

    // MARK: Complete file

    /// Requests the complete file, without a range. If segments are possible, this response only serves the first one,
    /// and further connections fetch the rest.
    private func fetchWhole() async throws -> Rejection? {
        let answer: CurlewResponse
        if let pending {
            self.pending = nil
            answer = pending
        } else {
            answer = try await attempts.send(nil)
        }
        let response = try decodedIfWanted(answer)
        switch DownloadPlan.evaluate(whole: response.status) {
        case .part:
            throw attempts.error(
                .invalidResponse, "the server sent a part although the complete file was requested", response)
        case .empty: throw attempts.error(.emptyBody, "the response has no content", response)
        case .refused: throw await attempts.refusal(response)
        case .accepted: break
        }
        if storage.isOpen, !plan.ranges.isEmpty {
            plan.forget()
            try await clear()
        }
        let length = response.body.length
        try await confirm(with: response, length: length)
        plan.begin(
            DownloadPlan.Representation(response.fields, length: length, isDecoded: !response.contentCodings.isEmpty))
        publish()
        try await checkpoint()
        return try await read(whole: response.body, length: length)
    }

    private func read(whole body: CurlewResponse.Body, length: Int64?) async throws -> Rejection? {
        let segments = plan.segmentsOfWhole
        let number = try openRange(at: 0)
        if segments.count > 1 { return try await fetch(segments, atATime: plan.segmentLimit, first: body) }
        // The digest is computed as the file grows, which saves a second reading.
        if let algorithm = check?.digest?.algorithm { try await storage.follow(algorithm) }
        if let rejection = try await read(body, into: number, upTo: length ?? .max) { return rejection }
        trailers = body.trailers
        plan.end(at: plan.ranges[number].upperBound)
        return nil
    }

    /// Keeps a coding that was not requested, so that the file has the bytes that the server sent. The coding is
    /// removed only if the caller wants that; such a download cannot be resumed.
    private func decodedIfWanted(_ response: CurlewResponse) throws -> CurlewResponse {
        guard request.options.decodesContent == true, response.fields.contains(.contentEncoding) else {
            return response
        }
        return try ContentDecoding().decoded(response, to: request.method)
    }

    /// Accepts the first response of this run. It determines the place of the file and the requirements on it.
    private func confirm(with response: CurlewResponse, length: Int64?) async throws {
        origin = Origin(response)
        plan.confirm()
        let found = IntegrityCheck(options.integrity, ofWhole: response)
        check = found
        if let length { try found.check(count: length, isWhole: true) }
        try await storage.open(for: response)
        // Other segments may have written while the place was chosen.
        if let length { try await storage.checkRoom(for: length - plan.receivedCount) }
    }

    // MARK: Ranges

    /// Fetches segments, at most `limit` at a time. If one fails permanently, or its response is rejected, the others
    /// are cancelled.
    /// - Parameters:
    ///   - segments: The segments in their order.
    ///   - first: The body that begins with the first segment; nil if the segment needs a request.
    private func fetch(
        _ segments: [Range<Int64>], atATime limit: Int, first: CurlewResponse.Body? = nil
    ) async throws -> Rejection? {
        var waiting = segments[...]
        return try await withThrowingTaskGroup(of: Rejection?.self) { group in
            for index in 0..<min(limit, segments.count) {
                let segment = waiting.removeFirst()
                let body = index == 0 ? first : nil
                group.addTask { try await self.fetch(segment, from: body) }
            }
            while let rejection = try await group.next() {
                if let rejection {
                    group.cancelAll()
                    return rejection
                }
                guard let segment = waiting.popFirst() else { continue }
                group.addTask { try await self.fetch(segment, from: nil) }
            }
            return nil
        }
    }

    /// Fetches a segment, and resumes it alone after an interruption.
    private func fetch(_ segment: Range<Int64>, from body: CurlewResponse.Body?) async throws -> Rejection? {
        let number = try openRange(at: segment.lowerBound)
        var body = body
        while let missing = plan.missing(of: segment, in: number) {
            do {
                let rejection =
                    if let first = body.take() {
                        try await read(first, into: number, upTo: segment.upperBound, surplus: .cutOff)
                    } else {
                        try await fetch(missing, into: number)
                    }
                if let rejection { return rejection }
            } catch {
                try await recover(from: error)
            }
        }
        return nil
    }

    private func fetch(_ missing: Range<Int64>, into number: Int) async throws -> Rejection? {
        guard let request = plan.request(for: missing) else { return Rejection(restart: .unverifiable) }
        let response = try await attempts.send(request)
        switch plan.evaluate(response.head, for: request) {
        case .write(let end, let isTooSmall):
            if !plan.isConfirmed { try await confirm(with: response, length: plan.representation?.total) }
            if let rejection = try await read(response.body, into: number, upTo: end) { return rejection }
            if isTooSmall {
                throw attempts.error(.responseTruncated, "the server sent a smaller part than requested", response)
            }
        case .complete:
            if !plan.isConfirmed { try await confirm(with: response, length: plan.representation?.total) }
            await response.discard()
        case .restart(let restart): return rejection(of: response, restart)
        case .refused: throw await attempts.refusal(response)
        }
        return nil
    }

    /// Requests the last byte of a file that an earlier run received completely, to check that the server still has the
    /// same file.
    private func verify(_ request: RangeRequest) async throws -> Rejection? {
        let response = try await attempts.send(request)
        switch plan.evaluate(response.head, for: request) {
        case .write: try await confirm(with: response, length: plan.representation?.total)
        case .restart(let restart): return rejection(of: response, restart)
        case .complete, .refused: throw await attempts.refusal(response)
        }
        await response.discard()
        return nil
    }

    private func rejection(of response: CurlewResponse, _ restart: DownloadPlan.Restart) -> Rejection {
        if restart == .whole { return Rejection(restart: restart, response: response) }
        response.body.abandon()
        return Rejection(restart: restart)
    }

    /// The number of the range that grows by bytes from this offset.
    private func openRange(at start: Int64) throws -> Int {
        let (number, isNew) = plan.open(at: start)
        if isNew { try storage.startHashing(number) }
        return number
    }

    // MARK: Bytes

    /// Writes a body into the part file.
    /// - Parameters:
    ///   - number: The number of the range that grows.
    ///   - end: The offset of the first byte after the body; `Int64.max` if it is unknown.
    ///   - surplus: The treatment of bytes beyond the end. They are never written.
    /// - Throws: The error that interrupted the body; ``ErrorCode/responseTruncated`` if it ended too soon.
    private func read(
        _ body: CurlewResponse.Body, into number: Int, upTo end: Int64, surplus: PartFile.Surplus = .refused
    ) async throws -> Rejection? {
        var chunks = body.makeAsyncIterator()
        let recycling = chunks.takeOverMemory()
        let reception = try await PartFile.receive(
            at: plan.ranges[number].upperBound, upTo: end, surplus: surplus
        ) {
            try await chunks.next()
        } write: { chunk, offset in
            try await self.write(chunk, at: offset, of: number, recycling)
        }
        if reception.isTooLong {
            body.abandon()
            return Rejection(restart: .overlong)
        }
        if end != .max, reception.end < end {
            throw CurlewError(
                .responseTruncated, "the body ended \(end - reception.end) bytes too soon",
                context: CurlewError.Context(stage: .receiving))
        }
        if surplus == .cutOff { body.abandon() }
        return nil
    }

    private func write(
        _ chunk: consuming [UInt8], at offset: Int64, of number: Int, _ recycling: PartFile.Recycling?
    ) async throws {
        let count = chunk.count
        if storage.isHashing(number) {
            try await storage.write(copy chunk, at: offset)
            try storage.hash(chunk, of: number)
        } else {
            // The storage then owns the bytes alone, so their memory is reused.
            try await storage.write(chunk, at: offset, recycling: recycling)
            storage.stopHashing(number)
        }
        // There is no `await` between the hash and this line, so a checkpoint of another segment includes both or
        // neither.
        plan.receive(count, in: number)
        publish()
        if storage.isCheckpointDue { try await checkpoint() }
    }

    private func checkpoint() async throws {
        try await storage.checkpoint(plan.ranges, of: subject, total: plan.representation?.total)
    }

    /// The content of a token besides the bytes; nil if they cannot be resumed.
    private var subject: DownloadStorage.Subject? {
        guard let representation = plan.representation, let validator = representation.rangeValidator else {
            return nil
        }
        return DownloadStorage.Subject(
            uri: request.uri.withoutUserInformation,
            finalURI: origin.flatMap { $0.uri == request.uri ? nil : $0.uri.withoutUserInformation },
            validator: validator, total: representation.total, codings: representation.codings)
    }

    // MARK: Result

    /// Checks a complete file, and gives it its name.
    private func finish(_ total: Int64) async throws -> DownloadedFile {
        guard let origin else { throw CurlewError(.fileFailed, "no request was sent to the server") }
        var check = check
        let (path, digest) = try await storage.commit(total) { part in
            try await check?.verify(part, count: total, trailers: trailers)
        }
        origin.exchange?.report(.moved(path: path))
        return DownloadedFile(
            path: path, size: total, response: origin.head, uri: origin.uri, digest: digest, history: origin.history)
    }

    /// Ends a failed download: keeps a token, or removes the part file.
    /// - Parameter untouched: The original token, if its part file is unchanged.
    private func conclude(_ error: any Error, _ untouched: ResumeToken?) async -> CurlewError {
        var failure = error as? CurlewError ?? CurlewError(.fileFailed, "the download failed", underlying: error)
        if error is CancellationError { failure = CurlewError(.cancelled, "the download was cancelled") }
        failure = failure.adding(request)
        if failure.code.concernsFile { failure = failure.naming(storage.path) }
        guard storage.isOpen else {
            return failure.adding(CurlewError.Context(resumeToken: untouched))
        }
        if let file = failure.file {
            await storage.release()
            origin?.exchange?.report(.moveFailed(path: file, failure))
            return failure
        }
        if !failure.code.isCorruption, let token = await storage.lastToken(plan.ranges, of: subject) {
            await storage.release()
            return failure.adding(CurlewError.Context(resumeToken: token))
        }
        await storage.discard()
        return failure
    }
}
