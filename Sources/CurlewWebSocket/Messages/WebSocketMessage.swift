/// A message of a WebSocket (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Hashable {
    /// Text.
    case text(String)
    /// Bytes.
    case binary([UInt8])

    /// The kind of a message.
    public enum Kind: Sendable, Hashable {
        /// UTF-8.
        case text
        /// Bytes.
        case binary
    }

    /// The kind.
    public var kind: WebSocketMessage.Kind {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }

    /// Makes a message of its kind and its bytes; those of a text are UTF-8.
    package init(_ kind: WebSocketMessage.Kind, bytes: [UInt8]) {
        self =
            switch kind {
            case .text: .text(String(decoding: bytes, as: UTF8.self))
            case .binary: .binary(bytes)
            }
    }
}
