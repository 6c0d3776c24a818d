import Glibc

/// Unbuffered output to a descriptor: bars and tables appear in the order in which they were written.
package enum Terminal {
    package static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Writes as far as possible; see ``OutputFile`` for output whose failure matters.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) { _ = writeAll(bytes, to: descriptor) }

    /// Writes all bytes.
    /// - Returns: The number of the system's error; nil without one.
    package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                // A shell may have left the pipe non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, -1)
            } else if count < 0, errno != EINTR {
                return errno
            }
        }
        return nil
    }

    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }
}

extension Terminal {
    /// The number of columns; nil if the descriptor is not a terminal.
    package static func width(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// The number of lines; nil if the descriptor is not a terminal.
    package static func height(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
        return Int(size.ws_row)
    }

    /// True if texts on the descriptor may have colours: on a terminal without `NO_COLOR` (no-color.org).
    package static func hasColors(_ descriptor: Int32) -> Bool {
        func value(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return isTerminal(descriptor) && value("NO_COLOR").isEmpty && value("TERM") != "dumb"
    }
}

/// Replaces characters that move the cursor or reverse the text, because names come from servers.
package func printable(_ name: String) -> String {
    String(
        name.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "?"
            default: Character(scalar)
            }
        })
}
