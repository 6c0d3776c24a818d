internal import Glibc

/// Reading and writing that wait, whatever mode the descriptor was inherited in.
enum Descriptor {
    /// Nothing can be read there, for the reason that `errno` gave.
    struct Unreadable: Error {
        let reason: Int32
    }

    /// What can be read, at most `count` bytes; nil at the end.
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

    /// Writes all of the bytes; false if nobody can read them any more.
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

    /// True if there is anything at a path.
    static func isFile(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether a call that failed for that reason is to be made again; waits until it can be.
    private static func waits(_ descriptor: Int32, for event: Int32, after reason: Int32) -> Bool {
        guard reason == EAGAIN else { return reason == EINTR }
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&request, 1, -1) >= 0 || errno == EINTR
    }
}
