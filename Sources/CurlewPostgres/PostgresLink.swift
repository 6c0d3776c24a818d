#if Postgres
internal import Curlew

/// A connection that is made on demand, and made again after it was lost.
actor PostgresLink {
    private static let shortestWait = Duration.milliseconds(100)
    static let longestWait = Duration.seconds(5)

    private let settings: PostgresSettings
    private let prepare: @Sendable (PostgresConnection) async throws -> Void
    private var connection: PostgresConnection?
    private var connecting: Task<PostgresConnection, any Error>?
    private(set) var isClosed = false
    /// The time after a failure in which no new attempt is made.
    private var wait = Duration.zero
    private var lastFailure: (moment: ContinuousClock.Instant, error: any Error)?

    /// - Parameter prepare: The first statements of each new connection.
    init(_ settings: PostgresSettings, prepare: @escaping @Sendable (PostgresConnection) async throws -> Void) {
        self.settings = settings
        self.prepare = prepare
    }

    func close() {
        isClosed = true
        connection = nil
        connecting?.cancel()
    }

    /// Returns the connection, and makes it again if it was lost.
    /// - Throws: ``PostgresFailure``; for a while after a failed attempt it is thrown at once.
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

    /// Performs work on the connection. The work ignores the caller's cancellation: others use the connection, and
    /// cancelling a statement closes it. The settings' timeouts limit its duration.
    /// - Parameter mayBeRepeated: True if the work is idempotent; it is then repeated on a new connection if the
    ///   connection was lost.
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
