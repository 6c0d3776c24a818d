import Crypto
import Curlew
import CurlewTesting

extension MockResponse {
    /// A response of JSON.
    static func json(_ text: String, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]) -> MockResponse {
        var fields = fields
        fields[.contentType] = "application/json"
        return MockResponse(status: status, fields: fields, body: .string(text))
    }
}

/// The SHA-256 of bytes, in hexadecimal digits.
func sha256(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
}

extension MockServer {
    /// The requests that were recorded so far.
    func recorded() async -> [RecordedRequest] {
        var found: [RecordedRequest] = []
        for _ in 0..<requestCount { if let request = await takeRequest() { found.append(request) } }
        return found
    }
}

/// A gate that keeps handlers waiting until a test opens it.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// The number of handlers that have come to the gate.
    private(set) var arrivals = 0

    func pass() async {
        arrivals += 1
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
