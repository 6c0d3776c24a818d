import Glibc
import Testing

@testable import CurlewCore

extension Connecting {
    @Suite("The cancellation and the completion of a dial")
    struct DialCancellationTests {
        private let bench: DialBench

        init() throws { bench = try DialBench() }

        /// Starts a dial on the loop, calls `end` with it, and expects no answer and no open socket.
        private func expectSilence(
            _ plan: Dial.Plan, _ resolver: NameResolver = .shared, sockets: Int,
            _ location: SourceLocation = #_sourceLocation, end: @escaping @Sendable (inout Dial?) -> Void
        ) async {
            let isAnswered = Guarded(false)
            let held = openSockets()
            let open = await bench.run { [bench] in
                var dial: Dial? = Dial(plan, bench.surroundings(resolver), gate: { _ in true }) { _ in
                    isAnswered.withLock { $0 = true }
                }
                dial?.start()
                let open = openSockets()
                end(&dial)
                return [open, openSockets(), bench.core.timers.isEmpty ? 0 : 1]
            }
            #expect(open == [held + sockets, held, 0], sourceLocation: location)
            await bench.turns()
            #expect(!isAnswered.withLock { $0 }, sourceLocation: location)
        }

        @Test("a cancelled dial holds no socket and reports no result, in each state", arguments: [true, false])
        func cancelled(isDropped: Bool) async throws {
            let end: @Sendable (inout Dial?) -> Void = { dial in
                if !isDropped { dial?.cancel() }
                dial = nil
            }
            let stalled = StalledLookUps()
            await expectSilence(.init(.host("a.test", port: 1)), stalled.resolver(), sockets: 0, end: end)
            stalled.letGo()
            let (silent, filler) = try Listener.crowded()
            await expectSilence(.init(silent.address), sockets: 1, end: end)
            withExtendedLifetime(filler) {}
            // The result is available at once, and is delivered in the next turn.
            var late = Dial.Plan(silent.address)
            late.deadline = Instant(nanoseconds: 0)
            await expectSilence(late, sockets: 0, end: end)
        }

        @Test("a dial can be cancelled by its gate and by its completion handler")
        func cancelledInside() async throws {
            let listener = try Listener()
            let plan = Dial.Plan(listener.address)
            let held = openSockets()
            final class Holder: @unchecked Sendable { var dial: Dial? }
            let holder = Holder()
            await bench.run { [bench] in
                holder.dial = Dial(
                    plan, bench.surroundings(),
                    gate: { _ in
                        holder.dial?.cancel()
                        return true
                    }, completion: { _ in Issue.record("a cancelled dial was answered") })
                holder.dial?.start()
            }
            await bench.turns()
            #expect(openSockets() == held)
            let descriptor = await withCheckedContinuation { continuation in
                bench.core.execute { [bench] in
                    holder.dial = Dial(plan, bench.surroundings(), gate: { _ in true }) { outcome in
                        holder.dial?.cancel()
                        holder.dial = nil
                        continuation.resume(returning: try? outcome.get().descriptor)
                    }
                    holder.dial?.start()
                }
            }
            #expect(fcntl(try #require(descriptor), F_GETFD) >= 0)
            close(try #require(descriptor))
        }

        @Test("the result of a dial is delivered after its start has returned")
        func later() async throws {
            let log = await withCheckedContinuation { continuation in
                bench.core.execute { [bench] in
                    final class Record: @unchecked Sendable {
                        var log: [String] = []
                        var dial: Dial?
                    }
                    let record = Record()
                    record.dial = Dial(.init(.host("", port: 1)), bench.surroundings(), gate: { _ in true }) { _ in
                        record.log.append("result")
                        record.dial = nil
                        continuation.resume(returning: record.log)
                    }
                    record.dial?.start()
                    record.log.append("started")
                }
            }
            #expect(log == ["started", "result"])
        }
    }
}
