#if TestKit
internal import Curlew

/// A strict server for resumable uploads, of the IETF's draft or of tus: it accepts only requests that the
/// specification allows.
public final class UploadServer: Sendable {
    public enum Dialect: Sendable, Hashable {
        case draft(Int)
        case tus
    }

    /// The faults of the server.
    public struct Faults: Sendable {
        /// The number of bytes after which the connection breaks, for each request with a body; nil for no break.
        public var breaks: [Int?] = []
        /// The status that refuses each request with a body before any byte is read; nil for no refusal.
        public var statuses: [Int?] = []
        /// False if the simulated network drops interim responses.
        public var announces = true
        /// The number that is added to reported offsets.
        public var lie: Int64 = 0
        /// The number of requests with a body after which the server forgets all uploads.
        public var forgetsAfter: Int?
        /// True if the server loses the bytes that it receives, and its responses report this loss.
        public var drops = false
        /// The number of bytes that the server keeps of a request with the given number; its response has the resulting
        /// offset.
        public var keeps: (@Sendable (Int) -> Int)?
        /// The status and the fields of the response to each request with a body, before a byte of it is read.
        public var early: (status: Int, fields: [String])?
        /// True if the response to the last bytes is lost.
        public var losesLastAnswer = false
        /// The location in responses, in place of the server's own.
        public var location: String?
        /// Additional fields of each response.
        public var fields: [String] = []
        /// The interim responses before the first response to each request with a body.
        public var interim: [String] = []
        /// The extensions of tus that the server supports.
        public var extensions = "creation,termination"
        /// The supported checksum algorithm, and its digest in Base64.
        public var checksum: (name: String, digest: @Sendable ([UInt8]) -> String)?
        /// The announced maximum size of a request.
        public var appendLimit: Int?

        public init() {}
    }

    private struct State {
        var parts: Set<String> = []
        var uploads = 0
        var files: [String: [UInt8]] = [:]
        var lengths: [String: Int] = [:]
        var complete: Set<String> = []
        var log: [String] = []
        var bodies = 0
        var received = 0
        var faults: Faults
    }

    private let dialect: Dialect
    private let state: Guarded<State>
    private let server = Guarded<RawServer?>(nil)

    private init(_ dialect: Dialect, _ faults: Faults) {
        self.dialect = dialect
        state = Guarded(State(faults: faults))
    }

    public static func start(_ dialect: Dialect, _ faults: Faults = Faults()) async throws -> UploadServer {
        let uploads = UploadServer(dialect, faults)
        let server = try await RawServer.start { connection in
            while try await uploads.answer(connection) {}
        }
        uploads.server.withLock { $0 = server }
        return uploads
    }

    public var url: String { server.withLock { $0 }?.url("/files") ?? "" }
    /// The method and the target of each request, in order.
    public var log: [String] { state.withLock { $0.log } }
    /// The number of bytes of all requests.
    public var received: Int { state.withLock { $0.received } }
    /// The files that are complete, without partial uploads.
    public var files: [[UInt8]] {
        state.withLock { state in state.complete.subtracting(state.parts).compactMap { state.files[$0] } }
    }

    public func shutdown() async { await server.withLock { $0 }?.shutdown() }

    // MARK: Requests

    private struct Request {
        var method = ""
        var target = ""
        var fields: [String: String] = [:]

        init?(_ head: String) {
            let lines = head.split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            guard words.count == 3 else { return nil }
            method = String(words[0])
            target = String(words[1])
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { return nil }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                fields[line[..<colon].lowercased()] = String(value)
            }
        }

