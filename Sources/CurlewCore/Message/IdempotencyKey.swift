internal import HTTPTypes

extension RequestOptions {
    /// A key by which a server recognizes a request that it has already processed (the field Idempotency-Key).
    ///
    /// ```swift
    /// var options = RequestOptions()
    /// options.idempotencyKey = .random
    /// let receipt = try await api.post("payments", .json(payment), as: Receipt.self, options: options)
    /// ```
    public struct IdempotencyKey: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
        /// The value of the field, as it is sent.
        public let text: String

        public init(_ text: String) { self.text = text }

        public init(stringLiteral value: String) { self.init(value) }

        public var description: String { text }

        /// A new key: 32 hexadecimal digits of the system's random numbers.
        public static var random: IdempotencyKey {
            let digits = (0..<2).map { _ in
                let half = String(UInt64.random(in: .min ... .max), radix: 16)
                return String(repeating: "0", count: 16 - half.utf8.count) + half
            }
            return IdempotencyKey(digits.joined())
        }
    }

    private enum IdempotencyKeyKey: Key {
        static let defaultValue: IdempotencyKey? = nil
        static let affectsResponse = false
    }

    /// The idempotency key of the call. It sets the field Idempotency-Key, unless the request has one.
    ///
    /// With a key, ``Retry``, ``Hedging`` and the transport send the request again as if its method were idempotent,
    /// unless ``isIdempotent`` is false. Resumable uploads and multipart uploads do not send the key, as they consist
    /// of several requests.
    public var idempotencyKey: IdempotencyKey? {
        get { self[IdempotencyKeyKey.self] }
        set { self[IdempotencyKeyKey.self] = newValue }
    }
}

extension CurlewRequest {
    /// Writes the key of the call into its field.
    mutating func addIdempotencyKey() {
        guard let key = options.idempotencyKey, !fields.contains(.idempotencyKey) else { return }
        fields[.idempotencyKey] = key.text
    }
}
