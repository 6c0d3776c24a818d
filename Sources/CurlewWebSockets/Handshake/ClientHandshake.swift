internal import Curlew
package import HTTPTypes

/// The result of a handshake.
package struct HandshakeAgreement: Sendable, Hashable {
    /// The subprotocol; nil for none.
    package var subprotocol: String?
    /// The result of the negotiation of permessage-deflate; nil for no compression.
    package var compression: DeflateAgreement?

    package init(subprotocol: String? = nil, compression: DeflateAgreement? = nil) {
        self.subprotocol = subprotocol
        self.compression = compression
    }
}

/// The client's part of the opening handshake (RFC 6455 §4.1).
package struct ClientHandshake: Sendable {
    /// The key that the server must answer.
    package var key: HandshakeKey
    private let subprotocols: [String]
    private let compression: CurlewWebSocket.Compression?

    /// - Parameters:
    ///   - subprotocols: The subprotocols to offer, the preferred one first.
    ///   - compression: The compression to offer; nil for none.
    ///   - key: A new key.
    /// - Throws: ``HandshakeFailure/invalidOwnSubprotocol(_:)``, ``HandshakeFailure/hashUnavailable``.
    package init(
        subprotocols: [String] = [], compression: CurlewWebSocket.Compression? = nil, key: HandshakeKey = HandshakeKey()
    ) throws(HandshakeFailure) {
        for (index, name) in subprotocols.enumerated() {
            guard name.isToken, !subprotocols[..<index].contains(where: name.hasSameBytes) else {
                throw .invalidOwnSubprotocol(name)
            }
        }
        guard key.acceptValue != nil else { throw .hashUnavailable }
        self.key = key
        self.subprotocols = subprotocols
        self.compression = compression
    }

    /// The fields of the request, which is a GET over HTTP/1.1.
    package var fields: HTTPFields {
        var fields: HTTPFields = [
            .upgrade: "websocket", .connection: "Upgrade", .secWebSocketVersion: "13", .secWebSocketKey: key.text,
        ]
        if !subprotocols.isEmpty { fields[.secWebSocketProtocol] = subprotocols.joined(separator: ", ") }
        if let compression { fields[.secWebSocketExtensions] = DeflateAgreement.offer(compression).element.text }
        return fields
    }

    /// Checks the response of the server.
    package func check(_ response: HTTPResponse) throws(HandshakeFailure) -> HandshakeAgreement {
        guard response.status.code == 101 else { throw .unexpectedStatus(response.status.code) }
        let fields = response.headerFields
        // A server switches to one protocol (RFC 6455 §4.1).
        guard FieldScanner.tokens(fields[values: .upgrade])?.count == 1 else { throw .missingUpgrade }
        try UpgradeFields.check(fields)
        let accepts = fields[values: .secWebSocketAccept]
        guard let accept = accepts.first else { throw .missingAccept }
        guard accepts.count == 1 else { throw .repeatedAccept }
        guard let acceptValue = key.acceptValue else { throw .hashUnavailable }
        guard accept.hasSameBytes(as: acceptValue) else { throw .wrongAccept }
        return HandshakeAgreement(
            subprotocol: try subprotocol(in: fields), compression: try compression(in: fields))
    }

    private func subprotocol(in fields: HTTPFields) throws(HandshakeFailure) -> String? {
        let values = fields[values: .secWebSocketProtocol]
        guard let value = values.first else { return nil }
        guard values.count == 1, value.isToken else { throw .invalidSubprotocolField }
        guard subprotocols.contains(where: value.hasSameBytes) else { throw .unofferedSubprotocol(value) }
        return value
    }

    private func compression(in fields: HTTPFields) throws(HandshakeFailure) -> DeflateAgreement? {
        guard let elements = ExtensionElement.elements(fields[values: .secWebSocketExtensions]) else {
            throw .invalidExtensionField
        }
        var agreement: DeflateAgreement?
        for element in elements {
            guard let compression, element.name.hasSameBytes(as: DeflateParameters.name) else {
                throw .unofferedExtension(element.name)
            }
            guard agreement == nil else { throw .repeatedExtension(element.name) }
            guard let parameters = DeflateParameters(element),
                let result = DeflateAgreement(response: parameters, to: compression)
            else { throw .invalidExtensionParameters(element.text) }
            agreement = result
        }
        return agreement
    }
}

/// The fields that the request and the response of a handshake share.
enum UpgradeFields {
    static func check(_ fields: HTTPFields) throws(HandshakeFailure) {
        guard contains("websocket", in: fields[values: .upgrade]) else { throw .missingUpgrade }
        guard contains("upgrade", in: fields[values: .connection]) else { throw .missingConnectionUpgrade }
    }

    private static func contains(_ word: StaticString, in values: [String]) -> Bool {
        FieldScanner.tokens(values)?.contains { $0.isEqual(ignoringASCIICase: word) } == true
    }
}
