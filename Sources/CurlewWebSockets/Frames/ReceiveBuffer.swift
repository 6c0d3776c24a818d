/// Bytes of the peer between the socket and the parser. Payloads are unmasked in it, and copied once, out of it.
///
/// A loop may own one for all of its connections: a connection that stops in the middle of the bytes keeps them by
/// ``takeRest()``.
package struct ReceiveBuffer: ~Copyable {
    private(set) var storage: [UInt8]
    /// The bytes that are not read yet.
    private(set) var unread = 0..<0

    package init(capacity: Int = 64 << 10) { storage = [UInt8](repeating: 0, count: capacity) }

    package var isEmpty: Bool { unread.isEmpty }

    /// Fills the empty buffer.
    /// - Parameter read: Writes bytes to the memory, which is valid for the call, and returns their number.
    /// - Returns: That number.
    @discardableResult
    package mutating func fill<Failure: Error>(
        _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        precondition(isEmpty, "the buffer holds bytes that were not read")
        unread = 0..<0
        var count = 0
        // `withUnsafeMutableBytes` passes no typed errors on.
        var failure: Failure?
        storage.withUnsafeMutableBytes { memory in
            do throws(Failure) {
                count = try read(memory)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        unread = 0..<count
        return count
    }

    /// Puts bytes into the empty buffer, however many they are.
    /// - Parameter taken: The number of bytes at the beginning that were read already.
    package mutating func fill(with bytes: some Collection<UInt8>, taken: Int = 0) {
        precondition(isEmpty, "the buffer holds bytes that were not read")
        if bytes.count > storage.count {
            storage = Array(bytes)
        } else {
            storage.replaceSubrange(0..<bytes.count, with: bytes)
        }
        unread = taken..<bytes.count
    }

    /// Takes the bytes that are not read yet, and leaves the buffer empty.
    /// - Parameter start: The place of bytes before them that were read already, and are taken as well.
    package mutating func takeRest(from start: Int? = nil) -> [UInt8] {
        defer { unread = 0..<0 }
        return Array(storage[(start ?? unread.lowerBound)..<unread.upperBound])
    }

    mutating func popFirst() -> UInt8? {
        guard !unread.isEmpty else { return nil }
        defer { unread = unread.lowerBound + 1..<unread.upperBound }
        return storage[unread.lowerBound]
    }

    /// Takes bytes off the front, at most as many as there are.
    /// - Returns: Their place in ``storage``, valid until the buffer is filled again.
    mutating func take(upTo count: Int) -> Range<Int> {
        let taken = unread.prefix(count)
        unread = taken.upperBound..<unread.upperBound
        return taken
    }

    /// Discards bytes that nothing reads any more.
    mutating func discardAll() { unread = 0..<0 }

    /// Unmasks bytes in place.
    mutating func unmask(_ range: Range<Int>, with mask: inout FrameMask) {
        var elements = storage.mutableSpan
        var bytes = elements.mutableBytes
        mask.apply(to: &bytes, in: range)
    }
}
