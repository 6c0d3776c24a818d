import Curlew
import Foundation
import Testing

@Suite("Parameters at the depth limit")
struct DeepParameterTests {
    @Test("the time to sort nested sets in a form does not grow with their depth", .timeLimit(.minutes(1)))
    func nestedSets() throws {
        var tree: ParameterValue = "leaf"
        for level in 0..<100 { tree = .set([tree, .string("level-\(level)")]) }
        let form = try RequestParameters.Style().form(["k": tree])
        #expect(form.split(separator: "&").count == 101)
        // Brackets sort before letters.
        #expect(form.hasPrefix("k=leaf&k=level-0&k=level-1&") && form.hasSuffix("&k=level-99"))
    }

    @Test("property lists and forms of parameters nested to the limit need less than 1 MiB of stack")
    func stack() async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                do {
                    var value: ParameterValue = 1
                    for _ in 1..<ParameterValue.depthLimit { value = [value] }
                    value = ["k": value]
                    #expect(try !value.propertyList().isEmpty)
                    #expect(try !value.propertyList(.binary).isEmpty)
                    #expect(try !RequestParameters.Style().form(value).isEmpty)
                } catch {
                    Issue.record(error)
                }
                continuation.resume()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }
}
