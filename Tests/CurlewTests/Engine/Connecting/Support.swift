import Glibc
import Testing

@testable import CurlewCore
@testable import CurlewLoad

/// The serialized suites of this folder: they count the descriptors of the process.
@Suite("Connecting", .serialized, .timeLimit(.minutes(2)))
enum Connecting {}

/// An event loop, and a test's dials on it.
///
/// `@unchecked Sendable`: everything except the core belongs to the loop.
final class DialBench: @unchecked Sendable {
    let core: LoopCore
    let names = NameCache()
    private var dials: [Int: Dial] = [:]
    private var lastNumber = 0

    init() throws { core = try LoopCore(name: "dial-test") }

    deinit { core.stop() }

    /// Runs a closure on the loop.
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            core.execute { continuation.resume(returning: body()) }
        }
    }

    /// Waits until the loop has run its timers and polled its sockets.
    func turns() async {
        for _ in 0..<3 { await run {} }
    }

    /// The outcome of a dial.
    func outcome(
        of plan: Dial.Plan, resolver: NameResolver = .shared, makeSocket: (@Sendable (Int32) -> Int32)? = nil,
        gate: @escaping @Sendable (SocketAddress) -> Bool = { _ in true }
    ) async -> Dial.Outcome {
        await withCheckedContinuation { continuation in
            core.execute { [self] in
                lastNumber += 1
                let number = lastNumber
                let dial = Dial(plan, surroundings(resolver, makeSocket), gate: gate) { [self] outcome in
                    dials[number] = nil
                    continuation.resume(returning: outcome)
                }
                dials[number] = dial
                dial.start()
            }
        }
    }

    /// The environment of a dial; called on the loop.
    func surroundings(
        _ resolver: NameResolver = .shared, _ makeSocket: (@Sendable (Int32) -> Int32)? = nil
    ) -> Dial.Surroundings {
        Dial.Surroundings(
            core: core, names: names, resolver: resolver, makeSocket: makeSocket ?? DialAttempt.makeSocket)
    }
}

extension Dial.Plan {
    init(_ target: Dial.Target) { self.init(target: target, hygiene: ConnectionHygiene(ConnectionLimits())) }

    init(_ addresses: SocketAddress...) {
        let hosts = addresses.compactMap { address -> HostAddress? in
            guard case .ip(let host, _) = address else { return nil }
            return host
        }
        var port: UInt16 = 0
        if case .ip(_, let first)? = addresses.first { port = first }
        self.init(.addresses(hosts, port: port))
    }
}

extension Dial.Outcome {
    var failure: DialFailure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }

    /// The connected socket, which the caller closes.
    func socket(_ location: SourceLocation = #_sourceLocation) throws -> Dialled {
        guard case .success(let dialled) = self else {
            try #require(Bool(false), "\(self)", sourceLocation: location)
            throw CancellationError()
        }
        return dialled
    }

    func close() {
        if case .success(let dialled) = self { Glibc.close(dialled.descriptor) }
    }
}

/// A socket that is bound to an address, and listens if it has a backlog.
final class Listener: Sendable {
    struct Problem: Error {
        let call: String
        let number: Int32
    }

    let descriptor: Int32
    let address: SocketAddress

    /// - Parameters:
    ///   - port: 0 chooses a free one.
    ///   - backlog: nil for a socket that refuses connections.
    init(_ text: String = "127.0.0.1", port: UInt16 = 0, backlog: Int32? = 128) throws {
        let host = try #require(HostAddress.literal(text)).get()
        descriptor = DialAttempt.makeSocket(host.family)
        try Self.check(descriptor, "socket")
        let wanted = SocketAddress.ip(host, port: port)
        try Self.check(wanted.withSystemForm { [descriptor] in bind(descriptor, $0, $1) }, "bind")
        if let backlog { try Self.check(listen(descriptor, backlog), "listen") }
        address = try #require(SocketAddress.localEnd(of: descriptor))
    }

