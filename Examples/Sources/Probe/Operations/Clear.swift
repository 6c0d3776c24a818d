internal import Curlew

extension Operation {
    /// Empties a store of a session: its cookies, its cache, or its idle connections.
    static let clear = Operation(
        name: "clear",
        rules: [.session, FieldRule("what") { field, order in order.subject = try field.string() }]
    ) { order, probe in
        guard let subject = order.subject else { throw LineProblem.unusable("what is missing") }
        if subject == "cookies" {
            let jar = probe.cookies(of: order.session)
            return { answering in
                jar.removeAll()
                await answering.write([.init("cleared", .string(subject))])
            }
        }
        if subject == "cache" {
            let caches = probe.caches(named: order.session)
            return { answering in
                for cache in caches { try await cache.removeAll() }
                await answering.write([.init("cleared", .string(subject))])
            }
        }
        guard subject == "connections" else { throw LineProblem.unsupported("clear \(subject)") }
        guard !probe.isBusy(order.session) else { throw LineProblem.unsupported(whileBusy) }
        let sessions = probe.sessions(named: order.session).compactMap(\.session)
        return { answering in
            for session in sessions {
                await session.closeIdleConnections()
                // The library closes no connection while a request runs, such as one that came after this line.
                guard await session.connectionCount() == 0 else { throw LineProblem.unsupported(whileBusy) }
            }
            await answering.write([.init("cleared", .string(subject))])
        }
    }

    private static let whileBusy = "clear connections while requests are under way"
}
