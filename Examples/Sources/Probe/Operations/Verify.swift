internal import Curlew

extension Operation {
    /// Connects, performs a handshake, closes, and answers with the negotiated TLS parameters.
    static let verify = Operation(
        name: "verify",
        rules: [.session, FieldRule("url") { field, order in order.url = try field.string() }] + FieldRule.carriage
            + FieldRule.security
    ) { order, probe in
        guard let url = order.url else { throw LineProblem.unusable("url is missing") }
        probe.enter(order)
        return { answering in
            let members = try await probe.leaving(order.session) {
                let session = try await order.chainedSession(of: probe)
                let request = try order.request(in: session)
                guard let actor = session.session else { throw LineProblem.unsupported("op verify") }
                let security = try await actor.connectionSecurity(of: url, options: request.options)
                return [JSONValue.Member("tls", security.answer)]
            }
            await answering.write(members)
        }
    }
}