    deinit { close(descriptor) }

    /// Creates listeners on one port of several addresses, and retries if another process uses the port on one of them.
    static func atOnePort<Value>(_ body: () throws -> Value) throws -> Value {
        for _ in 0..<50 {
            do {
                return try body()
            } catch let problem as Problem where problem.number == EADDRINUSE {
                continue
            }
        }
        return try body()
    }

    private static func check(_ status: Int32, _ call: String) throws {
        if status < 0 { throw Problem(call: call, number: errno) }
    }

    var port: UInt16 {
        guard case .ip(_, let port) = address else { return 0 }
        return port
    }

    /// A listener with a full queue: the system drops further connection requests.
    static func crowded(_ text: String = "127.0.0.1", port: UInt16 = 0) throws -> (Listener, filler: Descriptor) {
        let listener = try Listener(text, port: port, backlog: 0)
        return (listener, try listener.connectOne())
    }

    /// Connects, and waits until the connection is in the listener's queue.
    func connectOne() throws -> Descriptor {
        let client = Descriptor(DialAttempt.makeSocket(address.family))
        let status = address.withSystemForm { connect(client.number, $0, $1) }
        if status != 0, errno != EINPROGRESS { throw Problem(call: "connect", number: errno) }
        awaitInput()
        return client
    }

    private func awaitInput() {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, 10_000)
    }

    /// The next connection.
    func acceptOne() throws -> Descriptor {
        awaitInput()
        let number = accept(descriptor, nil, nil)
        try Self.check(number, "accept")
        return Descriptor(number)
    }
}

/// A descriptor that is closed with its object.
final class Descriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }
}

/// The number of open sockets of the process.
func openSockets() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let length = bytes.withUnsafeMutableBytes { space in
            space.baseAddress.map {
                readlink("/proc/self/fd/\(name)", $0.assumingMemoryBound(to: CChar.self), space.count)
            }
                ?? 0
        }
        if length > 0, String(decoding: bytes.prefix(length), as: UTF8.self).hasPrefix("socket:") { count += 1 }
    }
    return count
}

/// A look-up that blocks until the test releases it, and reports its start to the test.
final class StalledLookUps: Sendable {
    private let release: Gatekeeper
    private let begun: AsyncStream<String>.Continuation
    /// The names of started look-ups.
    let names: AsyncStream<String>
    private let counts = Guarded((running: 0, most: 0, all: 0))

    init() {
        (names, begun) = AsyncStream.makeStream()
        release = Gatekeeper()
    }

    /// The maximum number of concurrent look-ups.
    var mostRunning: Int { counts.withLock { $0.most } }
    /// The number of all look-ups.
    var count: Int { counts.withLock { $0.all } }

    func answer(_ query: NameQuery) -> NameLookUp.Answer {
        counts.withLock {
            $0.running += 1
            $0.all += 1
            $0.most = max($0.most, $0.running)
        }
        begun.yield(String(decoding: query.name, as: UTF8.self))
        release.wait()
        counts.withLock { $0.running -= 1 }
        return .success([HostAddress(IPAddress(ipv4: 0x7F00_0001))])
    }

    /// Waits for the start of this number of look-ups.
    func await(_ count: Int) async -> [String] {
        var found: [String] = []
        var iterator = names.makeAsyncIterator()
        while found.count < count, let name = await iterator.next() { found.append(name) }
        return found
    }

    /// Releases all look-ups, later ones included.
    func letGo() { release.open() }

    func resolver(_ limits: NameResolver.Limits = NameResolver.Limits()) -> NameResolver {
        NameResolver(limits: limits) { [self] in answer($0) }
    }
}

/// A gate that blocks threads until it is opened.
///
/// `@unchecked Sendable`: the semaphore is designed to be shared.
private final class Gatekeeper: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 {}
        // The semaphore is raised again, so that the gate stays open for other threads.
        sem_post(semaphore)
    }
}
