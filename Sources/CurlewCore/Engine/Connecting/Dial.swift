internal import CurlewPlatform

/// The making of a connected socket: the name look-up, the race of the addresses, and the first connected socket.
///
/// `Dial` is not `Sendable`: it is made, used and released on its loop. Its owner keeps it. Releasing a dial is like
/// ``cancel()``: every descriptor is closed, and no watch, timer or ticket is left.
///
/// The result is delivered once, from a timer of the loop in a later turn: never inside ``start()`` or ``cancel()``,
/// and never while the poller calls its handlers. The completion may cancel or release the dial, and start others.
final class Dial {
    enum Target: Sendable {
        /// A name, or an address in any spelling of a URI.
        case host(String, port: UInt16)
        /// The addresses of a host override, in the order in which they are tried.
        case addresses([HostAddress], port: UInt16)
    }

    struct Plan: Sendable {
        var target: Target
        var family = ConnectionRoute.AddressFamily.any
        /// The local interface, address or host (``ConnectionRoute/localInterface``).
        var localInterface: String?
        /// The end of the time for the look-up and all attempts; the distant future for no limit.
        var deadline = Instant.distantFuture
        /// The probes of a silent connection.
        var hygiene: ConnectionHygiene
        /// The lifetime of addresses in the name cache, in nanoseconds.
        var nameLifetime: Int64 = 0
        /// True for a socket of datagrams. Its connection to the first address is ready at once.
        var isDatagram = false
    }

    /// The parts of an engine that its dials share.
    struct Surroundings {
        let core: LoopCore
        let names: NameCache
        var resolver = NameResolver.shared
        /// Makes a non-blocking stream socket of a family, or returns -1 and sets `errno`.
        var makeSocket: (_ family: Int32) -> Int32 = DialAttempt.makeSocket
    }

    typealias Outcome = Result<Dialled, DialFailure>
    /// Returns true if a socket may be made for the address. It is called on the loop for every address, immediately
    /// before its socket is made. It is also called for a peer that differs from the requested address (0.0.0.0 is this
    /// machine).
    typealias Gate = (SocketAddress) -> Bool

    private enum State {
        case new
        /// A look-up is running.
        case lookingUp(NameResolver.Ticket)
        /// The addresses are known.
        case connecting(AddressRace)
        /// The outcome waits for the next turn.
        case settled(Outcome)
        case ended
    }

    private let plan: Plan
    private let surroundings: Surroundings
    private let gate: Gate
    private var completion: ((Outcome) -> Void)?
    private let alarm = DialAlarm()
    private var state = State.new
    private var attempts: [DialAttempt] = []
    private var localEnd: LocalEnd?
    private var started = Instant.distantFuture
    private var nameLookUp = Duration.zero

    private var core: LoopCore { surroundings.core }

    init(
        _ plan: Plan, _ surroundings: Surroundings, gate: @escaping Gate, completion: @escaping (Outcome) -> Void
    ) {
        self.plan = plan
        self.surroundings = surroundings
        self.gate = gate
        self.completion = completion
    }

    deinit { cancel() }

    /// Starts the dial. Called once.
    func start() {
        guard case .new = state else { return }
        alarm.dial = self
        started = core.now
        guard started < plan.deadline else { return settle(.failure(.timeout(.nameLookUp))) }
        guard let text = plan.localInterface, !text.isEmpty else { return findTarget() }
        let end = LocalEnd(text)
        localEnd = end
        if end.isHost { find(end.name, for: .localEnd) } else { findTarget() }
    }

    /// Ends the dial in any state. The result is then not delivered.
    func cancel() {
        if case .settled(.success(let dialled)) = state { close(dialled.descriptor) }
        release()
        state = .ended
        completion = nil
        core.timers.remove(alarm)
    }

    // MARK: Names

    private enum Purpose { case localEnd, target }

