import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import Testing

@testable import CurlewCore

/// Responses that precede the end of the HTTP/2 request (RFC 9113 §8.1), in all combinations.
@Suite("HTTP/2 responses before the end of the upload", .noLeaks, .timeLimit(.minutes(5)))
struct EarlyAnswerTests {
    /// The properties of one exchange.
    struct Cell: Sendable, CustomTestStringConvertible {
        enum End: Int, CaseIterable { case reset, none, closed }

        let status: Int
        let hasLength: Bool
        let hasTrailers: Bool
        /// True if the frames of the response are sent in one segment.
        let isOneSegment: Bool
        let end: End
        let method: HTTPRequest.Method
        let opensWindow: Bool
        let usesTLS: Bool

        /// The indices of the properties.
        let digits: [Int]
        private static let sizes = [2, 2, 2, 2, 3, 3, 2, 2]

        init(_ number: Int) {
            var rest = number
            digits = Self.sizes.map { size in
                defer { rest /= size }
                return rest % size
            }
            status = [200, 413][digits[0]]
            hasLength = digits[1] == 1
            hasTrailers = digits[2] == 1
            isOneSegment = digits[3] == 1
            end = End.allCases[digits[4]]
            method = [.get, .post, .put][digits[5]]
            opensWindow = digits[6] == 1
            usesTLS = digits[7] == 1
        }

        static let all = (0..<sizes.reduce(1, *)).map { Cell($0) }

        /// A subset of the cells in which every combination of three properties occurs.
        static let covering: [Cell] = {
            var seen: Set<[Int]> = []
            return all.filter { cell in
                // A step without a common factor with the number of cells visits them in a mixed order.
                let mixed = Cell(cell.number * 211 % all.count)
                let isNew = mixed.triples.contains { !seen.contains($0) }
                seen.formUnion(mixed.triples)
                return isNew
            }
            .map { Cell($0.number * 211 % all.count) }
        }()

        private var number: Int {
            zip(digits, Self.sizes).reversed().reduce(0) { $0 * $1.1 + $1.0 }
        }

        private var triples: [[Int]] {
            digits.indices.flatMap { first in
                digits.indices[(first + 1)...].flatMap { second in
                    digits.indices[(second + 1)...].map { third in
                        [first, digits[first], second, digits[second], third, digits[third]]
                    }
                }
            }
        }

        var testDescription: String {
            "\(method) \(status), \(hasLength ? "length" : "no length"), \(hasTrailers ? "trailers" : "no trailers"), "
                + "\(isOneSegment ? "one segment" : "segments"), \(end), \(opensWindow ? "window" : "no window"), "
                + (usesTLS ? "TLS" : "clear text")
        }

        /// True if the client cannot notice the end of the response: it has no length and no reset, and the request is
        /// blocked.
        var hasNoVisibleEnd: Bool { status == 200 && !hasLength && end == .none && !opensWindow }
    }

    /// The body of the request, larger than the initial windows of HTTP/2.
    private static let upload = [UInt8](repeating: 7, count: 2 << 20)

    private func serve(_ connection: RawConnection, _ cell: Cell) async throws {
        let stream = try await connection.acceptHTTP2Request()
        // A part of the body is sent before the response.
        _ = try await connection.readFrame { $0.kind == .data }
        if cell.opensWindow {
            try await connection.write(
                .windowUpdate(increment: 4 << 20), .windowUpdate(stream: stream, increment: 4 << 20))
        } else {
            var left = 65_535 - 16_384
            while left > 0 {
                let frame = try await connection.readFrame { $0.kind == .data }
                left -= frame.payload.count
            }
        }
        var frames = [
            HTTP2WireFrame.response(
                stream: stream, status: cell.status, fields: cell.hasLength ? [("content-length", "5")] : []),
            .data(stream: stream, Array("early".utf8), endStream: !cell.hasTrailers),
        ]
        if cell.hasTrailers {
            frames.append(.headers(stream: stream, fields: [("x-sum", "1")], endStream: true))
        }
        if cell.end == .reset { frames.append(.resetStream(stream, .noError)) }
        if cell.isOneSegment {
            try await connection.write(frames.flatMap(\.bytes))
        } else {
            for frame in frames {
                try await connection.write(frame.bytes)
                try await connection.flush()
            }
        }
        try await connection.flush()
        guard cell.end != .closed else { return }
        while try await connection.read() != nil {}
    }

