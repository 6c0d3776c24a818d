import Testing

@testable import CurlewCore

@Suite("Assembly of body chunks")
struct BodyAssemblyTests {
    private func append(_ count: Int, to assembly: inout BodyAssembly, left: Int64? = nil, keepsPrefix: Bool = false) {
        let bytes = [UInt8](repeating: 1, count: count)
        _ = bytes.withUnsafeBytes { assembly.append($0, left: left, keepsPrefix: keepsPrefix) }
    }

    private func chunks(_ channel: BodyChannel) -> [Int] {
        var sizes: [Int] = []
        while case .chunk(let chunk, _) = channel.take() { sizes.append(chunk.count) }
        return sizes
    }

    @Test("the bytes of one event loop turn form one chunk")
    func oneTurn() {
        var assembly = BodyAssembly(capacity: 1 << 20)
        let channel = assembly.openChannel()
        for _ in 0..<4 { append(16 << 10, to: &assembly) }
        #expect(chunks(channel).isEmpty)
        _ = assembly.endTurn(keepsPrefix: false)
        #expect(chunks(channel) == [64 << 10])
        _ = assembly.endTurn(keepsPrefix: false)
        #expect(chunks(channel).isEmpty)
    }

    @Test("chunks grow to at most half the buffer while they are filled")
    func growth() {
        var assembly = BodyAssembly(capacity: 256 << 10)
        let channel = assembly.openChannel()
        for _ in 0..<200 { append(16 << 10, to: &assembly) }
        _ = assembly.endTurn(keepsPrefix: false)
        let sizes = chunks(channel)
        #expect(sizes.reduce(0, +) == 200 * (16 << 10))
        #expect(sizes.allSatisfy { $0 <= 160 << 10 })
        #expect(sizes.count < 40)
    }

    @Test("the beginning of a body is kept for an error on request, up to the limit of an error")
    func prefix() {
        var assembly = BodyAssembly(capacity: 1 << 20)
        append(100, to: &assembly)
        _ = assembly.endTurn(keepsPrefix: false)
        #expect(assembly.prefix.isEmpty)
        append(10_000, to: &assembly, keepsPrefix: true)
        _ = assembly.endTurn(keepsPrefix: true)
        #expect(assembly.prefix.count == CurlewError.bodyPrefixLimit)
    }

    @Test("bytes in the assembly count towards the buffer")
    func bound() {
        for hasChannel in [false, true] {
            var assembly = BodyAssembly(capacity: 100)
            if hasChannel { _ = assembly.openChannel() }
            let first = assembly.admits(1000)
            append(60, to: &assembly)
            let fitting = assembly.admits(40)
            let beyond = assembly.admits(41)
            #expect(first && fitting && !beyond)
        }
    }

    @Test("a fully collected body needs no channel, and a body of several turns has one")
    func whole() {
        var assembly = BodyAssembly(capacity: 1 << 20)
        append(100, to: &assembly)
        #expect(assembly.takeWhole()?.count == 100)
        #expect(assembly.channel == nil)
        append(100, to: &assembly)
        _ = assembly.endTurn(keepsPrefix: false)
        #expect(assembly.takeWhole() == nil)
        #expect(assembly.channel.map(chunks) == [100])
    }
}
