/// The user of an ``UpgradedConnection``. All is called on the loop.
package protocol UpgradedConnectionUser: AnyObject {
    /// The socket may be read from or written to, as was asked for by ``UpgradedConnection/watch(reading:writing:)``.
    func connectionIsReady()
    /// The session takes no more tasks, and waits for those under way.
    func sessionEnds()
    /// The connection is about to end, not by its user: by a cancellation, the end of the session or a fault. A last attempt to write may be made.
    func connectionEnds(_ error: CurlewError)
}

/// The result of reading from an ``UpgradedConnection``.
package enum UpgradedInput: Sendable {
    case bytes(Int)
    /// There is nothing at present.
    case nothing
    /// The peer has ended its side.
    case end
    case failed(CurlewError)
}

/// The result of writing to an ``UpgradedConnection``.
package enum UpgradedOutput: Sendable {
    case bytes(Int)
    /// The peer takes no more at present.
    case nothing
    case failed(CurlewError)
}

/// A connection that was switched to another protocol (RFC 9110 §7.8): bytes both ways, on its loop.
///
/// All but ``cancel()`` is called on the loop. A connection that nobody holds is closed.
package protocol UpgradedConnection: AnyObject, Sendable {
    var loop: CurlewEventLoop { get }
    /// The bytes that may wait for a reader, by the request's options.
    var bufferSize: Int { get }
    /// The value of the field ``RequestOptions/upgradeNonce``; nil if the request has none.
    var nonce: String? { get }
    /// True if one side can be ended by itself.
    var canEndOutput: Bool { get }

    /// Ends the exchange with ``ErrorCode/cancelled``, unless it has ended. From any thread.
    func cancel()
    /// Takes a user, which is not kept.
    /// - Throws: The error that the connection has ended with before.
    func attach(_ user: any UpgradedConnectionUser) throws
    /// Reads bytes that have come. It has to be repeated until there is nothing.
    func read(into space: UnsafeMutableRawBufferPointer) -> UpgradedInput
    /// Writes as much as the peer takes.
    func write(_ bytes: UnsafeRawBufferPointer) -> UpgradedOutput
    /// Sets what ``UpgradedConnectionUser/connectionIsReady()`` is called for.
    func watch(reading: Bool, writing: Bool)
    /// Ends the own side, once all was written.
    func endOutput()
    /// Closes the connection, and ends the exchange with success.
    func close()
    /// Closes the connection, and ends the exchange with an error.
    func fail(_ error: CurlewError)
}

extension CurlewEventLoop {
    /// Memory to read into, used on the loop for the time of a call.
    package var scratch: UnsafeMutableRawBufferPointer { core.receiveSpace.bytes }
}

/// The upgraded connection of a transfer.
///
/// It is an exchange of the session until it is closed: counted, limited, cancelled and shut down as others. Its time limits ended with the
/// head of the response.
///
/// `@unchecked Sendable`: all but the end of the last reference is on the loop.
final class TransferConnection: UpgradedConnection, @unchecked Sendable {
    private let transfer: Transfer
    let loop: CurlewEventLoop
    let bufferSize: Int
    let nonce: String?
    let canEndOutput: Bool

    /// Made on the loop.
    init(_ transfer: Transfer, loop: CurlewEventLoop) {
        self.transfer = transfer
        self.loop = loop
        let prepared = transfer.prepared
        bufferSize = prepared.bodyBufferSize
        nonce = transfer.upgradeNonce
        canEndOutput = !prepared.uri.layout.isSecure && prepared.options.values.proxy?.scheme != .https
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
