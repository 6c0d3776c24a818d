import NIOCore
import NIOPosix

/// A client that writes exact bytes, and reads the answer.
struct WirePeer: Sendable {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Connects, and disconnects at the end of the closure.
    static func connected<Value: Sendable>(
        to port: Int, _ body: @Sendable (inout Conversation) async throws -> Value
    ) async throws -> Value {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel,
                        configuration: NIOAsyncChannel.Configuration(isOutboundHalfClosureEnabled: true))
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var conversation = Conversation(
                channel: channel.channel, inbound: inbound.makeAsyncIterator(), outbound: outbound)
            return try await body(&conversation)
        }
    }

    /// The exchange of bytes over a connection.
    struct Conversation {
        let channel: any Channel
        var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        private(set) var text = ""

        init(
            channel: any Channel, inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
            outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        ) {
            self.channel = channel
            self.inbound = inbound
            self.outbound = outbound
        }

        func write(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

        /// Closes the sending half; the answer can still be read.
        func halfClose() { outbound.finish() }

        /// Reads until `mark` has arrived, or the connection ends.
        /// - Returns: The bytes up to and including the mark; all bytes if the connection ended.
        mutating func read(through mark: String? = nil) async throws -> String {
            while true {
                if let mark, let end = text.range(of: mark) {
                    defer { text = String(text[end.upperBound...]) }
                    return String(text[..<end.upperBound])
                }
                // A reset ends the reading too.
                guard let buffer = try? await inbound.next(isolation: #isolation) else {
                    defer { text = "" }
                    return text
                }
                text += String(buffer: buffer)
            }
        }
    }
}

extension String {
    fileprivate func range(of mark: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(mark) { return start..<index(start, offsetBy: mark.count) }
            start = index(after: start)
        }
        return nil
    }
}
