public import HTTPTypes

extension HTTPSession {
    /// The outcome of opening a connection in advance; see ``HTTPSession/warmUp(_:timeout:concurrency:)``.
    public struct WarmUpOutcome: Sendable {
        /// The URL, as it was given.
        public let url: String
        /// The status of the response, whatever it is; nil without a response.
        public let status: HTTPResponse.Status?
        /// The reason why there is no connection; nil after a response.
        public let error: CurlewError?

        /// True if a connection was opened, or already existed, and returned a response.
        public var isConnected: Bool { error == nil }
    }

    /// Opens connections in advance, so that the first calls need no name look-up, TCP connection and TLS handshake.
    ///
    /// A HEAD request without the session's default fields is sent to each URL through the transport alone, without
    /// links, redirects and retries. Only a missing response is a failure. The connection is kept as any other: for
    /// ``ConnectionLimits/idleLifetime`` without a request, unless the server closes it. Each URL gets a request, even
    /// if several have the same origin; these may share a connection.
    ///
    /// ```swift
    /// for outcome in await api.warmUp(["", "https://images.example.com/"]) where !outcome.isConnected {
    ///     logger.warning("no connection to \(outcome.url) yet")
    /// }
    /// ```
    /// - Parameters:
    ///   - urls: The URLs, relative ones against ``baseURL``. An empty one is the base itself.
    ///   - timeout: The time for all requests together. A URL without a response by then has the error
    ///     ``ErrorCode/totalTimeout``.
    ///   - concurrency: The greatest number of simultaneous requests; at least 1.
    /// - Returns: An outcome for each URL, in their order. The function throws no error. If the task is cancelled, the
    ///   remaining URLs have the error ``ErrorCode/cancelled``.
    @discardableResult
    public func warmUp(
        _ urls: [String], timeout: Duration = .seconds(10), concurrency: Int = 8
    ) async -> [WarmUpOutcome] {
        let deadline = Timekeeper.continuous.elapsed() + min(timeout, .seconds(86_400))
        var outcomes = [WarmUpOutcome?](repeating: nil, count: urls.count)
        await withTaskGroup(of: (Int, WarmUpOutcome).self) { group in
            for (index, url) in urls.enumerated() {
                if index >= max(1, concurrency), let (done, outcome) = await group.next() { outcomes[done] = outcome }
                group.addTask { (index, await connect(to: url, until: deadline)) }
            }
            for await (done, outcome) in group { outcomes[done] = outcome }
        }
        return outcomes.compactMap { $0 }
    }

    private func connect(to url: String, until deadline: Duration) async -> WarmUpOutcome {
        do {
            let remaining = deadline - Timekeeper.continuous.elapsed()
            guard remaining > .zero else {
                throw CurlewError(.totalTimeout, "the time for opening connections was over")
            }
            var request = CurlewRequest(.head, try resolve(.raw(url)))
            request.options.totalTimeout = remaining
            // Opening in advance does not wait for the network to return.
            request.options.connectivityTimeout = .zero
            let response = try await transport.send(request)
            await response.discard()
            return WarmUpOutcome(url: url, status: response.status, error: nil)
        } catch let error as CurlewError {
            return WarmUpOutcome(url: url, status: nil, error: error)
        } catch {
            // An error of a transport other than a session is wrapped.
            let code = error is CancellationError ? ErrorCode.cancelled : .connectionFailed
            let failure = CurlewError(code, "the connection could not be opened", underlying: error)
            return WarmUpOutcome(url: url, status: nil, error: failure)
        }
    }
}
