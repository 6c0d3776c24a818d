/// The user of an ``UpgradedConnection``. All is called on the loop.
package protocol UpgradedConnectionUser: AnyObject {
    /// The socket may be read from or written to, as was asked for by ``UpgradedConnection/watch(reading:writing:)``.
    func connectionIsReady()
    /// The session takes no more tasks, and waits for those under way.
    func sessionEnds()
    /// The connection is about to end, not by its user: by a cancellation, the end of the session or a fault. A last attempt to write may be made.
    func connectionEnds(_ error: CurlewError)
}

/// A connection that was switched to another protocol (RFC 9110 §7.8): bytes both ways, on its loop.
///
/// It is an exchange of the session until it is closed: counted, limited, cancelled and shut down as others. Its time limits ended with the
/// head of the response. A connection that nobody holds is closed.
///
/// `@unchecked Sendable`: all but the end of the last reference is on the loop, as each function says.
package final class UpgradedConnection: @unchecked Sendable {
    package enum Received {
        case bytes(Int)
        /// There is nothing at present.
        case nothing
        /// The peer has ended its side.
        case end
        case failed(CurlewError)
    }

    package enum Sent {
        case bytes(Int)
        /// The peer takes no more at present.
        case nothing
        case failed(CurlewError)
    }

    private let transfer: Transfer
    package let loop: CurlewEventLoop
    /// The bytes that may wait for a reader, by the request's options.
    package let bufferSize: Int
    /// True if TLS protects it.
    package let isSecure: Bool

    init(_ transfer: Transfer, loop: CurlewEventLoop) {
        self.transfer = transfer
        self.loop = loop
        bufferSize = transfer.prepared.bodyBufferSize
        isSecure = transfer.prepared.uri.layout.isSecure
    }

    deinit { transfer.core.send(.cancel, to: transfer) }

    /// Ends the exchange with ``ErrorCode/cancelled``, unless it has ended. From any thread.
    package func cancel() { transfer.core.send(.cancel, to: transfer) }

    // MARK: On the loop

    /// Takes a user, which is not kept.
    /// - Throws: The error that the connection has ended with before.
    package func attach(_ user: any UpgradedConnectionUser) throws {
        guard let upgrade = transfer.upgrade else { throw transfer.endOfUpgrade }
        upgrade.user = user
        if transfer.isSessionEnding { user.sessionEnds() }
    }

    /// Reads what has come. It has to be repeated until there is nothing.
    package func read(into space: UnsafeMutableRawBufferPointer) -> Received {
        guard let upgrade = transfer.upgrade else { return .failed(transfer.endOfUpgrade) }
        switch upgrade.read(into: space) {
        case .bytes(let count):
            transfer.attempt.countReceived(count)
            return .bytes(count)
        case .nothing: return .nothing
        case .end: return transfer.isCutOff ? .failed(.cutOff) : .end
        case .failed(let code): return .failed(transfer.upgradeError(code))
        }
    }

    /// Writes as much as the peer takes.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Sent {
        guard let upgrade = transfer.upgrade else { return .failed(transfer.endOfUpgrade) }
        switch upgrade.write(bytes) {
        case .bytes(let count):
            transfer.attempt.countSent(count)
            return .bytes(count)
        case .nothing: return .nothing
        case .failed(let code): return .failed(transfer.upgradeError(code))
        }
    }

    /// Sets what ``UpgradedConnectionUser/connectionIsReady()`` is called for.
    package func watch(reading: Bool, writing: Bool) { transfer.upgrade?.watch(reading: reading, writing: writing) }

    /// True if one side can be ended by itself.
    package var canEndOutput: Bool { !isSecure && transfer.prepared.options.values.proxy?.scheme != .https }

    /// Ends the own side, once all was written.
    package func endOutput() { transfer.upgrade?.shutDownOutput() }

    /// Closes the connection, and ends the exchange with success.
    package func close() { transfer.closeUpgrade() }

    /// Closes the connection, and ends the exchange with an error.
    package func fail(_ error: CurlewError) { transfer.fail(error) }

    /// Memory of the loop to read into, used for the time of a call.
    package var scratch: UnsafeMutableRawBufferPointer { transfer.core.receiveSpace.bytes }
}

extension CurlewError {
    fileprivate static var cutOff: CurlewError {
        CurlewError(.connectionLost, "the connection ended without the close_notify of TLS")
    }
}

extension CurlewResponse {
    private enum UpgradedKey: Key { static let defaultValue: UpgradedConnection? = nil }

    /// The connection of a response that has switched protocols. It is closed with its last reference.
    package var upgradedConnection: UpgradedConnection? {
        get { self[UpgradedKey.self] }
        set { self[UpgradedKey.self] = newValue }
    }
}
