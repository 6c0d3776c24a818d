#if Service
public import Curlew
public import Logging
public import ServiceLifecycle

/// A client as a service of a `ServiceGroup`: it opens connections at startup, and lets calls end before the process
/// does.
///
/// - Graceful shutdown refuses new calls with ``Curlew/ErrorCode/sessionInvalidated``, and also the next attempt of a
///   call that waits for a retry. Current exchanges may end until ``deadline``, including those that wait for a slot or
///   a connection. The remaining exchanges then fail with the same error, and every connection is closed.
/// - Cancellation of the group cancels all exchanges at once, also after graceful shutdown has begun.
///
/// A group shuts down its services one after another in reverse order. So the client must be listed *before* the
/// services that use it: a server after it in the list has finished its answers when the client shuts down.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [SessionService(api, warmUp: [""]), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// The session is shut down however the service ends; this also affects other users of a shared session.
public struct SessionService: Service {
    /// The client.
    public let session: HTTPSession
    /// The time that graceful shutdown waits for current exchanges before it cancels them. 20 seconds by default; nil
    /// waits without a limit.
    ///
    /// Orchestrators commonly give a process 30 seconds before they kill it, and other services need some of them.
    public var deadline: Duration?
    /// The URLs to which connections are opened at startup (``Curlew/HTTPSession/warmUp(_:timeout:concurrency:)``);
    /// none by default. Relative URLs are resolved against the client's base URL, and an empty text means the base URL
    /// itself.
    public var warmUp: [String]
    /// The timeout for these connections. 10 seconds by default.
    public var warmUpTimeout: Duration
    /// True if a connection that cannot be opened fails the service, and with it, by default, the group. False, the
    /// default, logs a warning, and the first call tries again.
    public var requiresWarmUp: Bool
    private let logger: Logger

    /// - Parameters:
    ///   - session: The client.
    ///   - deadline: The time that graceful shutdown waits for current exchanges; nil waits without a limit.
    ///   - warmUp: The URLs to which connections are opened at startup.
    ///   - warmUpTimeout: The timeout for these connections.
    ///   - requiresWarmUp: True if a connection that cannot be opened fails the service.
    ///   - logger: The logger for failures at startup.
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

    /// Runs until graceful shutdown or cancellation, and then shuts the session down. Outside of a group, cancellation
    /// ends it.
    /// - Throws: The ``Curlew/CurlewError`` of a connection that could not be opened, if connections are required.
    public func run() async throws {
        do {
            try await openConnections()
        } catch {
            await session.shutdown(deadline: .zero)
            throw error
        }
        // This call throws if the task is cancelled; the session then detects the cancellation and shuts down at once.
        try? await gracefulShutdown()
        await session.shutdown(deadline: deadline)
    }

    private func openConnections() async throws {
        guard !warmUp.isEmpty else { return }
        let outcomes = await cancelWhenGracefulShutdown { [session, warmUp, warmUpTimeout] in
            await session.warmUp(warmUp, timeout: warmUpTimeout)
        }
        // A shutdown needs no connections any more.
        guard !Task.isCancelled, !Task.isShuttingDownGracefully else { return }
        for outcome in outcomes {
            guard let error = outcome.error else { continue }
            if requiresWarmUp { throw error }
            logger.warning("a connection could not be opened at the start", metadata: ["error": "\(error)"])
        }
    }
}

extension SessionService: CustomStringConvertible {
    /// The service and the origin of its client's base URL: `SessionService(https://api.example.com:443)`. A group uses
    /// this name in its logs.
    public var description: String { "SessionService(\(session.baseURL?.origin ?? "any origin"))" }
}
#endif
