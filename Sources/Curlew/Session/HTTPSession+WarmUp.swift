public import HTTPTypes

extension HTTPSession {
    /// The outcome of opening a connection beforehand; see ``HTTPSession/warm(up:within:atOnce:)``.
    public struct WarmUpOutcome: Sendable {
        /// The URL, as it was given.
        public let url: String
        /// The status of the answer, whatever it is; nil if there was none.
        public let status: HTTPResponse.Status?
        /// The reason for which there is no connection; nil if there was an answer.
        public let error: CurlewError?

        /// True if a connection was opened, or was open already, and has brought an answer.
        public var isConnected: Bool { error == nil }
    }

    /// Opens connections before they are needed, so that the first calls do not pay for look-up, TCP and TLS.
    ///
    /// A HEAD request without the session's default fields is sent to each URL through the transport alone: no link sees it, no
    /// redirect is followed, nothing is sent again, and no answer but a missing one is a failure. The connection is kept as any
    /// other: for ``ConnectionLimits/idleLifetime`` without a request, and not if the server closes it. Of the URLs of one origin
    /// all are asked, over one connection or several.
    ///
    /// ```swift
    /// for outcome in await api.warm(up: ["", "https://images.example.com/"]) where !outcome.isConnected {
    ///     logger.warning("no connection to \(outcome.url) yet")
    /// }
    /// ```
    /// - Parameters:
    ///   - urls: URLs to ask, relative ones against ``baseURL``. An empty one is the base itself.
    ///   - limit: The longest time for all of it; what has no answer by then is ``ErrorCode/totalTimeout``.
    ///   - count: The most requests under way at a time; 1 at least.
    /// - Returns: An outcome for each URL, in their order. It throws nothing; if the task is cancelled, what is left is
    ///   ``ErrorCode/cancelled``.
    @discardableResult
    public func warm(
        up urls: [String], within limit: Duration = .seconds(10), atOnce count: Int = 8
    ) async -> [WarmUpOutcome] {
        let deadline = Timekeeper.continuous.elapsed() + min(limit, .seconds(86_400))
        var outcomes = [WarmUpOutcome?](repeating: nil, count: urls.count)
        await withTaskGroup(of: (Int, WarmUpOutcome).self) { group in
            for (index, url) in urls.enumerated() {
                if index >= max(1, count), let (done, outcome) = await group.next() { outcomes[done] = outcome }
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
            // Whoever starts does not wait for the network to come back.
            request.options.connectivityTimeout = .zero
            let response = try await transport.send(request)
            await response.discard()
            return WarmUpOutcome(url: url, status: response.status, error: nil)
        } catch let error as CurlewError {
            return WarmUpOutcome(url: url, status: nil, error: error)
        } catch {
            // Of a transport that is no session.
            let code = error is CancellationError ? ErrorCode.cancelled : .connectionFailed
            let failure = CurlewError(code, "the connection could not be opened", underlying: error)
            return WarmUpOutcome(url: url, status: nil, error: failure)
        }
    }
}
