public import Curlew

extension CurlewWebSocket {
    /// Compression of messages by permessage-deflate (RFC 7692).
    ///
    /// A message may refer to earlier ones of its sender, its context. To keep it makes small messages much smaller, and
    /// costs memory on both sides as long as the connection lives: some 256 KiB for the sender and 40 KiB for the receiver,
    /// with the largest window.
    ///
    /// Secrets and text of an attacker in one context let an observer guess the secrets by the sizes of messages, as CRIME
    /// and BREACH do; then contexts should not be kept, or compression should be off.
    public struct Compression: Sendable, Hashable {
        /// The size of the window through which messages refer to bytes before them: two to the power of its bits.
        public enum Window: Int, Sendable, Hashable, CaseIterable, Comparable {
            /// 256 bytes. zlib cannot compress with this window; runs of one byte are compressed instead.
            case bits8 = 8
            /// 512 bytes.
            case bits9 = 9
            /// 1 KiB.
            case bits10 = 10
            /// 2 KiB.
            case bits11 = 11
            /// 4 KiB.
            case bits12 = 12
            /// 8 KiB.
            case bits13 = 13
            /// 16 KiB.
            case bits14 = 14
            /// 32 KiB.
            case bits15 = 15

            /// True if the left window is smaller.
            public static func < (left: Window, right: Window) -> Bool { left.rawValue < right.rawValue }
        }

        /// From 1, quick, to 9, small. 6 by default, as in zlib.
        public var level: Int
        /// Messages that are shorter are not compressed. 64 bytes by default.
        public var minimumSize: ByteSize
        /// True if the client's messages may refer to earlier ones (`client_no_context_takeover` is its opposite). True by
        /// default.
        public var clientKeepsContext: Bool
        /// True if the server's messages may refer to earlier ones (`server_no_context_takeover` is its opposite). True by
        /// default.
        public var serverKeepsContext: Bool
        /// The largest window for the client's messages (`client_max_window_bits`). 32 KiB by default.
        public var clientWindow: CurlewWebSocket.Compression.Window
        /// The largest window for the server's messages (`server_max_window_bits`). 32 KiB by default.
        public var serverWindow: CurlewWebSocket.Compression.Window

        /// Makes options; each is described at its property.
        public init(
            level: Int = 6, minimumSize: ByteSize = 64, clientKeepsContext: Bool = true,
            serverKeepsContext: Bool = true,
            clientWindow: CurlewWebSocket.Compression.Window = .bits15,
            serverWindow: CurlewWebSocket.Compression.Window = .bits15
        ) {
            self.level = level
            self.minimumSize = minimumSize
            self.clientKeepsContext = clientKeepsContext
            self.serverKeepsContext = serverKeepsContext
            self.clientWindow = clientWindow
            self.serverWindow = serverWindow
        }
    }
}

extension CurlewWebSocket.Compression {
    var minimumBytes: Int { minimumSize.bytes }
}