    /// The error of a cell's outcome, or nil.
    private func problem(of cell: Cell, _ certificate: HeldCertificate) async throws -> String? {
        let tls = ServerTLS([certificate], applicationProtocols: ["h2"])
        let server = try await RawServer.start(tls: cell.usesTLS ? tls : nil) { try await serve($0, cell) }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            $0.timeouts.idle = cell.hasNoVisibleEnd ? .seconds(2) : .seconds(20)
            if !cell.usesTLS { $0.versionPolicy = .http2PriorKnowledge }
        }
        let start = ContinuousClock.now
        var outcome = ""
        do {
            let response = try await session.send(cell.method, .raw(server.url()), .body(.bytes(Self.upload)))
            let body = String(decoding: try await response.body.collect(upTo: .kibibytes(1)), as: UTF8.self)
            let code = response.status.code
            outcome =
                code == cell.status && body == "early" ? "whole" : "\(code) \(body.isEmpty ? "without a body" : body)"
        } catch let error as CurlewError {
            outcome = error.code.rawValue
        }
        let duration = ContinuousClock.now - start
        let count = server.accepted
        await session.shutdown()
        await server.shutdown()
        let isExpected = Self.expected(cell).contains(outcome) && count <= 2 && duration < .seconds(8)
        if Self.isVerbose { print("CELL \(cell.testDescription): \(outcome) \(count) \(duration)") }
        return isExpected ? nil : "\(cell.testDescription): \(outcome), \(count) connections, \(duration)"
    }

    private static let isVerbose = ProcessInfo.processInfo.environment["CURLEW_TEST_VERBOSE"] != nil

    /// The allowed outcomes of a cell, from the table in the article Architecture.
    private static func expected(_ cell: Cell) -> Set<String> {
        var outcomes: Set = ["whole"]
        // A connection that is closed with unread bytes is reset, which may overtake the response.
        if cell.end == .closed, cell.opensWindow || !cell.usesTLS { outcomes.insert("connection-lost") }
        if Engine.overlooksEndOfStream, cell.end == .reset {
            outcomes.formUnion(["http2-failed", "invalid-response", "response-truncated"])
            // A body without a length that is read together with its reset is lost, and libcurl reports success.
            if cell.status == 413, !cell.hasLength { outcomes.insert("413 without a body") }
        }
        guard !cell.hasLength, cell.status == 200 || Engine.overlooksEndOfStream else { return outcomes }
        outcomes.formUnion(["response-truncated", "connection-lost"])
        if cell.hasNoVisibleEnd { outcomes.insert("idle-timeout") }
        return outcomes
    }

    @Test("a response before the end of the upload is delivered, or ends in an error, without delay")
    func cells() async throws {
        let certificate = try HeldCertificate.localhost()
        let isWhole = ProcessInfo.processInfo.environment["CURLEW_TEST_EARLY_ANSWERS"] == "all"
        let cells = isWhole ? Cell.all : Cell.covering
        #expect(isWhole || cells.count <= 80)
        let problems = try await withThrowingTaskGroup(of: String?.self) { group in
            var problems: [String] = []
            for (index, cell) in cells.enumerated() {
                if index >= 8, let problem = try await group.next() ?? nil { problems.append(problem) }
                group.addTask { try await problem(of: cell, certificate) }
            }
            for try await problem in group { if let problem { problems.append(problem) } }
            return problems
        }
        #expect(problems.isEmpty, "\(problems.count) of \(cells.count):\n\(problems.sorted().joined(separator: "\n"))")
    }
}
