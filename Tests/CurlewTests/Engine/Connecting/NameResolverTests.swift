import Glibc
import Testing

@testable import CurlewCore
@testable import CurlewLoad

extension Connecting {
    @Suite("The resolver")
    struct NameResolverTests {
        private let bench: DialBench

        init() throws { bench = try DialBench() }

        private func answer(
            _ name: String, _ family: ConnectionRoute.AddressFamily = .any, by resolver: NameResolver = .shared
        ) async -> NameLookUp.Answer {
            await withCheckedContinuation { continuation in
                _ = resolver.lookUp(name, family: family, on: bench.core) { continuation.resume(returning: $0) }
            }
        }

        private func texts(_ name: String, _ family: ConnectionRoute.AddressFamily = .any) async throws -> [String] {
            try await answer(name, family).get().map(\.description)
        }

        @Test("IP literals and local names use no thread")
        func withoutThread() async throws {
            let resolver = NameResolver { _ in .failure(NameFailure(.other(0), "asked")) }
            #expect(try await answer("[::1]", by: resolver).get().map(\.description) == ["::1"])
            let local = try await answer("a.LOCALHOST.", by: resolver).get().map(\.description)
            #expect(local == ["127.0.0.1", "::1"])
            #expect(resolver.load == NameResolver.Load())
            #expect(try await texts("localhost", .ipv6) == ["::1"])
            #expect(try await texts("localhost", .ipv4) == ["127.0.0.1"])
        }

