/// Writes lines to a descriptor, one after the other and each at once.
package actor LineWriter {
    private nonisolated let executor = BlockingExecutor("curlew-probe.output")
    private let descriptor: Int32

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Writes a line and its end. The caller waits, so that what nobody takes does not pile up here.
    /// - Returns: Whether somebody can still read.
    package func write(_ line: [UInt8]) -> Bool {
        Descriptor.write(line + [0x0A], to: descriptor)
    }
}
