import Testing

@testable import CurlewCore

@Suite("The broadcaster", .timeLimit(.minutes(1)))
struct BroadcasterTests {
    @Test("listeners that are cancelled during publication delay no others")
    func cancelledListeners() async {
        let broadcaster = Broadcaster<Int>(bufferSize: 1)
        let publishing = Task.detached {
            var count = 0
            while !Task.isCancelled {
                broadcaster.publish(count)
                count += 1
                await Task.yield()
            }
            return count
        }
        for _ in 0..<3000 {
            let listening = Task.detached {
                var seen = 0
                for await _ in broadcaster.listen() { seen += 1 }
                return seen
            }
            await Task.yield()
            listening.cancel()
            _ = await listening.value
        }
        publishing.cancel()
        #expect(await publishing.value > 0)
        #expect(broadcaster.listenerCount == 0)
    }

    @Test("all listeners get the same elements in the same order, from any publisher")
    func order() async {
        let broadcaster = Broadcaster<Int>(bufferSize: 10_000)
        let streams = (0..<4).map { _ in broadcaster.listen() }
        await withTaskGroup { group in
            for publisher in 0..<4 {
                group.addTask { for number in 0..<500 { broadcaster.publish(publisher * 1000 + number) } }
            }
        }
        broadcaster.finish()
        var seen: [[Int]] = []
        for stream in streams {
            var elements: [Int] = []
            for await element in stream { elements.append(element) }
            seen.append(elements)
        }
        #expect(seen[0].count == 2000 && seen.allSatisfy { $0 == seen[0] })
    }
}
