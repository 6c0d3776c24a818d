import Curlew
import Testing

@Suite("Numbers of bytes")
struct ByteSizeTests {
    @Test("a multiple beyond the range of integers is the nearest bound")
    func saturation() {
        #expect(ByteSize.kibibytes(3).bytes == 3_072)
        #expect(ByteSize.mebibytes(-2).bytes == -2_097_152)
        #expect(ByteSize.mebibytes(1 << 44).bytes == .max)
        #expect(ByteSize.kibibytes(.max).bytes == .max)
        #expect(ByteSize.kibibytes(.min).bytes == .min)
    }
}
