internal import Curlew

extension Operation {
    /// Sends a request and answers with its response.
    static let fetch = Operation(
        name: "fetch",
        rules: [.session] + FieldRule.message + FieldRule.carriage + FieldRule.policy + FieldRule.collecting
            + FieldRule.security
    ) { order, probe in
        guard order.url != nil else { throw LineProblem.unusable("url is missing") }
        probe.enter(order.session)
        return { answering in
            let members = try await probe.leaving(order.session) {
                let session = try await order.chainedSession(of: probe)
                let response = try await session.send(try order.request(in: session))
                return await ResponseAnswer(response, of: session, order).members
            }
            await answering.write(members)
        }
    }
}
