#if Service
public import Curlew
public import Logging
public import ServiceLifecycle

/// A client as a service of a `ServiceGroup`: it opens connections at the start, and lets calls end before the process does.
///
/// - Graceful shutdown: new calls are refused with ``Curlew/ErrorCode/sessionInvalidated``, and so is the next attempt of one that waits
///   to send again. Exchanges under way may end, those that wait for their turn or a connection included, until ``deadline``;
///   what is left then ends with the same error. After that every connection is closed.
/// - Cancellation of the group: what is under way ends at once, also if graceful shutdown had begun.
///
/// A group shuts down in the reverse order of its services, one after the other. So the client stands *before* the services
/// that use it: a server behind it in the list has answered all it will when the client's turn comes.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [SessionService(api, warmUp: [""]), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// The session is shut down whichever way the service ends; a session that others share is shut down for them, too.
public struct SessionService: Service {
    /// The client.
    public let session: HTTPSession
    /// How long graceful shutdown waits for what is under way, before it is cancelled. 20 seconds by
    /// default: orchestrators commonly give a process 30 before they kill it, and other services want some of them. nil waits as
    /// long as it takes.
    public var deadline: Duration?
    /// The URLs to which connections are opened at the start (``Curlew/HTTPSession/warm(up:within:atOnce:)``), relative ones
    /// against the client's base; an empty text is the base. None by default.
    public var warmUp: [String]
    /// The longest time for that. 10 seconds by default.
    public var warmUpTimeout: Duration
    /// True if the service fails where one of the connections cannot be opened, and with it, by default, the group. False by
    /// default: it is logged as a warning, and the first call tries again.
    public var requiresWarmUp: Bool
    private let logger: Logger

    /// - Parameters:
    ///   - session: The client.
    ///   - deadline: How long graceful shutdown waits for what is under way; nil waits as long as it takes.
    ///   - warmUp: The URLs to which connections are opened at the start.
    ///   - warmUpTimeout: The longest time for that.
    ///   - requiresWarmUp: True if the service fails where one of them cannot be opened.
    ///   - logger: What failures of the start are logged to.
    public init(
        _ session: HTTPSession, deadline: Duration? = .seconds(20), warmUp: [String] = [],
        warmUpTimeout: Duration = .seconds(10), requiresWarmUp: Bool = false, logger: Logger = .current
    ) {
        self.session = session
        self.deadline = deadline
        self.warmUp = warmUp
        self.warmUpTimeout = warmUpTimeout
        self.requiresWarmUp = requiresWarmUp
        self.logger = logger
    }

    /// Runs until graceful shutdown or cancellation, and then shuts the session down. Outside of a group, cancellation ends it.
    /// - Throws: The ``Curlew/CurlewError`` of a connection that could not be opened, if that is required.
    public func run() async throws {
        do {
            try await openConnections()
        } catch {
            await session.shutdown(deadline: .zero)
            throw error
        }
        // It throws if the task is cancelled; then the session notices, and waits for nothing.
        try? await gracefulShutdown()
        await session.shutdown(deadline: deadline)
    }

    private func openConnections() async throws {
        guard !warmUp.isEmpty else { return }
        let outcomes = await cancelWhenGracefulShutdown { [session, warmUp, warmUpTimeout] in
            await session.warm(up: warmUp, within: warmUpTimeout)
        }
        // Whoever shuts down wants no connections any more.
        guard !Task.isCancelled, !Task.isShuttingDownGracefully else { return }
        for outcome in outcomes {
            guard let error = outcome.error else { continue }
            if requiresWarmUp { throw error }
            logger.warning("a connection could not be opened at the start", metadata: ["error": "\(error)"])
        }
    }
}

extension SessionService: CustomStringConvertible {
    /// The service and the origin of its client's base: `SessionService(https://api.example.com:443)`. A group names services so
    /// in its logs.
    public var description: String { "SessionService(\(session.baseURL?.origin ?? "any origin"))" }
}
#endif