    private func findTarget() {
        switch plan.target {
        case .host(let name, _): find(name, for: .target)
        case .addresses(let addresses, _): noteAnswer(NameLookUp.only(plan.family, of: addresses), for: .target)
        }
    }

    private func find(_ name: String, for purpose: Purpose) {
        if let answer = NameLookUp.knownAnswer(name, plan.family) { return noteAnswer(answer, for: purpose) }
        let known = surroundings.names.addresses(
            of: name, family: plan.family, lifetime: plan.nameLifetime, now: core.now)
        if let known { return noteAnswer(.success(known), for: purpose) }
        let way = WayBack(self)
        let ticket = surroundings.resolver.lookUp(name, family: plan.family, on: core) { answer in
            way.dial?.lookUpEnded(answer, name, purpose)
        }
        state = .lookingUp(ticket)
        core.timers.set(alarm, to: plan.deadline)
    }

    private func lookUpEnded(_ answer: NameLookUp.Answer, _ name: String, _ purpose: Purpose) {
        guard case .lookingUp = state else { return }
        state = .new
        if case .success(let addresses) = answer {
            surroundings.names.insert(addresses, of: name, family: plan.family, at: core.now)
        }
        noteAnswer(answer, for: purpose)
    }

    private func noteAnswer(_ answer: NameLookUp.Answer, for purpose: Purpose) {
        switch (answer, purpose) {
        case (.success(let addresses), .localEnd):
            localEnd?.addresses = addresses
            findTarget()
        case (.success(let addresses), .target): connect(to: addresses)
        case (.failure(let failure), _): settle(.failure(verdict(failure, purpose)))
        }
    }

    private func verdict(_ failure: NameFailure, _ purpose: Purpose) -> DialFailure {
        if case .system(let number) = failure.kind, number == EMFILE || number == ENFILE || number == ENOMEM {
            return .noDescriptor(number)
        }
        guard purpose == .localEnd, let localEnd, failure.kind == .notFound else { return .name(failure) }
        return .interface(localEnd.words(for: failure))
    }

    // MARK: Attempts

    private func connect(to hosts: [HostAddress]) {
        nameLookUp = started.duration(to: core.now)
        switch plan.target {
        case .host(_, let port), .addresses(_, let port): race(hosts.map { .ip($0, port: port) })
        }
    }

    private func race(_ addresses: [SocketAddress]) {
        state = .connecting(AddressRace(addresses, within: core.now.nanoseconds(to: plan.deadline)))
        advance()
    }

    /// Performs the due steps of the race.
    private func advance() {
        while let step = updateRace({ $0.next(at: core.now) }) {
            switch step {
            case .begin(let address): begin(address)
            case .abandon(let address): closeAttempt(to: address)
            case .wait(let moment): return setAlarm(moment)
            case .end: return settleAfterRace()
            }
        }
    }

    /// - Returns: nil without a race.
    @discardableResult
    private func updateRace<Value>(_ body: (inout AddressRace) -> Value) -> Value? {
        guard case .connecting(var race) = state else { return nil }
        state = .new
        let value = body(&race)
        state = .connecting(race)
        return value
    }

    private func settleAfterRace() {
        guard case .connecting(let race) = state else { return }
        // The cached addresses are removed, because the name may have others now.
        if case .host(let name, _) = plan.target { surroundings.names.remove(name, family: plan.family) }
        settle(.failure(race.failure))
    }

    private func setAlarm(_ moment: Instant) {
        core.timers.set(alarm, to: min(moment, plan.deadline))
    }

    private func begin(_ address: SocketAddress) {
        let now = core.now
        guard gate(address) else {
            updateRace { $0.noteForbidden(address) }
            return
        }
        // The gate may have cancelled the dial.
        guard case .connecting = state else { return }
        do throws(DialAttempt.Fault) {
            let attempt = try DialAttempt(address, of: self, on: core, makeSocket: surroundings.makeSocket)
            try attempt.prepare(plan.isDatagram ? nil : plan.hygiene, from: localEnd)
            let progress = try attempt.connect()
            attempts.append(attempt)
            updateRace { $0.noteStart(of: address, at: now) }
            note(progress, of: attempt)
        } catch {
            note(error, of: address)
        }
    }

