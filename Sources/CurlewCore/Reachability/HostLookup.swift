internal import CurlewPlatform

/// The resolution of a host by the system: `/etc/hosts`, DNS, and its other configured sources.
package struct HostLookup: Sendable {
    package typealias Destinations = [ReachabilityTarget.Destination]
    package typealias Answer = Result<Destinations, CurlewError>

    /// The most addresses of a host; further ones are ignored.
    package static let addressLimit = 16
    /// The most concurrent resolutions in the process. A resolution by the system cannot be cancelled.
    static let threadLimit = 16

    /// Begins a resolution. Its answer is delivered once, from any thread.
    package var begin: @Sendable (_ host: String, _ answer: @escaping @Sendable (Answer) -> Void) -> Void

    /// The resolution by the system, or another one.
    package init(
        begin: @escaping @Sendable (_ host: String, _ answer: @escaping @Sendable (Answer) -> Void) -> Void = {
            Lookup(host: $0, answer: $1).start()
        }
    ) {
        self.begin = begin
    }
}

/// A resolution by the system, on its own thread.
private final class Lookup: Sendable {
    private static let running = Guarded(0)

    private let host: String
    private let answer: @Sendable (HostLookup.Answer) -> Void

    init(host: String, answer: @escaping @Sendable (HostLookup.Answer) -> Void) {
        self.host = host
        self.answer = answer
    }

    func start() {
        let isAllowed = Self.running.withLock { running in
            guard running < HostLookup.threadLimit else { return false }
            running += 1
            return true
        }
        guard isAllowed else {
            return answer(.failure(CurlewError(.resourcesExhausted, "too many look-ups have no answer yet")))
        }
        let status = startThread()
        guard status != 0 else { return }
        Self.running.withLock { $0 -= 1 }
        answer(.failure(CurlewError(.resourcesExhausted, "no thread for a look-up (\(describe(status)))")))
    }

    private func startThread() -> Int32 {
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Lookup>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        if status == 0 { pthread_detach(thread) } else { context.release() }
        return status
    }

    private func run() {
        let answer = addresses()
        Self.running.withLock { $0 -= 1 }
        self.answer(answer)
    }

    private func addresses() -> HostLookup.Answer {
        switch NameLookUp.addresses(of: NameQuery(LocalName.contains(host) ? "localhost" : host, .any)) {
        case .success(let addresses):
            return .success(addresses.prefix(HostLookup.addressLimit).map { .init($0.ip, zone: $0.zone) })
        case .failure(let failure):
            return .failure(CurlewError(.hostNotFound, "\(host) has no address: \(failure.words)"))
        }
    }
}
