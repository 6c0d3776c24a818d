internal import HTTPTypes

extension DownloadRun {
    /// Writes a body into the part file.
    /// - Parameters:
    ///   - end: The first byte of the file that the body does not have; `Int64.max` if that is not known.
    ///   - isCutOff: Whether the body goes on beyond the end, and is let go of there.
    /// - Throws: What broke the body off; ``ErrorCode/responseTruncated`` if it ended too soon; ``FreshStart`` if it is longer
    ///   than it may be. Nothing beyond the end is written.
    func read(_ body: ResponseBody, into run: ReceivedRun, upTo end: Int64, isCutOff: Bool) async throws {
        var chunks = body.makeAsyncIterator()
        let memory = chunks.takeOverMemory()
        while let chunk = try await chunks.next() {
            // Where the disk is slower than the network there is always a next chunk, and nothing that would throw.
            try Task.checkCancellation()
            let room = end - run.end
            if Int64(chunk.count) <= room {
                try await write(chunk, run, memory)
                if isCutOff, run.end == end { return body.abandon() }
            } else if isCutOff {
                try await write(Array(chunk.prefix(Int(room))), run)
                return body.abandon()
            } else {
                body.abandon()
                throw FreshStart("a body was longer than it said", avoidsRanges: true)
            }
        }
        if end != .max, run.end < end {
            throw CurlewError(
                .responseTruncated, "the body ended \(end - run.end) bytes too soon",
                context: CurlewError.Context(stage: .receiving))
        }
    }

    private func write(
        _ chunk: consuming [UInt8], _ run: ReceivedRun, _ memory: (@Sendable (inout [UInt8]) -> Void)? = nil
    ) async throws {
        guard let part else { throw CurlewError(.fileFailed, "there is no part file") }
        let count = chunk.count
        if run.hashes {
            try await part.write(copy chunk, at: run.end)
            try run.append(chunk)
        } else {
            // Nobody else holds the bytes then, and their memory is filled again.
            try await part.write(chunk, at: run.end, memory: memory)
            run.extend(by: count)
        }
        publish()
        sinceCheckpoint += count
        if sinceCheckpoint >= max(options.checkpoint.bytes, 64 << 10) { try await checkpoint() }
    }

    func publish() {
        let received = runs.reduce(Int64(0)) { $0 + ($1.range.upperBound - $1.range.lowerBound) }
        progress.publish(received: received, total: representation?.total)
    }

    // MARK: Requests

    /// Sends an attempt: of a range, or of the whole.
    func send(_ question: RangeQuestion?) async throws -> Response {
        var request = request
        question?.ask(in: &request.fields)
        // What comes must be the bytes of the file: ranges of a coded body cannot be put together.
        request.fields[.acceptEncoding] = "identity"
        request.options.decodesContent = false
        request.options.kind = .download
        request.options.onResponse = nil
        let goesOnByItself = question != nil || options.resumes > 0
        if goesOnByItself, request.options.maximumAttempts == nil { request.options.maximumAttempts = 1 }
        try Task.checkCancellation()
        try attempts.deadline.limit(&request)
        return try await session.send(request)
    }

    /// The error for a status that brings no file, with the beginning of what the server says to it.
    func refusal(_ response: Response) async -> CurlewError {
        let (bytes, breakage) = await response.body.gather(upTo: ByteCount(CurlewError.bodyPrefixLimit))
        response.body.abandon()
        var context = context(response)
        if breakage is CancellationError || (breakage as? CurlewError)?.code == .cancelled {
            return CurlewError(.cancelled, "the download was cancelled", context: context, underlying: breakage)
        }
        context.bodyPrefix = bytes
        return CurlewError(
            .unacceptableStatus, "status \(response.status.code) where a file was wanted", context: context)
    }

    func error(_ code: ErrorCode, _ message: String, _ response: Response) -> CurlewError {
        CurlewError(code, message, context: context(response))
    }

    private func context(_ response: Response) -> CurlewError.Context {
        var context = CurlewError.Context(
            method: request.method, uri: response.uri, stage: .receiving, response: response.head)
        context.history = response.history
        context.attempts = response.attempts
        return context
    }
}
