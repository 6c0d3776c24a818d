import Curlew
import Foundation
import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("Mutated frames")
struct FrameFuzzingTests {
    /// Valid sequences of frames to mutate.
    private static let seeds: [[UInt8]] = {
        var seeds: [[UInt8]] = []
        for role in [WebSocketRole.client, .server] {
            for testCase in AutobahnCase.all {
                let bytes = testCase.frames.flatMap { $0.masked(to: role).bytes }
                if bytes.count < 120 { seeds.append(bytes) }
            }
            for compression in [DeflateAgreement()] {
                var writer = MessageWriter(
                    role: role, compression: compression, options: .init(minimumSize: 0), random: SeededNumbers(seed: 2)
                )
                var bytes: [UInt8] = []
                try? writer.write(.text("Hello, hello, hello"), into: &bytes)
                writer.begin(.binary)
                try? writer.write(chunk: [1, 2, 3].span.bytes, into: &bytes)
                writer.write(.ping([1]), into: &bytes)
                try? writer.finish(into: &bytes)
                seeds.append(bytes)
            }
        }
        return seeds
    }()

    private static func mutate(_ bytes: inout [UInt8], _ numbers: inout SeededNumbers) {
        for _ in 0...numbers.next(upTo: 3) {
            let place = numbers.next(upTo: bytes.count + 1)
            switch numbers.next(upTo: 6) {
            case 0: bytes.insert(UInt8(numbers.next(upTo: 256)), at: place)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2 where place < bytes.count: bytes[place] ^= 1 << UInt8(numbers.next(upTo: 8))
            case 3 where place < bytes.count:
                bytes[place] = [0x00, 0x80, 0x81, 0x7E, 0x7F, 0xFF][numbers.next(upTo: 6)]
            case 4: bytes += seeds[numbers.next(upTo: seeds.count)].prefix(60)
            default: bytes = Array(bytes.prefix(place)) + bytes.suffix(numbers.next(upTo: 20))
            }
        }
    }

    /// The number of mutations for each seed. `CURLEW_TEST_MUTATIONS=10000` makes 100,000 mutations in total.
    private static let count =
        ProcessInfo.processInfo.environment["CURLEW_TEST_MUTATIONS"].flatMap(Int.init) ?? 1000

    @Test("mutated frames give the same result in any pieces", arguments: 0..<10 as Range<UInt64>)
    func pieces(_ seed: UInt64) {
        var numbers = SeededNumbers(seed: seed)
        for _ in 0..<Self.count {
            var bytes = Self.seeds[numbers.next(upTo: Self.seeds.count)]
            Self.mutate(&bytes, &numbers)
            bytes += [UInt8(numbers.next(upTo: 256)), UInt8(numbers.next(upTo: 256))]
            let difference = bytes.withUnsafeBytes(fuzzFrames)
            #expect(difference == nil)
            guard difference == nil else { return }
        }
    }
}
