#if Postgres
internal import CPQ
internal import Curlew
internal import Dispatch
internal import CurlewPlatform

/// A value for PostgreSQL or from PostgreSQL, in its text form.
enum PostgresValue: Sendable {
    case null
    case text(String)

    static func number(_ value: Int64?) -> PostgresValue { value.map { .text(String($0)) } ?? .null }
    static func number(_ value: Int) -> PostgresValue { .text(String(value)) }
    static func bool(_ value: Bool) -> PostgresValue { .text(value ? "t" : "f") }
    static func bytes(_ value: [UInt8]?) -> PostgresValue { value.map { .text(hex($0)) } ?? .null }

    /// An array of texts; each element is quoted, so that none is parsed as something else.
    static func array(_ elements: [String?]) -> PostgresValue {
        var text = "{"
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            guard let element else {
                text += "NULL"
                continue
            }
            text += "\""
            for scalar in element.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { text += "\\" }
                text.unicodeScalars.append(scalar)
            }
            text += "\""
        }
        return .text(text + "}")
    }

    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = [UInt8(ascii: "\\"), UInt8(ascii: "x")]
        text.reserveCapacity(2 + bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A row of a result.
struct PostgresRow: Sendable {
    let values: [String?]

    // The values are nil for a column that the server has not sent, and for a value of another type.

    func text(_ index: Int) -> String? { values.indices.contains(index) ? values[index] : nil }
    func number(_ index: Int) -> Int64? { text(index).flatMap { Int64($0) } }
    func bool(_ index: Int) -> Bool { text(index) == "t" }

    func bytes(_ index: Int) -> [UInt8]? {
        guard let text = text(index)?.utf8, text.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "x")]) else {
            return nil
        }
        let digits = text.dropFirst(2).compactMap(\.hexValue)
        guard digits.count == text.count - 2, digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        return bytes
    }
}

/// A failure of PostgreSQL or of the connection to it.
struct PostgresFailure: Error {
    /// The SQLSTATE; nil if the server was not reached or the connection was lost.
    var state: String?
    /// The primary message of the server, or libpq's message.
    var message: String
    /// True if the statement did not reach the server.
    var isUnsent = false

    /// True if the result of the statement is unknown, or if another connection may succeed: after a failover the old
    /// server has become read-only.
    var isLost: Bool {
        // A server ends sessions that exceed its timeouts with 25P03 or 25P04.
        state.map { $0.hasPrefix("08") || $0.hasPrefix("57P") || ["25006", "25P03", "25P04"].contains($0) } ?? true
    }
    /// True if the transaction was rolled back because of others, and may be repeated.
    var isConflict: Bool { state == "40001" || state == "40P01" }
}

