internal import Glibc

/// Blocking reads and writes, for descriptors of any mode.
enum Descriptor {
    /// A failed read, with the reason from `errno`.
    struct Unreadable: Error {
        let reason: Int32
    }

    /// The available bytes, at most `count`; nil at the end.
    static func read(_ descriptor: Int32, count: Int) throws(Unreadable) -> [UInt8]? {
        while true {
            var result = 0
            var reason: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
                result = Glibc.read(descriptor, space.baseAddress, count)
                reason = errno
                filled = max(0, result)
            }
            if result > 0 { return bytes }
            if result == 0 { return nil }
            guard waits(descriptor, for: POLLIN, after: reason) else { throw Unreadable(reason: reason) }
        }
    }

    /// Writes all of the bytes.
    /// - Returns: False if the descriptor has no reader any more.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let count = Glibc.write(descriptor, part.baseAddress, part.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if !waits(descriptor, for: POLLOUT, after: errno) {
                    return false
                }
            }
            return true
        }
    }

    /// True if a file exists at the path.
    static func isFile(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Waits until a failed call can be repeated.
    /// - Returns: False if the reason does not allow a repetition.
    private static func waits(_ descriptor: Int32, for event: Int32, after reason: Int32) -> Bool {
        guard reason == EAGAIN else { return reason == EINTR }
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&request, 1, -1) >= 0 || errno == EINTR
    }
}
