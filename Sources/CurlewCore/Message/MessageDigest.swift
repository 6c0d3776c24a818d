internal import COpenSSL

/// A hash that is computed piece by piece. Not `Sendable`: one task at a time feeds it.
package final class MessageDigest {
    /// A hash function by its name in OpenSSL.
    package struct Algorithm: Sendable, Hashable {
        let name: String

        static let md5 = Algorithm(name: "MD5")
        package static let sha1 = Algorithm(name: "SHA1")
        package static let sha256 = Algorithm(name: "SHA2-256")
        package static let sha512 = Algorithm(name: "SHA2-512")
        static let sha512Truncated = Algorithm(name: "SHA2-512/256")
    }

    private let context: OpaquePointer

    /// - Throws: ``CurlewError`` with ``ErrorCode/unsupported`` if this OpenSSL lacks the function, as a FIPS build
    ///   lacks MD5; with ``ErrorCode/resourcesExhausted`` without memory.
    package init(_ algorithm: Algorithm) throws {
        OpenSSLLibrary.start()
        guard let context = EVP_MD_CTX_new() else {
            throw CurlewError(.resourcesExhausted, "no memory for a hash")
        }
        self.context = context
        let function = EVP_MD_fetch(nil, algorithm.name, nil)
        defer { EVP_MD_free(function) }
        // The context keeps its own reference to the function.
        guard let function, EVP_DigestInit_ex2(context, function, nil) == 1 else {
            throw CurlewError(.unsupported, "this OpenSSL has no \(algorithm.name)")
        }
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: [UInt8]) throws {
        guard EVP_DigestUpdate(context, bytes, bytes.count) == 1 else {
            throw CurlewError(.engineFailed, "the hash failed")
        }
    }

    /// The hash of the bytes so far, in lower-case hexadecimal; further bytes may follow.
    package func hashSoFar() throws -> String {
        guard let copy = EVP_MD_CTX_new() else { throw CurlewError(.resourcesExhausted, "no memory for a hash") }
        defer { EVP_MD_CTX_free(copy) }
        var length: UInt32 = 0
        var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &hash, &length) == 1 else {
            throw CurlewError(.engineFailed, "the hash failed")
        }
        return hash.prefix(Int(length)).hexadecimal
    }

    /// The hash in lower-case hexadecimal.
    package func finish() throws -> String { try finishedBytes().hexadecimal }

    /// The hash.
    package func finishedBytes() throws -> [UInt8] {
        var length: UInt32 = 0
        var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        guard EVP_DigestFinal_ex(context, &hash, &length) == 1 else {
            throw CurlewError(.engineFailed, "the hash failed")
        }
        return Array(hash.prefix(Int(length)))
    }

    /// The hash of a text's UTF-8.
    package static func hash(_ text: String, by algorithm: Algorithm) throws -> String {
        let digest = try MessageDigest(algorithm)
        try digest.update(Array(text.utf8))
        return try digest.finish()
    }
}
