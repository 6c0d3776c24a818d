public import Curlew

extension CurlewWebSocket {
    /// Compression of messages by permessage-deflate (RFC 7692).
    ///
    /// A message may refer to its sender's earlier messages, the context. A kept context makes small messages much
    /// smaller. With the largest window it takes about 256 KiB of memory at the sender and 40 KiB at the receiver, as
    /// long as the connection is open.
    ///
    /// An observer can guess a secret from the sizes of messages if an attacker's text is in the same context, as in
    /// the attacks CRIME and BREACH. In this case, do not keep contexts, or turn compression off.
    public struct Compression: Sendable, Hashable {
        /// The size of the compression window, the range of earlier bytes that a message may refer to. It is two to the
        /// power of its bits.
        public enum Window: Int, Sendable, Hashable, CaseIterable, Comparable {
            /// 256 bytes. zlib cannot compress with this window, so only runs of one byte are compressed.
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

        /// The level of compression, from 1 (fastest) to 9 (smallest). 6 by default, as in zlib.
        public var level: Int
        /// The size below which a message is not compressed. 64 bytes by default.
        public var minimumSize: ByteSize
        /// True if the client's messages may refer to its earlier messages (`client_no_context_takeover` is the
        /// opposite). True by default.
        public var clientKeepsContext: Bool
        /// True if the server's messages may refer to its earlier messages (`server_no_context_takeover` is the
        /// opposite). True by default.
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
