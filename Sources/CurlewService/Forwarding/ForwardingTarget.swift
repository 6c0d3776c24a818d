#if Service
internal import Curlew
internal import HTTPTypes

extension ForwardedRequest {
    /// The target of a request (RFC 9112 §3.2).
    struct Target {
        /// The path and query, or `*`.
        let path: String
        /// The host and port; nil if the client named none.
        let authority: String?

        init(_ head: HTTPRequest) throws {
            var path = head.path ?? "/"
            var authority = head.authority
            // An absolute form is equally valid, and its host takes precedence over Host (RFC 9112 §3.2.2).
            if let absolute = Self.absolute(path) { (authority, path) = absolute }
            guard path.utf8.first == 0x2F || path == "*" && head.method == .options else {
                throw Refusal(.badRequest, "the target is not a path")
            }
            self.path = path
            self.authority = authority?.isEmpty == true ? nil : authority
            if let authority = self.authority, !Self.isAuthority(authority) {
                throw Refusal(.badRequest, "the Host field is not a host and port")
            }
        }

        private static func absolute(_ target: String) -> (authority: String?, path: String)? {
            let scheme = target.prefix(8).lowercased()
            guard scheme.hasPrefix("http://") || scheme == "https://" else { return nil }
            let rest = target.utf8.dropFirst(scheme == "https://" ? 8 : 7)
            let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F } ?? rest.endIndex
            let path = String(target[end...])
            return (String(target[rest.startIndex..<end]), path.utf8.first == 0x2F ? path : "/" + path)
        }

        /// True for a host, or an address in brackets, with or without a port.
        private static func isAuthority(_ text: String) -> Bool {
            text.utf8.count <= 255
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                    case 0x2D, 0x2E, 0x3A, 0x5B, 0x5D, 0x5F, 0x7E: true
                    default: false
                    }
                }
        }

        /// The URI of a path and query below the upstream's base path. The bytes stay unchanged.
        static func uri(_ path: String, below base: CurlewURI) throws -> CurlewURI {
            guard path.utf8.first == 0x2F, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }) else {
                throw Refusal(.badRequest, "the target has bytes that no path has")
            }
            guard !hasDotSegment(path) else {
                throw Refusal(.badRequest, "the path has segments that lead elsewhere, or an invalid escape")
            }
            let prefix = base.path.utf8.last == 0x2F ? base.path.dropLast() : base.path[...]
            do {
                return try CurlewURI("\(base.scheme)://\(base.authority)\(prefix)\(path)")
            } catch {
                throw Refusal(.badRequest, "the target is no path")
            }
        }

        /// True if a segment is `.` or `..`, percent-encoded or not, or if an escape is invalid.
        ///
        /// Behind the gateway such a segment could lead out of the allowed path. Backslashes and encoded slashes count
        /// as slashes, because some servers treat them so.
        private static func hasDotSegment(_ path: String) -> Bool {
            // Most paths contain neither a dot nor an escape.
            guard path.utf8.contains(where: { $0 == 0x2E || $0 == 0x25 }) else { return false }
            var segment = SegmentScan()
            var bytes = path.utf8.makeIterator()
            while var byte = bytes.next(), byte != 0x3F {
                if byte == 0x25 {
                    // An invalid escape could hide the bytes after it, and an escaped zero ends a path for servers in
                    // C.
                    guard let high = bytes.next(), let low = bytes.next(), let value = decoded(high, low), value != 0
                    else { return true }
                    byte = [0x2E, 0x2F, 0x3B, 0x5C].contains(value) ? value : 0x25
                }
                if segment.ends(before: byte) { return true }
            }
            return segment.isDots
        }

        private static func decoded(_ high: UInt8, _ low: UInt8) -> UInt8? {
            guard let high = Character(Unicode.Scalar(high)).hexDigitValue,
                let low = Character(Unicode.Scalar(low)).hexDigitValue
            else { return nil }
            return UInt8(high << 4 | low)
        }

        /// A segment of a path, read byte by byte.
        private struct SegmentScan {
            private var dots = 0
            private var others = 0

            var isDots: Bool { others == 0 && (1...2).contains(dots) }

            /// Adds the next byte; returns true if it ends a segment of one or two dots.
            mutating func ends(before byte: UInt8) -> Bool {
                switch byte {
                case 0x2F, 0x5C:
                    defer { self = SegmentScan() }
                    return isDots
                case 0x2E: dots += 1
                // A semicolon begins a parameter of the segment (RFC 3986 §3.3), which some servers remove first.
                case 0x3B where others == 0 && dots > 0:
                    return isDots
                default: others += 1
                }
                return false
            }
        }
    }
}
#endif
