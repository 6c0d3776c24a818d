internal import Curlew
package import HTTPTypes

/// The server's part of the opening handshake (RFC 6455 §4.2), for the test kit.
package struct ServerHandshake: Sendable {
    private let subprotocols: [String]
    private let compression: CurlewWebSocket.Compression?

    /// - Parameters:
    ///   - subprotocols: The subprotocols that the server supports, the preferred one first.
    ///   - compression: The compression to accept; nil for none.
    package init(subprotocols: [String] = [], compression: CurlewWebSocket.Compression? = nil) {
        self.subprotocols = subprotocols
        self.compression = compression
    }

    /// Checks a request and makes the response to it.
    package func answer(
        to request: HTTPRequest
    ) throws(HandshakeFailure) -> (response: HTTPResponse, agreement: HandshakeAgreement) {
        guard request.method == .get else { throw .unexpectedMethod(request.method) }
        let fields = request.headerFields
        try UpgradeFields.check(fields)
        try checkVersion(fields)
        let key = try key(in: fields)
        guard let acceptValue = key.acceptValue else { throw .hashUnavailable }
        var response = HTTPResponse(
            status: .switchingProtocols,
            headerFields: [.upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: acceptValue])
        var agreement = HandshakeAgreement()
        if let subprotocol = try subprotocol(in: fields) {
            response.headerFields[.secWebSocketProtocol] = subprotocol
            agreement.subprotocol = subprotocol
        }
        guard let offers = ExtensionElement.elements(fields[values: .secWebSocketExtensions]) else {
            throw .invalidExtensionField
        }
        if let compression, let answer = DeflateAgreement.answer(to: offers, options: compression) {
            response.headerFields[.secWebSocketExtensions] = answer.response.element.text
            agreement.compression = answer.agreement
        }
        return (response, agreement)
    }

    /// The response to a failed handshake: 405 for another method, 426 for a missing Upgrade or another version, and
    /// 400 otherwise.
    package static func refusal(_ failure: HandshakeFailure) -> HTTPResponse {
        switch failure {
        case .unexpectedMethod: HTTPResponse(status: .methodNotAllowed, headerFields: [.allow: "GET"])
        case .missingUpgrade:
            HTTPResponse(status: .upgradeRequired, headerFields: [.upgrade: "websocket", .connection: "Upgrade"])
        case .unsupportedVersion:
            HTTPResponse(
                status: .upgradeRequired,
                headerFields: [.upgrade: "websocket", .connection: "Upgrade", .secWebSocketVersion: "13"])
        default: HTTPResponse(status: .badRequest)
        }
    }

    private func checkVersion(_ fields: HTTPFields) throws(HandshakeFailure) {
        let values = fields[values: .secWebSocketVersion]
        guard let value = values.first else { throw .missingVersion }
        guard values.count == 1, value.hasSameBytes(as: "13") else {
            throw .unsupportedVersion(values.joined(separator: ", "))
        }
    }

    private func key(in fields: HTTPFields) throws(HandshakeFailure) -> HandshakeKey {
        let values = fields[values: .secWebSocketKey]
        guard let value = values.first else { throw .missingKey }
        guard values.count == 1, let key = HandshakeKey(value) else { throw .invalidKey }
        return key
    }

    private func subprotocol(in fields: HTTPFields) throws(HandshakeFailure) -> String? {
        let values = fields[values: .secWebSocketProtocol]
        guard !values.isEmpty else { return nil }
        guard let offered = FieldScanner.tokens(values), !offered.isEmpty,
            Set(offered).count == offered.count
        else { throw .invalidSubprotocolList }
        return subprotocols.first { own in offered.contains(where: own.hasSameBytes) }
    }
}
