import Curlew
import CurlewTesting
import HTTPTypes
import SeededNumbers

/// A request of the soak. Its path contains everything that its server needs, and its nonce makes its body unique.
struct Exchange: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// A body without delay.
        case plain
        /// A body in pieces, with pauses between them.
        case slow
        /// A body that is sent and answered with its checksum.
        case upload
        /// 302, and then a body at another path.
        case moved
        /// 503 at every attempt.
        case busy
        /// No answer.
        case stalled
    }

    /// The client's treatment of the response.
    enum Reading: Sendable {
        case whole
        case firstChunk
        /// The request is cancelled after this time.
        case cancelled(Duration)
    }

    var kind: Kind
    var nonce: UInt64
    /// The size of the response's body, or of an upload's body.
    var size: Int
    var isChunked: Bool
    var reading: Reading

    /// - Parameter mayBeChunked: False over HTTP/2, where a body without a length may be truncated unnoticed (see the
    ///   article Architecture).
    init(_ random: inout SeededNumbers, mayBeChunked: Bool) {
        kind =
            switch random.next() % 100 {
            case 0..<55: .plain
            case 55..<65: .slow
            case 65..<80: .upload
            case 80..<90: .moved
            case 90..<98: .busy
            default: .stalled
            }
        nonce = random.next()
        size = [0, 1, 100, 2_000, 20_000, 300_000][Int(random.next() % 6)]
        if kind == .slow { size = min(size, 20_000) }
        isChunked = mayBeChunked && random.next() % 3 == 0
        reading =
            switch random.next() % 20 {
            case 0: .firstChunk
            case 1: .cancelled(.microseconds(Int64(random.next() % 30_000)))
            default: .whole
            }
    }

    /// An exchange that a server without other faults answers: a body without delay, or the checksum of an upload.
    init(orderly random: inout SeededNumbers, isUpload: Bool) {
        kind = isUpload || random.next(upTo: 3) == 0 ? .upload : .plain
        nonce = random.next()
        size = [1, 100, 2_000, 20_000, 150_000][random.next(upTo: 5)]
        isChunked = false
        reading = random.next(upTo: 20) == 0 ? .cancelled(.microseconds(Int64(random.next(upTo: 5_000)))) : .whole
    }

    var path: String { "/\(kind.rawValue)/\(nonce)/\(size)/\(isChunked)" }

    /// - Parameter path: A path in the format of ``path``.
    /// - Returns: nil for another path.
    init?(path: String) {
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count == 4, let kind = Kind(rawValue: parts[0]), let nonce = UInt64(parts[1]),
            let size = Int(parts[2]), let isChunked = Bool(parts[3])
        else { return nil }
        (self.kind, self.nonce, self.size, self.isChunked, reading) = (kind, nonce, size, isChunked, .whole)
    }

    /// The bytes of the body, in either direction.
    var content: [UInt8] { Self.content(nonce, count: size) }

    var expectedStatus: HTTPResponse.Status { kind == .busy ? .serviceUnavailable : .ok }

    /// The expected answer.
    var expected: [UInt8] { kind == .upload ? Self.summary(of: content, nonce: nonce) : content }

    private static func content(_ nonce: UInt64, count: Int) -> [UInt8] {
        var numbers = SeededNumbers(seed: nonce)
        let words = (0..<(count + 7) / 8).map { _ in numbers.next() }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }

    static func summary(of bytes: [UInt8], nonce: UInt64) -> [UInt8] {
        // The checksum is FNV-1a.
        let sum = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return Array("\(nonce): \(bytes.count) bytes, \(sum)".utf8)
    }

    // MARK: Server

    /// The server's answer to a request.
    static func response(to request: InboundRequest) async throws -> MockResponse {
        guard var exchange = Exchange(path: request.path) else { return .notFound }
        switch exchange.kind {
        case .plain: break
        case .slow:
            var response = exchange.success
            response.throttle = .init(bytes: max(1, exchange.size / 8), every: .milliseconds(5))
            return response
        case .upload:
            let received = try await request.body.collect()
            return MockResponse(body: .bytes(summary(of: received, nonce: exchange.nonce)))
        case .moved:
            exchange.kind = .plain
            return MockResponse(status: .found, fields: [.location: exchange.path], body: "moved")
        case .busy:
            return MockResponse(status: .serviceUnavailable, fields: [.retryAfter: "0"], body: .bytes(exchange.content))
        case .stalled:
            try await Task.sleep(for: .seconds(60))
        }
        return exchange.success
    }

    private var success: MockResponse {
        var response = MockResponse(body: .bytes(content))
        if isChunked { response.framing = .chunked }
        return response
    }
}
