internal import Curlew

extension Operation {
    /// Sends a request and answers with its response.
    static let fetch = Operation(
        name: "fetch",
        rules: [.session] + FieldRule.message + FieldRule.content + FieldRule.carriage + FieldRule.policy
            + FieldRule.collecting + FieldRule.reading + FieldRule.transfers + FieldRule.security
    ) { order, probe in
        guard order.url != nil else { throw LineProblem.unusable("url is missing") }
        try order.checkCombination()
        probe.enter(order)
        return { answering in
            let members = try await probe.leaving(order.session) {
                let session = try await order.chainedSession(of: probe)
                return try await order.fetch(in: session)
            }
            await answering.write(members)
        }
    }
}

extension Order {
    fileprivate func fetch(in session: HTTPSession) async throws -> [JSONValue.Member] {
        if let download { return try await download.members(of: try request(in: session), in: session) }
        let serializer = AnswerSerializer(self, of: session)
        if let uploadFile, let resumable {
            let (steps, step) = AsyncStream.makeStream(of: ResumableUpload.Progress.self)
            async let told = Self.steps(of: steps)
            defer { step.finish() }
            let response = try await resume(uploadFile, resumable, in: session) { step.yield($0) }
            step.finish()
            var answer = try await serializer.serialize(response)
            answer.progress = await told
            return answer.members
        }
        guard content.parts != nil || uploadFile != nil else {
            return try await send(in: session, as: serializer).members
        }
        let progress = CallProgress()
        async let steps = Self.steps(of: progress)
        defer { progress.finish() }
        var answer = try await send(in: session, as: serializer) { progress.follow(&$0) }
        progress.finish()
        answer.progress = await steps
        return answer.members
    }

    private static func steps(of progress: AsyncStream<ResumableUpload.Progress>) async -> [JSONValue] {
        var steps: [JSONValue] = []
        for await step in progress {
            let pair = JSONValue.array([.integer(step.sent), .integer(step.total)])
            if steps.last != pair { steps.append(pair) }
        }
        return steps
    }

    /// The sent bytes of the body and their total, at every change.
    private static func steps(of progress: CallProgress) async -> [JSONValue] {
        var steps: [JSONValue] = []
        for await step in progress {
            let sent = step.progress.sent
            let pair = JSONValue.array([.integer(sent.wire), sent.total.map { .integer($0) } ?? .null])
            if steps.last != pair { steps.append(pair) }
        }
        return steps
    }
}