        func number(_ name: String) -> Int? { fields[name].flatMap { Int($0) } }
    }

    /// - Returns: False if the connection carries no further request.
    private func answer(_ connection: RawConnection) async throws -> Bool {
        guard let head = try? await connection.readHead(), let request = Request(head) else { return false }
        state.withLock { $0.log.append("\(request.method) \(request.target)") }
        switch request.method {
        case "OPTIONS": try await options(connection)
        case "HEAD": try await inquiry(request, connection)
        case "DELETE":
            state.withLock { $0.files[request.target] = nil }
            try await reply(204, [], connection)
        case "POST", "PUT": return try await creation(request, connection)
        case "PATCH": return try await append(request, connection)
        default: try await reply(405, [], connection)
        }
        return true
    }

    private func options(_ connection: RawConnection) async throws {
        switch dialect {
        case .tus:
            let faults = state.withLock { $0.faults }
            var fields = ["Tus-Version: 1.0.0,0.2.2", "Tus-Extension: \(faults.extensions)"]
            if let checksum = faults.checksum { fields.append("Tus-Checksum-Algorithm: md5,\(checksum.name)") }
            try await reply(204, fields, connection)
        case .draft(let interop):
            try await reply(200, ["Upload-Draft-Interop-Version: \(interop)", "Upload-Limit: min-size=0"], connection)
        }
    }

    /// True if the request names the server's protocol version, which is required.
    private func isSpoken(_ request: Request) -> Bool {
        switch dialect {
        case .tus: request.fields["tus-resumable"] == "1.0.0"
        case .draft(let interop): request.number("upload-draft-interop-version") == interop
        }
    }

    private var version: String {
        switch dialect {
        case .tus: "Tus-Resumable: 1.0.0"
        case .draft(let interop): "Upload-Draft-Interop-Version: \(interop)"
        }
    }

    private func completeness(_ isComplete: Bool) -> String {
        dialect == .draft(3)
            ? "Upload-Incomplete: \(isComplete ? "?0" : "?1")" : "Upload-Complete: \(isComplete ? "?1" : "?0")"
    }

    private func asksForAll(_ request: Request) -> Bool? {
        if dialect == .draft(3) { return request.fields["upload-incomplete"].map { $0 == "?0" } }
        return request.fields["upload-complete"].map { $0 == "?1" }
    }

    private func reply(
        _ status: Int, _ fields: [String], _ connection: RawConnection, isLast: Bool = false, leavesBody: Bool = false
    )
        async throws
    {
        let more = state.withLock { $0.faults.fields }
        let framing = status == 204 ? [] : ["Content-Length: 0"]
        let lines = ["HTTP/1.1 \(status) X"] + fields + more + framing + (isLast ? ["Connection: close"] : [])
        try await connection.write(lines.joined(separator: "\r\n") + "\r\n\r\n")
        // A close before all bytes are read would reset the connection and might lose the response.
        if isLast, !leavesBody {
            try await connection.halfClose()
            _ = try? await connection.drain()
        }
    }

    /// Breaks off a connection. Earlier interim responses must arrive first, and a reset might lose them.
    private func breakOff(_ connection: RawConnection) async throws {
        if dialect == .tus { return await connection.reset() }
        try await connection.halfClose()
        _ = try? await connection.drain()
    }

    private func inquiry(_ request: Request, _ connection: RawConnection) async throws {
        guard isSpoken(request) else { return try await reply(dialect == .tus ? 412 : 400, [version], connection) }
        let (file, length, isComplete, lie) = state.withLock { state in
            (
                state.files[request.target], state.lengths[request.target], state.complete.contains(request.target),
                state.faults.lie
            )
        }
        guard let file else { return try await reply(404, [version], connection) }
        var fields = [version, "Upload-Offset: \(Int64(file.count) + lie)", "Cache-Control: no-store"]
        if dialect == .tus {
            fields.append("Upload-Length: \(length ?? 0)")
        } else {
            fields.append(completeness(isComplete))
        }
        try await reply(dialect == .tus ? 200 : 204, fields, connection)
    }

    private func creation(_ request: Request, _ connection: RawConnection) async throws -> Bool {
        guard isSpoken(request) else {
            try await reply(dialect == .tus ? 412 : 400, [version], connection, isLast: true)
            return false
        }
        let path = state.withLock { state in
            state.uploads += 1
            return "/files/\(state.uploads)"
        }
        let location = state.withLock { $0.faults.location } ?? path
        if dialect == .tus { return try await tusCreation(request, path, location, connection) }
        guard asksForAll(request) == true, request.number("upload-offset") == nil,
            let count = request.number("content-length"),
            dialect != .draft(6) || request.number("upload-length") == count
        else {
            try await reply(400, [version], connection, isLast: true)
            return false
        }
        state.withLock {
            $0.files[path] = []
            $0.lengths[path] = count
        }
        if state.withLock({ $0.faults.announces }) {
            try await connection.write(
                "HTTP/1.1 104 Upload Resumption Supported\r\n\(version)\r\nLocation: \(location)\r\n\r\n")
        }
        return try await take(request, count, path, connection, ["Location: \(location)"], isCreation: true)
    }

    private func tusCreation(
        _ request: Request, _ path: String, _ location: String, _ connection: RawConnection
    ) async throws -> Bool {
        let extensions = state.withLock { $0.faults.extensions }
        if let concat = request.fields["upload-concat"], concat.hasPrefix("final;") {
            return try await concatenation(String(concat.dropFirst(6)), request, path, location, connection)
        }
        guard let length = request.number("upload-length"),
            request.fields["upload-concat"] == nil || extensions.contains("concatenation")
        else {
            try await reply(400, [version], connection, isLast: true)
            return false
        }
        state.withLock { state in
            state.files[path] = []
            state.lengths[path] = length
            if request.fields["upload-concat"] == "partial" { state.parts.insert(path) }
        }
        let expiry = extensions.contains("expiration") ? ["Upload-Expires: Wed, 25 Jun 2070 16:00:00 GMT"] : []
        guard let count = request.number("content-length"), count > 0 else {
            try await reply(201, [version, "Location: \(location)"] + expiry, connection)
            return true
        }
        guard extensions.contains("creation-with-upload"),
            request.fields["content-type"] == "application/offset+octet-stream"
        else {
            try await reply(400, [version], connection, isLast: true)
            return false
        }
        return try await take(request, count, path, connection, ["Location: \(location)"] + expiry, isCreation: true)
    }

    private func concatenation(
        _ list: String, _ request: Request, _ path: String, _ location: String, _ connection: RawConnection
    ) async throws -> Bool {
        let paths = list.split(separator: " ").map {
            "/" + $0.split(separator: "/").dropFirst(2).joined(separator: "/")
        }
        let isWhole = state.withLock { state in
            let areWhole = paths.allSatisfy {
                state.parts.contains($0) && state.files[$0]?.count == state.lengths[$0]
            }
            guard !paths.isEmpty, areWhole, request.number("upload-length") == nil else { return false }
            state.files[path] = paths.flatMap { state.files[$0] ?? [] }
            state.complete.insert(path)
            return true
        }
        try await reply(isWhole ? 201 : 400, [version] + (isWhole ? ["Location: \(location)"] : []), connection)
        return true
    }

    private func append(_ request: Request, _ connection: RawConnection) async throws -> Bool {
        let media = dialect == .tus ? "application/offset+octet-stream" : "application/partial-upload"
        let needsMedia = dialect == .tus || dialect == .draft(6)
        guard isSpoken(request), let offset = request.number("upload-offset"),
            let count = request.number("content-length"),
            !needsMedia || request.fields["content-type"] == media, dialect == .tus || asksForAll(request) != nil
        else {
            try await reply(400, [version], connection, isLast: true)
            return false
        }
        guard let file = state.withLock({ $0.files[request.target] }) else {
            try await reply(404, [version], connection, isLast: true)
            return false
        }
        guard file.count == offset else {
            try await reply(409, [version, "Upload-Offset: \(file.count)"], connection, isLast: true)
            return false
        }
        return try await take(request, count, request.target, connection, [], isCreation: false)
    }

    /// Receives bytes and responds.
    private func take(
        _ request: Request, _ count: Int, _ path: String, _ connection: RawConnection, _ fields: [String],
        isCreation: Bool
    ) async throws -> Bool {
        let (number, faults) = state.withLock { state in
            state.bodies += 1
            return (state.bodies - 1, state.faults)
        }
        if number < faults.statuses.count, let status = faults.statuses[number] {
            try await reply(status, [version], connection, isLast: true)
            return false
        }
        if let limit = faults.appendLimit, count > limit, !isCreation {
            try await reply(413, [version], connection, isLast: true)
            return false
        }
        if let early = faults.early {
            try await reply(early.status, [version] + fields + early.fields, connection, isLast: true, leavesBody: true)
            return false
        }
        for line in faults.interim { try await connection.write(line + "\r\n\r\n") }
        let breakPoint = number < faults.breaks.count ? faults.breaks[number] : nil
        var left = min(count, breakPoint ?? count)
        let start = state.withLock { $0.files[path]?.count ?? 0 }
        while left > 0 {
            let piece = try await connection.readExactly(min(left, 16 << 10))
            left -= piece.count
            state.withLock {
                $0.files[path, default: []] += piece
                $0.received += piece.count
            }
        }
        if let keeps = faults.keeps {
            state.withLock { state in
                let kept = start + min(keeps(count), (state.files[path]?.count ?? start) - start)
                state.files[path]?.removeSubrange(kept...)
            }
        }
        if faults.drops { state.withLock { $0.files[path]?.removeSubrange(start...) } }
        if faults.forgetsAfter == number + 1 { state.withLock { $0.files = [:] } }
        if breakPoint != nil {
            try await breakOff(connection)
            return false
        }
        let expected =
            dialect == .tus
            ? request.fields["upload-checksum"]
            : request.fields["content-digest"].map { String($0.dropFirst("sha-256=:".count).dropLast()) }
        if let checksum = faults.checksum, let expected {
            let digest = checksum.digest(Array(state.withLock { $0.files[path] ?? [] }[start...]))
            guard expected == (dialect == .tus ? "\(checksum.name) \(digest)" : digest) else {
                state.withLock { $0.files[path]?.removeSubrange(start...) }
                try await reply(dialect == .tus ? 460 : 400, [version], connection)
                return true
            }
        }
        let (reached, length) = state.withLock { ($0.files[path]?.count ?? 0, $0.lengths[path] ?? 0) }
        let isComplete = reached == length
        if isComplete { state.withLock { _ = $0.complete.insert(path) } }
        if isComplete, faults.losesLastAnswer {
            try await breakOff(connection)
            return false
        }
        let state = dialect == .tus ? [] : [completeness(isComplete)]
        let limits = faults.appendLimit.map { ["Upload-Limit: max-append-size=\($0), max-age=3600"] } ?? []
        try await reply(
            dialect == .tus ? (isCreation ? 201 : 204) : (isComplete ? 200 : 201),
            [version, "Upload-Offset: \(reached)"] + state + fields + limits,
            connection)
        return true
    }
}
#endif
