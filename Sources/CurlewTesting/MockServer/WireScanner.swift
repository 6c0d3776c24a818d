#if TestKit
internal import NIOCore

/// A parser of a client's bytes that finds the sizes of body pieces. NIO's parsers deliver bodies as they arrive and
/// lose these sizes.
protocol WireScanning {
    /// Parses the next bytes of the connection and records the piece sizes in them.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, into ledger: ChunkLedger)
}

/// A handler that shows received bytes to a scanner and passes them on unchanged.
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
