internal import Curlew

/// Carries out lines of the conformance protocol with Curlew's public interface, as `Examples/PROBE.md` says.
///
/// A line is begun as soon as it is accepted and answered when it is done; whoever accepts lines does not wait for that.
/// What one kind of line does stands in `Operations/`, what one field means in `Fields/`.
package actor Probe {
    private struct Running {
        let id: JSONValue
        let task: Task<Void, Never>
    }

    private let write: @Sendable ([UInt8]) async -> Void
    private var running: [Int: Running] = [:]
    private var lastNumber = 0
    private var sessions = SessionTable()
    /// The things to send over WebSockets that are open, by the ids of their orders.
    private var items: [JSONValue: AsyncStream<WebSocketItem>.Continuation] = [:]

    /// - Parameter write: Takes an answer, a line without its end. It is called for many at once.
    package init(write: @escaping @Sendable ([UInt8]) async -> Void) { self.write = write }

    /// Begins what a line asks for.
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

    /// Waits until all that was begun is answered, then closes the connections.
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

    // MARK: For operations

    /// Cancels what is under way with that id.
    /// - Returns: Whether there was anything.
    func cancel(_ id: JSONValue) -> Bool {
        let found = running.values.filter { $0.id == id }
        for one in found { one.task.cancel() }
        return !found.isEmpty
    }

    /// Notes that a WebSocket is open.
    func add(_ item: AsyncStream<WebSocketItem>.Continuation, of id: JSONValue) { items[id] = item }

    func removeItems(of id: JSONValue) { items.removeValue(forKey: id)?.finish() }

    /// Sends over an open WebSocket.
    /// - Returns: Whether there is one with that id.
    func send(_ more: [WebSocketItem], over id: JSONValue) -> Bool {
        guard let item = items[id] else { return false }
        for one in more { item.yield(one) }
        return true
    }

    /// The session of that name with those settings; made when it is first asked for.
    func session(_ key: SessionTable.Key) throws -> HTTPSession { try sessions.session(key) }

    /// The cookies of the sessions of that name.
    func cookies(of name: String?) -> CookieJar { sessions.cookies(of: name) }

    /// The cache of that session.
    func cache(_ key: SessionTable.Key) -> HTTPCache { sessions.cache(key) }

    /// The caches of the sessions of that name.
    func caches(named name: String?) -> [HTTPCache] { sessions.caches(named: name) }

    /// The sessions of that name, one for each of the settings that were asked for.
    func sessions(named name: String?) -> [HTTPSession] { sessions.all(named: name) }

    /// Counts an order that sends requests, from the moment its line is read. The first one decides on the cache of its session.
    func enter(_ order: Order) { sessions.enter(order.session, order.cacheMode) }

    /// Whether orders that were counted are under way: connecting too, before there is any session.
    func isBusy(_ session: String?) -> Bool { sessions.isBusy(session) }

    private func leave(_ session: String?) { sessions.leave(session) }

    /// Does the work of an order that was counted, and counts it no more before its answer can be read.
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
