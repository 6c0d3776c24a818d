internal import Curlew
internal import HTTPTypes

/// A request in the canonical form that its signature covers.
struct AWSCanonicalRequest {
    /// The names of the signed fields in lower case, sorted, and separated by semicolons.
    let signedNames: String
    private let method: String
    private let path: String
    private let query: String
    /// The lines with the names and values of the fields.
    private let fields: [UInt8]

    init(_ request: HTTPRequest, _ pathRule: AWSSignature.PathRule) throws(CurlewError) {
        method = request.method.rawValue
        let target = Array((request.path ?? "/").utf8)
        let pathEnd = target.firstIndex(of: .questionMark) ?? target.endIndex
        switch pathRule {
        case .asRequested: path = AWSCanonicalPath.encodedOnce(target[..<pathEnd])
        case .normalized: path = AWSCanonicalPath.normalized(target[..<pathEnd])
        }
        query = Self.canonicalQuery(target[pathEnd...].dropFirst())
        let signed = try Self.signedFields(of: request)
        signedNames = signed.map(\.name).joined(separator: ";")
        fields = signed.flatMap { Array($0.name.utf8) + [.colon] + $0.value + [.lineFeed] }
    }

    func text(payload: String) -> [UInt8] {
        Array("\(method)\n\(path)\n\(query)\n".utf8) + fields + Array("\n\(signedNames)\n\(payload)".utf8)
    }

    /// The parameters, each encoded again, sorted by name and then by value. A plus counts as a space, as in S3 and in
    /// AWS's libraries for Go; a canonical query contains no plus.
    private static func canonicalQuery(_ query: ArraySlice<UInt8>) -> String {
        let pairs = query.split(separator: .ampersand).map { pair in
            let end = pair.firstIndex(of: .equals) ?? pair.endIndex
            return (encodedAnew(pair[..<end]), encodedAnew(pair[end...].dropFirst()))
        }
        return pairs.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
    }

    private static func encodedAnew(_ text: ArraySlice<UInt8>) -> String {
        PercentEncoding.encode(PercentEncoding.decode(text, plusIsSpace: true))
    }

    // MARK: Fields

    /// Fields that intermediaries or Curlew may change.
    private static let unsignedNames: Set<String> = [
        "accept-encoding", "authorization", "baggage", "connection", "expect", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade",
        "user-agent",
        "x-amzn-trace-id",
    ]

    private typealias SignedField = (name: String, value: [UInt8])

    private static func signedFields(of request: HTTPRequest) throws(CurlewError) -> [SignedField] {
        var values: [String: [UInt8]] = [:]
        for field in request.headerFields where !unsignedNames.contains(field.name.canonicalName) {
            let value = field.withUnsafeBytesOfValue { folded($0) }
            let name = field.name.canonicalName
            values[name] = values[name].map { $0 + [.comma] + value } ?? value
        }
        if values["host"] == nil { values["host"] = try host(of: request) }
        return values.map { ($0.key, $0.value) }.sorted { $0.name < $1.name }
    }

    /// The value without surrounding spaces. Several spaces are replaced by one.
    private static func folded(_ value: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        Array(value.split(whereSeparator: \.isBlank).joined(separator: [.space]))
    }

    /// The authority as in the Host field of HTTP/1.1: without user information and without the default port.
    private static func host(of request: HTTPRequest) throws(CurlewError) -> [UInt8] {
        let authority = Array((request.authority ?? "").utf8)
        let host = Array(authority[(authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? 0)...])
        guard !host.isEmpty else {
            throw CurlewError(.invalidRequest, "a request without a host cannot be signed")
        }
        let port = request.scheme?.lowercasedASCII == "https" ? ":443" : ":80"
        return host.suffix(port.utf8.count).elementsEqual(port.utf8) ? host.dropLast(port.utf8.count) : host
    }
}

/// The forms of a path in canonical requests.
private enum AWSCanonicalPath {
    /// The path with each character encoded once, even if the request has it encoded already. An encoded slash becomes
    /// a slash: S3 decodes the name of an object in this way before it checks the signature.
    static func encodedOnce(_ path: ArraySlice<UInt8>) -> String {
        path.isEmpty ? "/" : PercentEncoding.encode(PercentEncoding.decode(path, plusIsSpace: false), keeping: "/")
    }

    /// The path without dot segments and empty segments, encoded once more.
    static func normalized(_ path: ArraySlice<UInt8>) -> String {
        var kept: [ArraySlice<UInt8>] = []
        for segment in path.split(separator: .slash) where !segment.elementsEqual(".".utf8) {
            if segment.elementsEqual("..".utf8) {
                _ = kept.popLast()
            } else {
                kept.append(segment)
            }
        }
        let isFolder = path.last == .slash && !kept.isEmpty
        return "/" + kept.map { PercentEncoding.encode($0) }.joined(separator: "/") + (isFolder ? "/" : "")
    }
}
