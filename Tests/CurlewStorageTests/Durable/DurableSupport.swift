#if Storage
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

@testable import CurlewStorage

/// A store's clock, which a test sets.
final class StoreTime: Sendable {
    private let moment = Guarded(TransferClock.Moment(wall: 1_700_000_000_000, uptime: 1_000_000, boot: "one"))

    var clock: TransferClock { TransferClock { self.moment.withLock { $0 } } }

    func advance(wall: Int64 = 0, uptime: Int64 = 0) {
        moment.withLock {
            $0.wall += wall
            $0.uptime += uptime
        }
    }

    /// Advances the time while a worker queries the queue repeatedly: a server's store distinguishes the silence of one
    /// worker from that of all.
    func pass(_ uptime: Int64, at store: any TransferStore) async throws {
        for start in stride(from: 0, to: uptime, by: 5_000) {
            advance(uptime: min(5_000, uptime - start))
            _ = try await store.outlook(of: TransferWorkerID("observer"))
        }
    }

    func reboot() { moment.withLock { $0.boot += "+" } }
}

/// A counter of requests.
final class RequestCount: Sendable {
    private let count = Guarded(0)

    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}

/// A transfer as a session adds it.
func newTransfer(
    _ host: String = "a.test", tags: [String] = [], priority: RequestOptions.Priority = .normal,
    notBefore: Int64? = nil,
    deadline: Int64? = nil, mayBeRepeated: Bool = true
) -> NewTransfer {
    NewTransfer(
        id: DurableTransfer.ID(), host: host, tags: tags, priority: priority, notBefore: notBefore,
        deadline: deadline,
        mayBeRepeated: mayBeRepeated, request: Array("{}".utf8))
}

/// The limits of a worker, with a lease of 30 seconds.
func claimPolicy(total: Int = 100, perHost: Int = 100, perTag: [String: Int] = [:]) -> ClaimPolicy {
    ClaimPolicy(lease: .seconds(30), total: total, perHost: perHost, perTag: perTag)
}

/// Options without waits.
func quickOptions() -> DurableSession.Options {
    var options = DurableSession.Options()
    options.retries.backoff = Retry.Backoff(base: .zero)
    options.checkpoint = .kibibytes(64)
    options.limits.freeSpace = 0
    return options
}

extension DurableSession {
    /// Runs the queue until it is empty, and returns the ended transfers.
    func drain() async throws -> [DurableTransfer] {
        try await run(untilDrained: true)
        var ended: [DurableTransfer] = []
        for try await event in events {
            guard case .ended(let transfer) = event else { break }
            ended.append(transfer)
        }
        return ended
    }
}

extension DurableTransfer {
    var file: File? {
        if case .file(let file) = outcome { file } else { nil }
    }

    var response: Response? {
        if case .response(let response) = outcome { response } else { nil }
    }

    var failure: CurlewError? {
        if case .failed(let error) = outcome { error } else { nil }
    }
}
#endif
