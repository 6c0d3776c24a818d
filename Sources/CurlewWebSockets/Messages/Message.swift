internal import Curlew

extension CurlewWebSocket {
    /// A message of a WebSocket (RFC 6455 §5.6).
    ///
    /// ```swift
    /// switch message.content {
    /// case .text(let text): print(text)
    /// case .binary(let bytes): print(bytes.count)
    /// }
    /// ```
    public struct Message: Sendable {
        /// The content of a message.
        public enum Content: Sendable {
            /// Text.
            case text(String)
            /// Bytes.
            case binary([UInt8])
        }

        /// The kind of a message.
        public enum Kind: Sendable, Hashable {
            /// UTF-8.
            case text
            /// Bytes.
            case binary
        }

        /// The content.
        public let content: Content
        /// The dialect of JSON of the session that received the message; nil for a message of the application.
        private let dialect: JSONDialect?

        /// Makes a text message.
        public static func text(_ text: String) -> CurlewWebSocket.Message { CurlewWebSocket.Message(.text(text)) }

        /// Makes a binary message.
        public static func binary(_ bytes: [UInt8]) -> CurlewWebSocket.Message {
            CurlewWebSocket.Message(.binary(bytes))
        }

        private init(_ content: Content, dialect: JSONDialect? = nil) {
            self.content = content
            self.dialect = dialect
        }

        /// Makes a message from its kind and its bytes. The bytes of a text must be UTF-8.
        package init(_ kind: CurlewWebSocket.Message.Kind, bytes: [UInt8]) {
            self.init(kind, bytes: bytes, dialect: nil)
        }

        init(_ kind: CurlewWebSocket.Message.Kind, bytes: [UInt8], dialect: JSONDialect?) {
            switch kind {
            case .text: self.init(.text(String(decoding: bytes, as: UTF8.self)), dialect: dialect)
            case .binary: self.init(.binary(bytes), dialect: dialect)
            }
        }

        /// The kind.
        public var kind: CurlewWebSocket.Message.Kind {
            switch content {
            case .text: .text
            case .binary: .binary
            }
        }

        /// The text; nil for a binary message.
        public var text: String? {
            if case .text(let text) = content { text } else { nil }
        }

        /// The bytes. A text is encoded as UTF-8.
        public var bytes: [UInt8] {
            switch content {
            case .text(let text): Array(text.utf8)
            case .binary(let bytes): bytes
            }
        }

        /// The number of ``bytes``.
        var size: Int {
            switch content {
            case .text(let text): text.utf8.count
            case .binary(let bytes): bytes.count
            }
        }

        /// Decodes the message from JSON, in the dialect of the session that received it (``Curlew/HTTPSession/json``).
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed``.
        public func json<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
            do {
                return try (dialect?.coding ?? JSONCoding()).decode(type, from: bytes)
            } catch let error as CurlewError {
                throw error
            } catch {
                throw CurlewError(.decodingFailed, "a message is no JSON of \(type)", underlying: error)
            }
        }
    }
}

/// A dialect of JSON that messages share by reference.
final class JSONDialect: Sendable {
    let coding: JSONCoding

    init(_ coding: JSONCoding) { self.coding = coding }
}

extension CurlewWebSocket.Message: Hashable {
    /// True if the kinds and the bytes are equal. Texts that are equivalent in Unicode may have different bytes.
    public static func == (left: CurlewWebSocket.Message, right: CurlewWebSocket.Message) -> Bool {
        switch (left.content, right.content) {
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.binary(let left), .binary(let right)): left == right
        case (.text, .binary), (.binary, .text): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch content {
        case .text(let text): hasher.combine(ExactText(text))
        case .binary(let bytes): hasher.combine(bytes)
        }
    }
}
