/// A buffer of the peer's bytes between the socket and the parser. Payloads are unmasked inside the buffer, and copied
/// only out of it.
///
/// A loop may share one buffer among its connections. A connection that stops in the middle of the bytes removes its
/// rest by ``takeRest(from:)``.
package struct ReceiveBuffer: ~Copyable {
    private(set) var storage: [UInt8]
    /// The range of the unread bytes.
    private(set) var unread = 0..<0

    package init(capacity: Int = 64 << 10) { storage = [UInt8](repeating: 0, count: capacity) }

    package var isEmpty: Bool { unread.isEmpty }

    /// Fills the empty buffer.
    /// - Parameter read: A closure that writes bytes to the memory and returns their number. The memory is valid during
    ///   the call.
    /// - Returns: The number of bytes.
    @discardableResult
    package mutating func fill<Failure: Error>(
        _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        precondition(isEmpty, "the buffer holds bytes that were not read")
        unread = 0..<0
        var count = 0
        // `withUnsafeMutableBytes` does not rethrow typed errors.
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

    /// Fills the empty buffer with any number of bytes.
    /// - Parameter taken: The number of leading bytes that are already read.
    package mutating func fill(with bytes: some Collection<UInt8>, taken: Int = 0) {
        precondition(isEmpty, "the buffer holds bytes that were not read")
        if bytes.count > storage.count {
            storage = Array(bytes)
        } else {
            storage.replaceSubrange(0..<bytes.count, with: bytes)
        }
        unread = taken..<bytes.count
    }

    /// Removes and returns the unread bytes. The buffer is empty afterwards.
    /// - Parameter start: The position of the first byte to return, if earlier bytes are returned as well.
    package mutating func takeRest(from start: Int? = nil) -> [UInt8] {
        defer { unread = 0..<0 }
        return Array(storage[(start ?? unread.lowerBound)..<unread.upperBound])
    }

    mutating func popFirst() -> UInt8? {
        guard !unread.isEmpty else { return nil }
        defer { unread = unread.lowerBound + 1..<unread.upperBound }
        return storage[unread.lowerBound]
    }

    /// Takes bytes from the front, at most as many as the buffer has.
    /// - Returns: The range of the bytes in ``storage``. It is valid until the buffer is filled again.
    mutating func take(upTo count: Int) -> Range<Int> {
        let taken = unread.prefix(count)
        unread = taken.upperBound..<unread.upperBound
        return taken
    }

    /// Discards the unread bytes.
    mutating func discardAll() { unread = 0..<0 }

    /// Unmasks bytes in place.
    mutating func unmask(_ range: Range<Int>, with mask: inout FrameMask) {
        var elements = storage.mutableSpan
        var bytes = elements.mutableBytes
        mask.apply(to: &bytes, in: range)
    }
}

/// The buffer into which the sockets of a loop are read, one after the other.
final class SharedBuffer {
    var buffer = ReceiveBuffer()
}
