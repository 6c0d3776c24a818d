/// Writes lines to a descriptor in order, each at once.
package actor LineWriter {
    private nonisolated let executor = BlockingExecutor("curlew-probe.output")
    private let descriptor: Int32

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Writes a line and its end. The caller waits, so that unread output does not accumulate here.
    /// - Returns: False if the descriptor has no reader any more.
    package func write(_ line: [UInt8]) -> Bool {
        Descriptor.write(line + [0x0A], to: descriptor)
    }
}
