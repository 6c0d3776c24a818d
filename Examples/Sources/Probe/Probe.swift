internal import Curlew
internal import CurlewCredentials

/// Executes lines of the conformance protocol through Curlew's public interface, as described in `Examples/PROBE.md`.
///
/// A line is started as soon as it is accepted and answered when it is done; `accept` does not wait for that. The kinds
/// of lines are in `Operations/`, the fields in `Fields/`.
package actor Probe {
    private struct Running {
        let id: JSONValue
        let task: Task<Void, Never>
    }

    private let write: @Sendable ([UInt8]) async -> Void
    private var running: [Int: Running] = [:]
    private var lastNumber = 0
    private var sessions = SessionTable()
    /// The items to send over open WebSockets, by the ids of their orders.
    private var items: [JSONValue: AsyncStream<WebSocketItem>.Continuation] = [:]

    /// - Parameter write: Writes an answer, a line without its end. It is called concurrently.
    package init(write: @escaping @Sendable ([UInt8]) async -> Void) { self.write = write }

    /// Starts the operation of a line.
    package func accept(_ line: InputLine) {
        let line = RequestLine(line)
        let answering = Answering(id: line.id, write: write)
        do {
            let order = try Order(line)
            let work = try order.operation.begin(order, self)
            start(line.id) { await answering.answer(work) }
        } catch {
            start(line.id) { await answering.answer(error) }
        }
    }

    /// Waits until all started operations are answered, then closes the connections.
    package func finish() async {
        while let next = running.values.first { await next.task.value }
        await sessions.shutdown()
    }

    private func start(_ id: Identifier, _ work: @escaping @Sendable () async -> Void) {
        lastNumber += 1
        let number = lastNumber
        let task = Task.detached {
            await work()
            await self.forget(number)
        }
        running[number] = Running(id: id.value, task: task)
    }

    private func forget(_ number: Int) { running[number] = nil }

    // MARK: Operations

    /// Cancels the running requests with this id.
    /// - Returns: True if there was any.
    func cancel(_ id: JSONValue) -> Bool {
        let found = running.values.filter { $0.id == id }
        for one in found { one.task.cancel() }
        return !found.isEmpty
    }

    /// Records an open WebSocket.
    func add(_ item: AsyncStream<WebSocketItem>.Continuation, of id: JSONValue) { items[id] = item }

    func removeItems(of id: JSONValue) { items.removeValue(forKey: id)?.finish() }

    /// Sends items over an open WebSocket.
    /// - Returns: False if no WebSocket has this id.
    func send(_ more: [WebSocketItem], over id: JSONValue) -> Bool {
        guard let item = items[id] else { return false }
        for one in more { item.yield(one) }
        return true
    }

    /// The session with this name and these settings; created on first use.
    func session(_ key: SessionTable.Key) throws -> HTTPSession { try sessions.session(key) }

    /// The cookies of the sessions with this name.
    func cookies(of name: String?) -> CookieJar { sessions.cookies(of: name) }

    /// The cache of this session.
    func cache(_ key: SessionTable.Key) -> HTTPCache { sessions.cache(key) }

    /// The token of OAuth 2 that the lines of a session share.
    func token(_ key: SessionTable.TokenKey) throws -> OAuthCredential { try sessions.token(key) }

    /// The caches of the sessions with this name.
    func caches(named name: String?) -> [HTTPCache] { sessions.caches(named: name) }

    /// The sessions with this name, one for each combination of settings.
    func sessions(named name: String?) -> [HTTPSession] { sessions.all(named: name) }

    /// Counts an order that sends requests, from the moment its line is read. The first one determines the cache of its
    /// session.
    func enter(_ order: Order) { sessions.enter(order.session, order.cacheMode) }

    /// True if counted orders run: also while they connect, before there is any session.
    func isBusy(_ session: String?) -> Bool { sessions.isBusy(session) }

    private func leave(_ session: String?) { sessions.leave(session) }

    /// Does the work of a counted order, and stops counting it before its answer is readable.
    nonisolated func leaving<Result: Sendable>(
        _ session: String?, _ work: () async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await work()
            await leave(session)
            return result
        } catch {
            await leave(session)
            throw error
        }
    }
}
