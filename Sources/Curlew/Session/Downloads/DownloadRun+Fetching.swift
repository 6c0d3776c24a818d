internal import HTTPTypes

extension DownloadRun {
    // MARK: The whole

    /// Asks for the whole, without a range. Where it is worth it, only the beginning is taken from this answer, and the rest
    /// comes over further connections.
    func fetchFromStart() async throws {
        let response: Response
        if let pending {
            self.pending = nil
            response = pending
        } else {
            response = try await send(nil)
        }
        try await begin(with: try decodedIfCoded(response))
    }

    private func begin(with response: Response) async throws {
        switch response.status.code {
        case 206: throw error(.invalidResponse, "the server sent a part where the whole was asked for", response)
        case 204, 205: throw error(.emptyBody, "the response has no content", response)
        case 200...299: break
        default: throw await refusal(response)
        }
        if part != nil, !runs.isEmpty { try await forget() }
        let found = Representation(response)
        try await begin(at: response, length: found.total)
        representation = found
        publish()
        try await checkpoint()
        try await read(whole: response.body, of: found)
    }

    /// Takes the first answer of a file, or of a continued one: from now on it is known where the file goes.
    private func begin(at response: Response, length: Int64?) async throws {
        origin = Origin(response)
        let found = IntegrityCheck(options.integrity, of: response.asWhole)
        check = found
        if let length { try found.check(count: length, isWhole: true) }
        let place = try await choosePlace(for: response)
        let part: PartFile
        if let open = self.part {
            part = open
            // Known now, and not when all bytes have come.
            try await destination.check(place, for: part)
        } else {
            part = try await destination.makePart(for: place)
        }
        self.part = part
        if let length { try await part.checkRoom(for: length - ranges.count) }
    }

    private func choosePlace(for response: Response) async throws -> String {
        if let place { return place }
        do {
            let chosen = try await destination.path(for: response)
            if let tokenFile = options.tokenFile, absolute(tokenFile) == absolute(chosen) {
                throw CurlewError(.invalidDestination, "the file is to go where its token is kept")
            }
            place = chosen
            return chosen
        } catch  where !(error is CurlewError || error is CancellationError) {
            throw CurlewError(.invalidDestination, "no destination was chosen", underlying: error)
        }
    }

    private func read(whole body: ResponseBody, of found: Representation) async throws {
        let pieces = plan([0..<(found.total ?? .max)], found)
        let run = try openRun(at: 0)
        if pieces.count > 1, let first = pieces.first {
            try await fetch(pieces, first: body, until: first.upperBound)
        } else {
            // As the file grows, and not by reading it again.
            if let algorithm = check?.digest?.algorithm { try await part?.follow(algorithm) }
            try await read(body, into: run, upTo: found.total ?? .max, isCutOff: false)
            trailers = body.trailers
            if representation?.total == nil { representation?.total = run.end }
        }
    }

    /// The segments of what is missing: as many as asked for, if the server is fit for them.
    func plan(_ gaps: [Range<Int64>], _ found: Representation) -> [Range<Int64>] {
        let isFit = !avoidsSegments && !avoidsRanges && found.announcesRanges && found.rangeValidator != nil
        let count = isFit ? options.segments : 1
        return SegmentPlan(dividing: gaps, into: count, smallest: options.smallestSegment).segments
    }

    /// A coding that was not asked for is undone if it is known; such a download cannot be continued.
    private func decodedIfCoded(_ response: Response) throws -> Response {
        guard RangeQuestion.isCoded(response.fields), request.options.decodesContent != false else { return response }
        return try ContentDecoding().decoded(response, to: request.method)
    }

    // MARK: What is missing

    /// Asks for what is missing, one piece after the other or several at a time.
    func fetchMissing(_ validator: RepresentationValidator) async throws {
        guard let representation else { return }
        let gaps = ranges.missing(of: representation.total)
        if gaps.isEmpty, let total = representation.total { return try await confirm(total, validator) }
        try await fetch(plan(gaps, representation), first: nil, until: 0)
    }

