internal import Curlew

/// A message of a WebSocket (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable {
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

extension WebSocketMessage: Hashable {
    /// True if the kinds and the bytes are the same: texts that are equivalent in Unicode may differ.
    public static func == (left: WebSocketMessage, right: WebSocketMessage) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.binary(let left), .binary(let right)): left == right
        case (.text, .binary), (.binary, .text): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .text(let text): hasher.combine(ExactText(text))
        case .binary(let bytes): hasher.combine(bytes)
        }
    }
}
