#if TestKit
internal import NIOCore

/// Reads along what a client sends, to learn how it cut the bodies: NIO's parsers hand bodies on as they arrive.
protocol WireScanning {
    /// Looks at the next bytes of the connection, and notes the sizes that are in them.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, into ledger: ChunkLedger)
}

/// Has a scanner look at what comes in, and passes it on as it is.
final class WireScanner<Scanner: WireScanning>: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var scanner: Scanner
    private let ledger: ChunkLedger

    init(_ scanner: Scanner, ledger: ChunkLedger) {
        self.scanner = scanner
        self.ledger = ledger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        Self.unwrapInboundIn(data).withUnsafeReadableBytes { self.scanner.scan($0, into: self.ledger) }
        context.fireChannelRead(data)
    }
}
#endif
