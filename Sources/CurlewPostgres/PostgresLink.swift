#if Postgres
internal import Curlew

/// A connection that is made when it is needed, and made again when it was lost.
actor PostgresLink {
    private static let shortestWait = Duration.milliseconds(100)
    static let longestWait = Duration.seconds(5)

    private let settings: PostgresSettings
    private let prepare: @Sendable (PostgresConnection) async throws -> Void
    private var connection: PostgresConnection?
    private var connecting: Task<PostgresConnection, any Error>?
    private(set) var isClosed = false
    /// After a failure so long nobody tries again.
    private var wait = Duration.zero
    private var lastFailure: (moment: ContinuousClock.Instant, error: any Error)?

    /// - Parameter prepare: What each new connection is told first.
    init(_ settings: PostgresSettings, prepare: @escaping @Sendable (PostgresConnection) async throws -> Void) {
        self.settings = settings
        self.prepare = prepare
    }

    func close() {
        isClosed = true
        connection = nil
        connecting?.cancel()
    }

    /// The connection, made again if it was lost.
    /// - Throws: ``PostgresFailure``; at once, for a while after an attempt that has failed.
    func open() async throws -> PostgresConnection {
        if let connection, await connection.isUsable { return connection }
        guard !isClosed else { throw PostgresFailure(message: "the session is closed") }
        if let connecting { return try await connecting.value }
        if let lastFailure, lastFailure.moment.duration(to: .now) < wait { throw lastFailure.error }
        let task = Task { [settings, prepare] in
            let connection = try await PostgresConnection.connect(settings)
            try await prepare(connection)
            return connection
        }
        connecting = task
        defer { connecting = nil }
        do {
            let new = try await task.value
            guard !isClosed else { throw PostgresFailure(message: "the session is closed") }
            connection = new
            wait = .zero
            lastFailure = nil
            return new
        } catch {
            connection = nil
            wait = min(max(wait * 2, Self.shortestWait), Self.longestWait)
            lastFailure = (.now, error)
            throw error
        }
    }

    /// Does something on the connection. It is not cancelled with its caller: others use the connection, and to break off a statement is to
    /// lose it. Its time is limited.
    /// - Parameter mayBeRepeated: Whether doing it twice is as good as once: then a connection that was lost is made again for it.
    func perform<Value: Sendable>(
        mayBeRepeated: Bool, _ work: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        try await Task { try await self.performNow(mayBeRepeated, work) }.value
    }

    private func performNow<Value: Sendable>(
        _ mayBeRepeated: Bool, _ work: @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        var tries = 0
        while true {
            do {
                return try await work(try await open())
            } catch let failure as PostgresFailure {
                tries += 1
                let isWorth =
                    failure.isConflict ? tries < 5 : failure.isLost && (mayBeRepeated || failure.isUnsent) && tries < 2
                guard isWorth, !isClosed else { throw failure }
            }
        }
    }
}
#endif
