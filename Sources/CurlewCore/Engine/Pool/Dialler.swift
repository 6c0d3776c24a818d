internal import CurlewPlatform

/// Makes the connections of a pool: it looks names up, connects sockets, and gives each connection a name and a multi
/// handle.
///
/// `Dialler` is not `Sendable`: it never leaves its loop's thread.
final class Dialler {
    typealias Outcome = Result<Connection, DialFailure>
    typealias Completion = (PendingDial, Outcome) -> Void

    private unowned let multi: MultiHandle
    private let core: LoopCore
    private let names = NameCache()
    private var lastNumber: UInt64 = 0

    init(multi: MultiHandle) {
        self.multi = multi
        core = multi.core
    }

    func forgetNames() { names.removeAll() }

    /// Begins a connection. `completion` is called once, unless the dial of `pending` is cancelled; for a Unix socket
    /// immediately.
    func begin(_ pending: PendingDial, at origin: OriginPool, completion: @escaping Completion) {
        if let path = origin.options.values.route.unixSocket {
            return completion(pending, openSocket(at: path, origin))
        }
        let deadline = core.now.advanced(by: Int64(pending.limit) * 1_000_000)
        let options = origin.options
        var surroundings = Dial.Surroundings(core: core, names: names)
        if origin.key.use == .quic { surroundings.makeSocket = DialAttempt.makeDatagramSocket }
        let dial = Dial(
            origin.plan(hygiene: multi.hygiene, deadline: deadline), surroundings,
            gate: { options.permits($0) },
            completion: { [weak self, weak origin, weak pending] outcome in
                guard let self, let origin, let pending else { return }
                self.ended(pending, outcome, origin, completion)
            })
        pending.dial = dial
        dial.start()
    }

    private func ended(
        _ pending: PendingDial, _ outcome: Dial.Outcome, _ origin: OriginPool, _ completion: @escaping Completion
    ) {
        if case .failure(let failure) = outcome, failure.isLackOfDescriptors, !pending.isSecondTry, multi.makeRoom() {
            pending.isSecondTry = true
            return begin(pending, at: origin, completion: completion)
        }
        completion(pending, outcome.flatMap { connection($0, origin) })
    }

    /// Opens a Unix socket, which libcurl connects itself: before 8.0 libcurl connects every socket, and only a TCP
    /// socket permits a second connect.
    private func openSocket(at path: String, _ origin: OriginPool) -> Outcome {
        let address = SocketAddress.unixSocket(Array(path.utf8))
        guard origin.options.permits(address) else { return .failure(.forbidden(address)) }
        guard path.utf8.count <= SocketAddress.longestPath, !path.utf8.isEmpty, !path.utf8.contains(0) else {
            return .failure(.connect(ENAMETOOLONG, tried: []))
        }
        var descriptor = DialAttempt.makeSocket(AF_UNIX)
        if descriptor < 0, errno == EMFILE || errno == ENFILE, multi.makeRoom() {
            descriptor = DialAttempt.makeSocket(AF_UNIX)
        }
        guard descriptor >= 0 else { return .failure(.noDescriptor(errno)) }
        let dialled = Dialled(
            descriptor: descriptor, peer: address, isConnected: false, nameLookUp: .zero, connected: .zero)
        return connection(dialled, origin)
    }

    private func connection(_ dialled: Dialled, _ origin: OriginPool) -> Outcome {
        lastNumber += 1
        do {
            let name = try ConnectionName(
                number: lastNumber, proxy: origin.options.values.proxy, port: origin.key.port,
                family: origin.options.values.route.addressFamily)
            return .success(
                Connection(dialled, name, origin, try multi.shardWithRoom(isUpgraded: origin.key.use == .upgraded)))
        } catch {
            close(dialled.descriptor)
            return .failure(
                .unusable(error as? CurlewError ?? CurlewError(.resourcesExhausted, "no memory for a connection")))
        }
    }
}
