package import HTTPTypes

/// A handshake that failed (RFC 6455 §4).
package enum HandshakeFailure: Error, Sendable, Hashable {
    // Faults in the options of this endpoint.

    /// A subprotocol of this endpoint's offer that is not a token or occurs twice.
    case invalidOwnSubprotocol(String)
    /// This OpenSSL has no SHA-1.
    case hashUnavailable

    // Faults of a server.

    case unexpectedStatus(Int)
    case missingAccept
    /// Sec-WebSocket-Accept occurs more than once.
    case repeatedAccept
    case wrongAccept
    /// A subprotocol that was not offered.
    case unofferedSubprotocol(String)
    /// Sec-WebSocket-Protocol occurs more than once or is not a token.
    case invalidSubprotocolField
    /// An extension that was not offered.
    case unofferedExtension(String)
    /// An extension that the server chose twice.
    case repeatedExtension(String)
    /// Parameters that do not fit the offer.
    case invalidExtensionParameters(String)

    // Faults of a client.

    case unexpectedMethod(HTTPRequest.Method)
    case missingKey
    /// Sec-WebSocket-Key occurs more than once or is not the Base64 of 16 bytes.
    case invalidKey
    case missingVersion
    case unsupportedVersion(String)
    /// A list of subprotocols that violates the grammar, is empty or has an element twice.
    case invalidSubprotocolList

    // Faults of either endpoint.

    /// The field Upgrade is missing or lacks `websocket`.
    case missingUpgrade
    /// The field Connection is missing or lacks `upgrade`.
    case missingConnectionUpgrade
    /// Sec-WebSocket-Extensions violates the grammar.
    case invalidExtensionField
}

extension HandshakeFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidOwnSubprotocol(let name):
            "the subprotocol \(name.debugDescription) is no token or is offered twice"
        case .hashUnavailable: "this OpenSSL has no SHA-1"
        case .unexpectedStatus(let code): "the server answered with the status \(code) instead of 101"
        case .missingUpgrade: "the field Upgrade does not have the protocol websocket"
        case .missingConnectionUpgrade: "the field Connection does not have the option upgrade"
        case .missingAccept: "the response has no field Sec-WebSocket-Accept"
        case .repeatedAccept: "the response has several fields Sec-WebSocket-Accept"
        case .wrongAccept: "the field Sec-WebSocket-Accept does not belong to the key of the request"
        case .unofferedSubprotocol(let name):
            "the server chose the subprotocol \(name.debugDescription), which was not offered"
        case .invalidSubprotocolField: "the field Sec-WebSocket-Protocol of the response is not one token"
        case .invalidExtensionField: "the field Sec-WebSocket-Extensions cannot be read"
        case .unofferedExtension(let name):
            "the server chose the extension \(name.debugDescription), which was not offered"
        case .repeatedExtension(let name): "the server chose the extension \(name.debugDescription) twice"
        case .invalidExtensionParameters(let text):
            "the server's parameters do not fit the offer: \(text.debugDescription)"
        case .unexpectedMethod(let method): "the method of the request is \(method) instead of GET"
        case .missingKey: "the request has no field Sec-WebSocket-Key"
        case .invalidKey: "the field Sec-WebSocket-Key is not the Base64 of 16 bytes"
        case .missingVersion: "the request has no field Sec-WebSocket-Version"
        case .unsupportedVersion(let version):
            "the request asks for the version \(version.debugDescription) of the protocol instead of 13"
        case .invalidSubprotocolList: "the field Sec-WebSocket-Protocol of the request is no list of different tokens"
        }
    }
}