        @Test(
            "invalid names, and literals of another family, are not found",
            arguments: ["", "a\0b", String(repeating: "a", count: 256), "::1"])
        func invalid(_ name: String) async {
            guard case .failure(let failure) = await answer(name, .ipv4) else { return #expect(Bool(false)) }
            #expect(failure.kind == .notFound)
        }

        @Test("addresses come from the system, without duplicates")
        func system() throws {
            func texts(_ name: String, _ family: ConnectionRoute.AddressFamily) throws -> [String] {
                try NameLookUp.addresses(of: NameQuery(name, family)).get().map(\.description)
            }
            // The hosts file and numeric addresses need no name server.
            #expect(try texts("LocalHost", .ipv4) == ["127.0.0.1"])
            #expect(try texts("fe80::1%lo", .any) == ["fe80::1%1"])
            #expect(try texts("127.0.0.9", .any) == ["127.0.0.9"])
        }

        @Test("each code of getaddrinfo has an error kind")
        func codes() {
            func kind(_ code: Int32, _ number: Int32 = 0) -> NameFailure.Kind {
                NameFailure(code: code, systemError: number).kind
            }
            #expect(kind(EAI_NONAME) == .notFound)
            #expect(kind(-5) == .notFound)
            #expect(kind(EAI_AGAIN) == .temporary)
            #expect(kind(EAI_SYSTEM, EIO) == .system(EIO))
            #expect(kind(EAI_NONAME, EMFILE) == .system(EMFILE))
            #expect(kind(EAI_FAIL) == .other(EAI_FAIL))
            #expect(NameFailure(code: EAI_NONAME, systemError: 0).words == "Name or service not known")
        }

        @Test("concurrent look-ups of one name are shared in any letter case, but not between families")
        func shared() async {
            let stalled = StalledLookUps()
            let resolver = stalled.resolver()
            let (answers, answered) = AsyncStream<NameLookUp.Answer>.makeStream()
            func add(_ name: String, _ family: ConnectionRoute.AddressFamily) {
                _ = resolver.lookUp(name, family: family, on: bench.core) { answered.yield($0) }
            }
            add("a.test", .any)
            #expect(await stalled.await(1) == ["a.test"])
            add("A.TEST", .any)
            add("a.test", .ipv4)
            #expect(await stalled.await(1) == ["a.test"])
            stalled.letGo()
            var iterator = answers.makeAsyncIterator()
            for _ in 0..<3 { #expect((try? await iterator.next()?.get().count) == 1) }
            #expect(stalled.count == 2)
        }

        @Test("threads and queue are limited, and waiting look-ups run in order")
        func bounds() async {
            let stalled = StalledLookUps()
            let resolver = stalled.resolver(NameResolver.Limits(threads: 2, queue: 3))
            let answers = Guarded<[String]>([])
            func add(_ name: String) {
                _ = resolver.lookUp(name, family: .any, on: bench.core) { _ in answers.withLock { $0.append(name) } }
            }
            add("1.test")
            add("2.test")
            #expect(await stalled.await(2).sorted() == ["1.test", "2.test"])
            for name in ["3.test", "4.test", "5.test"] { add(name) }
            #expect(resolver.load == NameResolver.Load(threads: 2, waiting: 3))
            guard case .failure(let failure) = await answer("6.test", by: resolver) else { return #expect(Bool(false)) }
            #expect(failure.kind == .resourcesExhausted)
            async let joined = answer("5.test", by: resolver)
            await bench.turns()
            stalled.letGo()
            _ = await joined
            #expect(await stalled.await(3).sorted() == ["3.test", "4.test", "5.test"])
            #expect(stalled.mostRunning == 2)
        }

        @Test("the queue is first in, first out")
        func order() async {
            let stalled = StalledLookUps()
            let resolver = stalled.resolver(NameResolver.Limits(threads: 1))
            let names = ["1.test", "2.test", "3.test", "4.test"]
            for name in names { _ = resolver.lookUp(name, family: .any, on: bench.core) { _ in } }
            stalled.letGo()
            #expect(await stalled.await(4) == names)
        }

        @Test("a cancelled ticket gets no answer, and a look-up without tickets is not begun")
        func cancelled() async {
            let stalled = StalledLookUps()
            let resolver = stalled.resolver(NameResolver.Limits(threads: 1))
            let answers = Guarded<[String]>([])
            func add(_ name: String) -> NameResolver.Ticket {
                resolver.lookUp(name, family: .any, on: bench.core) { _ in answers.withLock { $0.append(name) } }
            }
            let running = add("1.test")
            #expect(await stalled.await(1) == ["1.test"])
            let waiting = add("2.test")
            let one = add("3.test")
            _ = add("3.test")
            waiting.cancel()
            waiting.cancel()
            one.cancel()
            running.cancel()
            #expect(resolver.load.waiting == 1)
            stalled.letGo()
            _ = await answer("4.test", by: resolver)
            await bench.turns()
            #expect(answers.withLock { $0 } == ["3.test"])
            #expect(stalled.count == 3)
        }

        @Test("a ticket that is cancelled on the loop after its answer was found gets no answer")
        func lateCancellation() async {
            let isAnswered = Guarded(false)
            await bench.run { [bench] in
                let ticket = NameResolver.shared.lookUp("127.0.0.1", family: .any, on: bench.core) { _ in
                    isAnswered.withLock { $0 = true }
                }
                ticket.cancel()
            }
            await bench.turns()
            #expect(!isAnswered.withLock { $0 })
        }

        @Test("a cancelled ticket does not end a later look-up of the same name")
        func staleTicket() async {
            let stalled = StalledLookUps()
            let resolver = stalled.resolver(NameResolver.Limits(threads: 1))
            stalled.letGo()
            let first = Guarded<NameResolver.Ticket?>(nil)
            await withCheckedContinuation { continuation in
                let ticket = resolver.lookUp("1.test", family: .any, on: bench.core) { _ in continuation.resume() }
                first.withLock { $0 = ticket }
            }
            async let second = answer("1.test", by: resolver)
            first.withLock { $0 }?.cancel()
            #expect((try? await second.get().count) == 1)
        }

        @Test("idle threads end, and so does a resolver without references")
        func idleThreads() async {
            final class Canary: Sendable {
                let continuation: CheckedContinuation<Void, Never>
                init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
                deinit { continuation.resume() }
            }
            await withCheckedContinuation { continuation in
                let canary = Canary(continuation)
                let resolver = NameResolver(limits: NameResolver.Limits(idleTime: 1_000_000)) { _ in
                    withExtendedLifetime(canary) { .success([]) }
                }
                for number in 0..<20 {
                    _ = resolver.lookUp("\(number).test", family: .any, on: bench.core) { _ in }
                }
            }
        }

        @Test("an idle thread takes the next look-up")
        func reusedThread() async {
            let resolver = NameResolver { _ in .success([HostAddress(IPAddress(ipv4: 1))]) }
            for number in 0..<20 {
                _ = await answer("\(number).test", by: resolver)
                // A thread that has just answered is not idle yet.
                while resolver.load.idle == 0 { await Task.yield() }
            }
            #expect(resolver.load.threads == 1)
        }

        @Test("a process can exit while a look-up hangs")
        func exit() async {
            await #expect(processExitsWith: .exitCode(7)) {
                let bench = try DialBench()
                let stalled = StalledLookUps()
                _ = stalled.resolver().lookUp("a.test", family: .any, on: bench.core) { _ in }
                _ = await stalled.await(1)
                Glibc.exit(7)
            }
        }

        @Test("a lack of descriptors is not a missing name")
        func descriptors() async {
            await #expect(processExitsWith: .exitCode(7)) {
                var limit = rlimit(rlim_cur: 0, rlim_max: 4096)
                setrlimit(__rlimit_resource_t(7), &limit)
                let answer = NameLookUp.addresses(of: NameQuery("name.invalid", .ipv4))
                guard case .failure(let failure) = answer, failure.kind == .system(EMFILE) else { _exit(1) }
                // `_exit` replaces `exit`, in which AddressSanitizer would search for leaks and need a descriptor.
                _exit(7)
            }
        }
    }
}
