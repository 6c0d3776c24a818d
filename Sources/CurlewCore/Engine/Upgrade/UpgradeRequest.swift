internal import CLibcurl
internal import CurlewPlatform
internal import FoundationEssentials
internal import HTTPTypes

/// The head of a request that asks for an upgrade (RFC 9110 §7.8), in the form of HTTP/1.1.
///
/// libcurl opens the connection of such a request and sends nothing over it. The head is therefore written here, from
/// the same fields that libcurl would get.
struct UpgradeRequest: Sendable {
    /// The requested protocol: a name and an optional version, such as `websocket` or `tcp`.
    let name: String
    /// The head without its last lines.
    private let start: [UInt8]
    /// The field that gets new random bytes for each connection; nil for none.
    private let nonceField: String?

    /// - Parameters:
    ///   - request: The request, whose fields were checked.
    ///   - fields: The lines of its fields in libcurl's form.
    ///   - userAgent: The User-Agent of a request without this field.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest``.
    init(to name: String, _ request: borrowing CurlewRequest, fields: FieldList?, userAgent: String?) throws {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isTokenByte) }) else {
            throw CurlewError(.invalidRequest, "the protocol of an upgrade is not a name with an optional version")
        }
        guard request.body.isNone else {
            throw CurlewError(.invalidRequest, "a request that asks for an upgrade has no body")
        }
        guard request.fields[.connection] == nil else {
            throw CurlewError(.invalidRequest, "the field Connection is set by the transport in an upgrade")
        }
        self.name = name
        let query = request.uri.query.map { "?\($0)" } ?? ""
        var writer = HeadWriter(firstLine: "\(request.method.rawValue) \(request.uri.path)\(query) HTTP/1.1")
        let lines = FieldLine.lines(of: fields)
        if !lines.contains(where: { $0.isNamed("host") }) { writer.write("Host: \(request.uri.authority)") }
        if let userAgent, !lines.contains(where: { $0.isNamed("user-agent") }) {
            writer.write("User-Agent: \(userAgent)")
        }
        if !lines.contains(where: { $0.isNamed("accept") }) { writer.write("Accept: */*") }
        for line in lines where !line.isSuppressed { writer.write(line) }
        writer.write("Connection: Upgrade")
        writer.write("Upgrade: \(name)")
        start = writer.bytes
        nonceField = request.options.upgradeNonce?.rawName
    }

    /// Makes the head for a connection.
    /// - Returns: The bytes, and the value of the field that gets new random bytes for each connection.
    func head() -> (bytes: [UInt8], nonce: String?) {
        var writer = HeadWriter(bytes: start)
        let nonce = nonceField.map { name in
            let nonce = Self.nonce()
            writer.write("\(name): \(nonce)")
            return nonce
        }
        return (writer.finished(), nonce)
    }

    /// The Base64 of 16 random bytes.
    private static func nonce() -> String {
        var random = SystemRandomNumberGenerator()
        return Data((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }).base64EncodedString()
    }

    /// True if the server has switched to the protocol.
    func isAccepted(by response: HTTPResponse) -> Bool {
        Self.contains(name, in: response.headerFields[values: .upgrade])
            && Self.contains("upgrade", in: response.headerFields[values: .connection])
    }

    /// True if an element of a list equals the word, without regard to case.
    private static func contains(_ word: String, in values: [String]) -> Bool {
        values.contains { value in
            value.utf8.split(separator: .comma).contains { element in
                let trimmed = element.drop { $0 == .space || $0 == .tab }.reversed()
                    .drop { $0 == .space || $0 == .tab }.reversed()
                return trimmed.map(\.lowercasedASCII).elementsEqual(word.utf8.lazy.map(\.lowercasedASCII))
            }
        }
    }
}

/// A line of a field in the form that libcurl takes: `Name: value`, `Name;` for an empty value, and `Name:` for a field
/// that is not to be sent.
private struct FieldLine {
    let name: ArraySlice<UInt8>
    let value: ArraySlice<UInt8>
    let isSuppressed: Bool

    private init(_ bytes: [UInt8]) {
        if let colon = bytes.firstIndex(of: .colon) {
            name = bytes[..<colon]
            value = bytes[(colon + 1)...].drop { $0 == .space || $0 == .tab }
            isSuppressed = value.isEmpty
        } else {
            name = bytes.dropLast()
            value = []
            isSuppressed = false
        }
    }

    func isNamed(_ lowercased: StaticString) -> Bool {
        lowercased.withUTF8Buffer { $0.elementsEqual(name.lazy.map(\.lowercasedASCII)) }
    }

    static func lines(of list: FieldList?) -> [FieldLine] {
        var lines: [FieldLine] = []
        var node = list?.head
        while let current = node {
            let text = UnsafeRawBufferPointer(start: current.pointee.data, count: strlen(current.pointee.data))
            lines.append(FieldLine(Array(text)))
            node = current.pointee.next
        }
        return lines
    }
}

private struct HeadWriter {
    private(set) var bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(firstLine: String) { bytes = Array("\(firstLine)\r\n".utf8) }

    mutating func write(_ line: String) { bytes += Array("\(line)\r\n".utf8) }

    mutating func write(_ line: FieldLine) {
        bytes += line.name
        bytes += [.colon, .space]
        bytes += line.value
        bytes += [.carriageReturn, .lineFeed]
    }

    consuming func finished() -> [UInt8] { bytes + [.carriageReturn, .lineFeed] }
}

extension RequestOptions {
    private enum UpgradeKey: SourceKey { static let defaultValue: String? = nil }

    /// The protocol to which the connection is switched (RFC 9110 §7.8); nil for an ordinary request.
    ///
    /// Such a request uses a new HTTP/1.1 connection that no other request shares. No cache answers it, and it is not
    /// joined to an equal request.
    package var upgradeProtocol: String? {
        get { self[UpgradeKey.self] }
        set { self[UpgradeKey.self] = newValue }
    }

    private enum UpgradeNonceKey: SourceKey { static let defaultValue: HTTPField.Name? = nil }

    /// The field of an upgrade that gets the Base64 of 16 random bytes, new for each connection (RFC 6455 §4.1); nil
    /// for none. ``UpgradedConnection/nonce`` contains the value.
    package var upgradeNonce: HTTPField.Name? {
        get { self[UpgradeNonceKey.self] }
        set { self[UpgradeNonceKey.self] = newValue }
    }
}
