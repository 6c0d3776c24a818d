internal import COpenSSL

/// Bytes that are overwritten when the last reference is released. Descriptions do not contain them.
///
/// `@unchecked Sendable`: the memory is written only in `init` and `deinit`.
final class SecretBytes: @unchecked Sendable {
    private let storage: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: some Collection<UInt8>) {
        storage = .allocate(capacity: bytes.count)
        _ = storage.initialize(from: bytes)
    }

    deinit {
        OPENSSL_cleanse(storage.baseAddress, storage.count)
        storage.deallocate()
    }

    /// Passes a copy to a closure, and overwrites the copy afterwards.
    func withBytes<Result, Failure: Error>(
        _ body: ([UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = Array(storage)
        defer { copy.cleanse() }
        return try body(copy)
    }
}

extension SecretBytes: Hashable {
    static func == (one: SecretBytes, other: SecretBytes) -> Bool {
        one.storage.count == other.storage.count
            && CRYPTO_memcmp(one.storage.baseAddress, other.storage.baseAddress, one.storage.count) == 0
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: UnsafeRawBufferPointer(storage)) }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "secret" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
