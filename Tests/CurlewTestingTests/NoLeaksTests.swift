import CurlewTesting
import Testing

@testable import CurlewTestingTraits

@Suite("NoLeaks", .noLeaks)
struct NoLeaksTests {
    @Test("a descriptor that is left open is found, and a closed one is not")
    func descriptor() throws {
        let before = ProcessResources.now()
        var held: RefusedPort? = try RefusedPort.unused()
        #expect(held != nil)
        #expect(ProcessResources.now().beyond(before).contains { $0.hasPrefix("descriptor") })
        held = nil
        #expect(ProcessResources.now().beyond(before).isEmpty)
    }
}