    private func note(_ fault: DialAttempt.Fault, of address: SocketAddress) {
        let failure: DialFailure
        switch fault {
        case .interface(let words):
            updateRace { $0.noteUnusableInterface(words) }
            return
        case .noDescriptor(let number): failure = .noDescriptor(number)
        case .unwatchable(let error): failure = .unwatchable(error)
        }
        // Another open attempt may still connect.
        let now = core.now
        let isPutBack = updateRace { race in
            guard race.hasOpenAttempt else { return false }
            race.putBack(address, at: now)
            return true
        }
        if isPutBack != true { settle(.failure(failure)) }
    }

    private func note(_ progress: DialAttempt.Progress, of attempt: DialAttempt) {
        switch progress {
        case .waiting: break
        case .connected: noteConnection(attempt)
        case .failed(let number): noteFailure(of: attempt, number)
        }
    }

    private func noteFailure(of attempt: DialAttempt, _ number: Int32) {
        closeAttempt(to: attempt.address)
        let now = core.now
        updateRace { $0.noteFailure(of: attempt.address, number, at: now) }
    }

    private func closeAttempt(to address: SocketAddress) {
        guard let index = attempts.firstIndex(where: { $0.address == address }) else { return }
        attempts.remove(at: index).close()
    }

    private func noteConnection(_ attempt: DialAttempt) {
        switch attempt.peer() {
        case .failure(let fault): noteFailure(of: attempt, fault.number)
        case .success(let peer):
            guard peer.ip == attempt.address.ip || gate(peer) else {
                closeAttempt(to: attempt.address)
                let now = core.now
                updateRace { $0.noteForbidden(peer, reachedBy: attempt.address, at: now) }
                return
            }
            win(attempt, peer: peer)
        }
    }

    private func win(_ attempt: DialAttempt, peer: SocketAddress) {
        guard case .connecting = state else { return }
        let connected = started.duration(to: core.now)
        settle(
            .success(
                Dialled(descriptor: attempt.release(), peer: peer, nameLookUp: nameLookUp, connected: connected)))
    }

    // MARK: Events

    fileprivate func alarmRang() {
        switch state {
        case .new, .ended: break
        case .lookingUp: settle(.failure(.timeout(.nameLookUp)))
        case .connecting:
            guard core.now < plan.deadline else { return settle(.failure(.timeout(.connecting))) }
            advance()
        case .settled(let outcome):
            state = .ended
            completion.take()?(outcome)
        }
    }

    /// Called by an attempt whose socket is ready.
    func attemptReady(_ attempt: DialAttempt) {
        guard case .connecting = state else { return }
        note(attempt.outcome, of: attempt)
        advance()
    }

    /// Keeps the outcome for the next turn.
    private func settle(_ outcome: Outcome) {
        release()
        state = .settled(outcome)
        core.timers.set(alarm, to: core.now)
    }

    /// Ends the look-up and the attempts.
    private func release() {
        if case .lookingUp(let ticket) = state { ticket.cancel() }
        for attempt in attempts { attempt.close() }
        attempts = []
    }
}

/// The timer of a dial, which does not keep the dial alive.
private final class DialAlarm: LoopTimer {
    weak var dial: Dial?

    override func fire() { dial?.alarmRang() }
}

/// A weak reference by which the answer of a look-up finds its dial.
///
/// `@unchecked Sendable`: threads of the resolver only pass the reference on; it is used on the dial's loop.
private struct WayBack: @unchecked Sendable {
    weak var dial: Dial?

    init(_ dial: Dial) { self.dial = dial }
}