    /// All bytes are there, from an earlier time: asks for the last one, to see that they are still those of the server.
    private func confirm(_ total: Int64, _ validator: RepresentationValidator) async throws {
        let question = RangeQuestion(wanted: (total - 1)..<total, total: total, validator: validator)
        do {
            let response = try await send(question)
            switch question.judge(response.head) {
            case .part: try await begin(at: response, length: self.representation?.total)
            case .whole: throw FreshStart(whole: response)
            case .misfit(let misfit): throw FreshStart(misfit)
            case .complete, .refused: throw await refusal(response)
            }
            await response.discardBody()
        } catch {
            try await recover(from: error)
        }
    }

    // MARK: Pieces

    /// Fetches pieces, at most ``DownloadOptions/segments`` at a time. If one fails for good, the others are cancelled.
    /// - Parameters:
    ///   - pieces: The pieces in their order.
    ///   - first: The body that begins with the first piece, if there is one.
    private func fetch(_ pieces: [Range<Int64>], first: ResponseBody?, until end: Int64) async throws {
        let limit = avoidsSegments ? 1 : min(max(options.segments, 1), SegmentPlan.countLimit)
        var waiting = pieces[...]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(limit, pieces.count) {
                let piece = waiting.removeFirst()
                let body = piece.upperBound == end ? first : nil
                group.addTask { try await self.fetch(piece, from: body) }
            }
            while try await group.next() != nil {
                guard let piece = waiting.popFirst() else { continue }
                group.addTask { try await self.fetch(piece, from: nil) }
            }
        }
    }

    /// Fetches a piece, and goes on with it alone when it breaks off.
    private func fetch(_ piece: Range<Int64>, from body: ResponseBody?) async throws {
        let run = try openRun(at: piece.lowerBound)
        var body = body
        while run.end < min(piece.upperBound, representation?.total ?? .max) {
            do {
                if let first = body.take() {
                    try await read(first, into: run, upTo: piece.upperBound, isCutOff: true)
                } else {
                    try await ask(run.end..<piece.upperBound, into: run)
                }
            } catch {
                try await recover(from: error)
            }
        }
    }

    /// A shorter part than was asked for is allowed; one that is not even this long counts as a failure.
    private static let leastPart: Int64 = 64 << 10

    private func ask(_ wanted: Range<Int64>, into run: ReceivedRun) async throws {
        guard let representation, let validator = representation.rangeValidator else {
            throw FreshStart("nothing tells whether it is the same")
        }
        let question = RangeQuestion(wanted: wanted, total: representation.total, validator: validator)
        let response = try await send(question)
        switch question.judge(response.head) {
        case .part(let range, let total):
            if self.representation?.total == nil { self.representation?.total = total }
            if origin == nil { try await begin(at: response, length: self.representation?.total) }
            try await read(response.body, into: run, upTo: range.upperBound, isCutOff: false)
            let isShort = range.upperBound < min(wanted.upperBound, total ?? .max)
            if isShort, range.upperBound - range.lowerBound < Self.leastPart {
                throw error(.responseTruncated, "the server sent a smaller part than was asked for", response)
            }
        case .complete:
            self.representation?.total = run.end
            if origin == nil { try await begin(at: response, length: self.representation?.total) }
            await response.discardBody()
        case .whole: throw FreshStart(whole: response)
        case .misfit(let misfit):
            response.body.abandon()
            throw FreshStart(misfit)
        case .refused: throw await refusal(response)
        }
    }

    /// Where bytes that begin here belong: at the end of what is there, or in a run of their own.
    private func openRun(at start: Int64) throws -> ReceivedRun {
        if let run = runs.first(where: { $0.end == start }) { return run }
        let run = try ReceivedRun(at: start, hashes: options.hashes)
        runs.append(run)
        return run
    }
}

extension Response {
    /// The same as if it were the answer to a request for the whole: what it says of its content alone is left out. That is
    /// all that a 416 says, which has the representation of a refusal.
    fileprivate var asWhole: Response {
        guard status == .partialContent || status == .rangeNotSatisfiable else { return self }
        var whole = self
        whole.fields[ContentDigest.contentField] = nil
        if status == .partialContent {
            whole.head.status = .ok
        } else {
            whole.fields[ContentDigest.representationField] = nil
        }
        return whole
    }
}
