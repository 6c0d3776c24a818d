import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("The event loops of a session", .timeLimit(.minutes(1)))
struct LoopAssignmentTests {
    private func indices(of urls: [String], loops count: Int) throws -> [Int?] {
        let loops = try (0..<count).map { _ in try CurlewEventLoop() }
        let session = try SessionActor(eventLoops: loops)
        return try urls.map { url in
            let task = try session.dataTask(CurlewRequest(.get, url))
            return loops.firstIndex { $0 === task.exchange.host.loop }
        }
    }

    @Test("hosts are assigned to the loops round robin, and keep their loop")
    func roundRobin() throws {
        let urls = (0..<9).map { "http://host\($0).test/path" }
        #expect(try indices(of: urls + urls, loops: 3) == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
    }

    @Test("http and https of a host share a loop, in any notation of the host; another port is another host")
    func origins() throws {
        let urls = [
            "http://a.test/", "https://a.test/", "http://b.test/", "https://b.test:443/", "http://A.test:80/",
            "http://a.test:8080/", "http://b.test/",
        ]
        #expect(try indices(of: urls, loops: 2) == [0, 0, 1, 1, 0, 0, 1])
    }

    @Test("beyond 4,096 hosts a hash determines the loop of a host, and the first hosts keep their loops")
    func manyHosts() throws {
        let urls = (0..<5000).map { "http://host\($0).test/" }
        let found = try indices(of: urls + [urls[0], urls[1], urls[4999]], loops: 2)
        #expect(found.allSatisfy { $0 != nil })
        #expect(found[5000] == 0 && found[5001] == 1 && found[5002] == found[4999])
    }
}
