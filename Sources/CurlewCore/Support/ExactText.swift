internal import CurlewPlatform

/// Text as the key of a dictionary or a set, compared by its bytes.
///
/// `String` compares texts by canonical equivalence in Unicode, so the two forms of é are equal. Servers compare bytes,
/// and the names of two users may differ only in this way. Text of a peer or a user is therefore compared and hashed
/// here.
package struct ExactText: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: ExactText, other: ExactText) -> Bool { one.text.hasSameBytes(as: other.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String {
    /// True if both texts have the same bytes in UTF-8.
    package func hasSameBytes(as other: String) -> Bool {
        let isSame = utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { other in own.hasSameBytes(as: other) }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Hashes the number of bytes and the bytes of the text.
    package func hashBytes(into hasher: inout Hasher) {
        let isHashed: Void? = utf8.withContiguousStorageIfAvailable { bytes in
            hasher.combine(bytes.count)
            hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        guard isHashed == nil else { return }
        let bytes = Array(utf8)
        hasher.combine(bytes.count)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension StringProtocol {
    /// True if the text equals an ASCII word, except for the case of ASCII letters. The Kelvin sign is not equal to k
    /// here, although `lowercased` makes it one.
    /// - Parameter word: A word in ASCII and lower case.
    package func isEqual(ignoringASCIICase word: StaticString) -> Bool {
        ArraySlice(utf8).isEqual(ignoringCase: word)
    }
}

extension String? {
    /// True if both are nil, or both texts have the same bytes.
    package func hasSameBytes(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasSameBytes(as: other)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Compares by `memcmp`: a comparison of elements takes thirty times as many instructions.
    func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let own = baseAddress, let other = other.baseAddress else { return true }
        return memcmp(own, other, count) == 0
    }
}