/// A libpq connection to PostgreSQL, which never blocks. Its statements run one after another.
actor PostgresConnection {
    /// A connection of libpq. Unchecked, because one thread at a time uses it: the blocking work during connecting,
    /// then the actor.
    private final class Handle: @unchecked Sendable {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        deinit { PQfinish(pointer) }
    }

    private let handle: Handle
    private let timeout: Duration
    private var isOpen = true
    /// The numbers of the prepared statements.
    private var prepared: [String: Int] = [:]
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init(_ handle: Handle, _ timeout: Duration) {
        self.handle = handle
        self.timeout = timeout
    }

    // MARK: Connecting

    private static let starting = DispatchQueue(label: "curlew.postgres.start", attributes: .concurrent)

    /// Runs blocking work, such as name look-ups, and waits for it until a deadline. A late result is dropped.
    private static func blocking<Value: Sendable>(
        until end: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let (stream, continuation) = AsyncStream.makeStream(of: Value?.self)
        starting.async { continuation.yield(work()) }
        let timer = Task {
            try? await Task.sleep(until: end, clock: .continuous)
            continuation.yield(nil)
        }
        defer { timer.cancel() }
        for await value in stream {
            guard let value else { throw PostgresFailure(message: "the names of the servers were not found in time") }
            return value
        }
        throw CancellationError()
    }

    static func connect(_ settings: PostgresSettings) async throws -> PostgresConnection {
        let words = [
            // The settings come later in this list and take precedence.
            ("fallback_application_name", "curlew"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
            ("keepalives_count", "3"), ("target_session_attrs", "read-write"), ("dbname", settings.connection),
            ("client_encoding", "UTF8"),
        ]
        let end = ContinuousClock.now.advanced(by: settings.connectTimeout)
        let handle: Handle? = try await blocking(until: end) {
            var names = words.map { strdup($0.0).map { UnsafePointer($0) } } + [nil]
            var values = words.map { strdup($0.1).map { UnsafePointer($0) } } + [nil]
            defer { for word in names + values { free(UnsafeMutablePointer(mutating: word)) } }
            return PQconnectStartParams(&names, &values, 1).map { Handle($0) }
        }
        guard let handle else { throw PostgresFailure(message: "there is no memory for a connection") }
        // The password has not been sent yet.
        guard let words = EffectiveConnection(handle.pointer) else {
            throw PostgresFailure(message: "there is no memory for a connection")
        }
        try words.verify(settings.protection)
        let connection = PostgresConnection(handle, settings.statementTimeout)
        try await connection.finishConnecting(until: end, settings.connectTimeout)
        return connection
    }

    private func finishConnecting(until end: ContinuousClock.Instant, _ timeout: Duration) async throws {
        guard PQstatus(handle.pointer) != CONNECTION_BAD else { throw connectionFailure() }
        curlew_pq_silence(handle.pointer)
        var direction = Readiness.Direction.writing
        while true {
            let left = ContinuousClock.now.duration(to: end)
            let descriptor = PQsocket(handle.pointer)
            guard descriptor >= 0 else { throw connectionFailure() }
            switch await Readiness.wait(for: descriptor, direction, max(.zero, left)) {
            case .ready: break
            case .timedOut: throw PostgresFailure(message: "the server did not answer in \(timeout.text)")
            case .cancelled: throw CancellationError()
            }
            let handle = handle
            // A list of hosts causes further name look-ups here.
            switch try await Self.blocking(until: end, { PQconnectPoll(handle.pointer) }) {
            case PGRES_POLLING_OK:
                guard PQsetnonblocking(handle.pointer, 1) == 0 else { throw connectionFailure() }
                return
            case PGRES_POLLING_READING: direction = .reading
            case PGRES_POLLING_WRITING: direction = .writing
            default: throw connectionFailure()
            }
        }
    }

    private func connectionFailure() -> PostgresFailure {
        let message = Self.line(PQerrorMessage(handle.pointer))
        return PostgresFailure(message: message.isEmpty ? "the connection was lost" : message)
    }

    private static func line(_ text: UnsafePointer<CChar>?) -> String {
        let text = text.map { String(cString: $0) } ?? ""
        return text.split(separator: "\n").joined(separator: " ")
    }

    // MARK: Statements

    /// Runs a statement, which is prepared once and cached by its text.
    /// - Throws: ``PostgresFailure``, or `CancellationError`. After a lost connection no statement can run.
    func run(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        await enter()
        defer { leave() }
        return try await runNow(sql, parameters)
    }

    /// Runs statements in a transaction; an error of `work` closes the connection, which rolls the transaction back.
    func transaction<Value: Sendable>(_ work: @Sendable (isolated PostgresConnection) async throws -> Value)
        async throws -> Value
    {
        await enter()
        defer { leave() }
        do {
            _ = try await runNow("BEGIN", [])
            let value = try await work(self)
            _ = try await runNow("COMMIT", [])
            return value
        } catch {
            isOpen = false
            throw error
        }
    }

    /// Runs a script of statements without parameters, inside a transaction.
    func runScript(_ sql: String) async throws {
        try check(PQsendQuery(handle.pointer, sql))
        _ = try await results()
    }

    func runNow(_ sql: String, _ parameters: [PostgresValue]) async throws -> [PostgresRow] {
        try lookForEnd()
        let number = prepared[sql] ?? prepared.count
        let name = "curlew_\(number)"
        if prepared[sql] == nil {
            try check(PQsendPrepare(handle.pointer, name, sql, 0, nil))
            _ = try await results()
            prepared[sql] = number
        }
        let texts: [UnsafeMutablePointer<CChar>?] = parameters.map {
            if case .text(let text) = $0 { strdup(text) } else { nil }
        }
        defer { for text in texts { free(text) } }
        let values = texts.map { $0.map { UnsafePointer($0) } }
        try check(PQsendQueryPrepared(handle.pointer, name, Int32(values.count), values, nil, nil, 0))
        return try await results()
    }

    /// Throws if the server has ended the connection since the last statement. The new statement is then unsent, and a
    /// new connection may run it.
    private func lookForEnd() throws {
        // The first call reads the server's last messages, the second detects the end of the connection.
        guard isOpen, PQconsumeInput(handle.pointer) == 1, PQisBusy(handle.pointer) == 0,
            PQconsumeInput(handle.pointer) == 1
        else {
            isOpen = false
            throw PostgresFailure(message: "the connection was lost", isUnsent: true)
        }
    }

    private func check(_ result: Int32) throws {
        guard result == 1 else {
            isOpen = false
            throw connectionFailure()
        }
    }

    private func results() async throws -> [PostgresRow] {
        do {
            let end = ContinuousClock.now.advanced(by: timeout)
            while true {
                let left = PQflush(handle.pointer)
                guard left >= 0 else { throw connectionFailure() }
                if left == 0 { break }
                try await wait(.writing, until: end)
                // The server may only continue to read after the client has read.
                guard PQconsumeInput(handle.pointer) == 1 else { throw connectionFailure() }
            }
            var rows: [PostgresRow] = []
            var failure: PostgresFailure?
            while true {
                while PQisBusy(handle.pointer) == 1 {
                    try await wait(.reading, until: end)
                    guard PQconsumeInput(handle.pointer) == 1 else { throw connectionFailure() }
                }
                guard let result = PQgetResult(handle.pointer) else { break }
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_TUPLES_OK: rows += Self.rows(of: result)
                case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
                // libpq returns such a result again and again. No statement here copies.
                case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                    isOpen = false
                    throw PostgresFailure(message: "the server answered with a copy of a table")
                default: failure = failure ?? Self.failure(of: result)
                }
            }
            if let failure { throw failure }
            return rows
        } catch let failure as PostgresFailure where !failure.isLost {
            throw failure
        } catch {
            isOpen = false
            throw error
        }
    }

    private func wait(_ direction: Readiness.Direction, until end: ContinuousClock.Instant) async throws {
        let left = ContinuousClock.now.duration(to: end)
        switch await Readiness.wait(for: PQsocket(handle.pointer), direction, max(.zero, left)) {
        case .ready: break
        case .timedOut: throw PostgresFailure(message: "the server did not answer in \(timeout.text)")
        case .cancelled: throw CancellationError()
        }
    }

    private static func rows(of result: OpaquePointer) -> [PostgresRow] {
        (0..<PQntuples(result)).map { row in
            PostgresRow(
                values: (0..<PQnfields(result)).map { column in
                    guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else {
                        return nil
                    }
                    let bytes = UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, column)))
                    return String(decoding: bytes, as: UTF8.self)
                })
        }
    }

    private static func failure(of result: OpaquePointer) -> PostgresFailure {
        func field(_ name: Character) -> String? {
            PQresultErrorField(result, Int32(name.asciiValue ?? 0)).map { line(UnsafePointer($0)) }
        }
        // The codes of PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY.
        return PostgresFailure(state: field("C"), message: field("M") ?? "")
    }

    // MARK: Mutual exclusion

    private func enter() async {
        if !isBusy {
            isBusy = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
    }

    /// True while statements can be run.
    var isUsable: Bool { isOpen }

    // MARK: Notifications

    /// Waits for notifications and returns their payloads; empty if none arrived in time.
    func notifications(within timeout: Duration) async throws -> [String] {
        await enter()
        defer { leave() }
        if let pending = payloads() { return pending }
        switch await Readiness.wait(for: PQsocket(handle.pointer), .reading, timeout) {
        case .ready: break
        case .timedOut: return []
        case .cancelled: throw CancellationError()
        }
        guard PQconsumeInput(handle.pointer) == 1 else {
            isOpen = false
            throw connectionFailure()
        }
        return payloads() ?? []
    }

    private func payloads() -> [String]? {
        var found: [String] = []
        while let notification = PQnotifies(handle.pointer) {
            found.append(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        return found.isEmpty ? nil : found
    }
}
#endif
