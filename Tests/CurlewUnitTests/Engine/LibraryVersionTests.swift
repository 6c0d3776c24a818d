import Glibc
import Testing

@testable import CurlewCore

@Suite("The loaded libcurl")
struct LibraryVersionTests {
    /// The version of libcurl that `.ci/userland` loads.
    private static let wanted = getenv("CURLEW_TEST_LIBCURL").map { String(cString: $0) }

    @Test("the tests run with the requested version of libcurl", .enabled(if: wanted != nil))
    func isWanted() {
        let number = Engine.versionNumber
        #expect("\(number >> 16).\(number >> 8 & 0xff).\(number & 0xff)" == Self.wanted)
    }
}
