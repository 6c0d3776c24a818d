/// The user of an ``UpgradedConnection``. All methods are called on the loop.
package protocol UpgradedConnectionUser: AnyObject {
    /// Handles a socket that is ready for an event of ``UpgradedConnection/watch(reading:writing:)``.
    func connectionIsReady()
    /// Handles the end of the session, which accepts no more tasks and waits for the running ones.
    func sessionEnds()
    /// Handles the imminent end of the connection by a cancellation, the end of the session or a failure. The user may
    /// make a last attempt to write.
    func connectionEnds(_ error: CurlewError)
}

/// The result of reading from an ``UpgradedConnection``.
package enum UpgradedInput: Sendable {
    case bytes(Int)
    /// The connection has no bytes at present.
    case nothing
    /// The peer has ended its side.
    case end
    case failed(CurlewError)
}

/// The result of writing to an ``UpgradedConnection``.
package enum UpgradedOutput: Sendable {
    case bytes(Int)
    /// The connection accepts no bytes at present.
    case nothing
    case failed(CurlewError)
}

/// A connection that was switched to another protocol (RFC 9110 §7.8). It carries bytes in both directions, on its
/// loop.
///
/// All methods except ``cancel()`` are called on the loop. The connection is closed with its last reference.
package protocol UpgradedConnection: AnyObject, Sendable {
    var loop: CurlewEventLoop { get }
    /// The maximum number of bytes that wait for a reader, from the request's options.
    var bufferSize: Int { get }
    /// The value of the field ``RequestOptions/upgradeNonce``; nil if the request has none.
    var nonce: String? { get }
    /// True if the sending side can be ended separately.
    var canEndOutput: Bool { get }

    /// Ends the exchange with ``ErrorCode/cancelled``, unless it has ended. It may be called on any thread.
    func cancel()
    /// Sets the user, which is not retained.
    /// - Throws: The error that has ended the connection.
    func attach(_ user: any UpgradedConnectionUser) throws
    /// Reads received bytes. It must be repeated until the result is ``UpgradedInput/nothing``.
    func read(into space: UnsafeMutableRawBufferPointer) -> UpgradedInput
    /// Writes as many bytes as the connection accepts.
    func write(_ bytes: UnsafeRawBufferPointer) -> UpgradedOutput
    /// Sets the events for which ``UpgradedConnectionUser/connectionIsReady()`` is called.
    func watch(reading: Bool, writing: Bool)
    /// Ends the sending side, after all bytes were written.
    func endOutput()
    /// Closes the connection, and ends the exchange with success.
    func close()
    /// Closes the connection, and ends the exchange with an error.
    func fail(_ error: CurlewError)
}

extension CurlewEventLoop {
    /// A buffer for reading. It is used on the loop for the time of a call.
    package var scratch: UnsafeMutableRawBufferPointer { core.receiveSpace.bytes }
}

/// The upgraded connection of a transfer.
///
/// It is an exchange of the session until it is closed. It is counted, limited, cancelled and shut down like every
/// exchange. Its time limits end with the head of the response.
///
/// `@unchecked Sendable`: it is used on the loop. Only the release of the last reference may happen on another thread.
final class TransferConnection: UpgradedConnection, @unchecked Sendable {
    private let transfer: Transfer
    let loop: CurlewEventLoop
    let bufferSize: Int
    let nonce: String?
    let canEndOutput: Bool

    /// Makes the connection, on the loop.
    init(_ transfer: Transfer, loop: CurlewEventLoop) {
        self.transfer = transfer
        self.loop = loop
        let prepared = transfer.prepared
        bufferSize = prepared.bodyBufferSize
        nonce = transfer.upgradeNonce
        canEndOutput = !prepared.usesTLS
    }

    deinit { cancel() }

    func cancel() { transfer.core.send(.cancel, to: transfer) }

    func attach(_ user: any UpgradedConnectionUser) throws {
        guard let upgrade = transfer.upgrade else { throw transfer.endOfUpgrade }
        upgrade.user = user
        if transfer.isSessionEnding { user.sessionEnds() }
    }

    func read(into space: UnsafeMutableRawBufferPointer) -> UpgradedInput {
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

    func write(_ bytes: UnsafeRawBufferPointer) -> UpgradedOutput {
        guard let upgrade = transfer.upgrade else { return .failed(transfer.endOfUpgrade) }
        switch upgrade.write(bytes) {
        case .bytes(let count):
            transfer.attempt.countSent(count)
            return .bytes(count)
        case .nothing: return .nothing
        case .failed(let code): return .failed(transfer.upgradeError(code))
        }
    }

    func watch(reading: Bool, writing: Bool) { transfer.upgrade?.watch(reading: reading, writing: writing) }

    func endOutput() { transfer.upgrade?.shutDownOutput() }

    func close() { transfer.closeUpgrade() }

    func fail(_ error: CurlewError) { transfer.fail(error) }
}

extension CurlewError {
    fileprivate static var cutOff: CurlewError {
        CurlewError(.connectionLost, "the connection ended without the close_notify of TLS")
    }
}

extension CurlewResponse {
    private enum UpgradedKey: Key { static let defaultValue: (any UpgradedConnection)? = nil }

    /// The connection of a response that has switched protocols. It is closed with its last reference.
    package var upgradedConnection: (any UpgradedConnection)? {
        get { self[UpgradedKey.self] }
        set { self[UpgradedKey.self] = newValue }
    }
}
