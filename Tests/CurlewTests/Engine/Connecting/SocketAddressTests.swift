import Glibc
import Testing

@testable import CurlewCore

extension Connecting {
    @Suite("Socket addresses")
    struct SocketAddressTests {
        @Test(
            "an address survives the conversion to the system's form and back",
            arguments: ["192.0.2.1", "2001:db8::1", "fe80::1%7"])
        func systemForm(_ text: String) throws {
            let address = SocketAddress.ip(try #require(HostAddress.literal(text)).get(), port: 8080)
            let read = address.withSystemForm { form, length in
                SocketAddress(systemForm: UnsafeRawBufferPointer(start: form, count: Int(length)))
            }
            #expect(read == address)
        }

        @Test(
            "literals are read with and without brackets, with zones by number, by name and encoded",
            arguments: [
                ("127.0.0.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1"),
                ("::ffff:192.0.2.1", "192.0.2.1"), ("fe80::1%lo", "fe80::1%1"), ("[fe80::1%251]", "fe80::1%1"),
                ("[fe80::1%lo]", "fe80::1%1"), ("fe80::1%25", "fe80::1%25"),
            ])
        func literals(_ text: String, _ expected: String) throws {
            #expect(try #require(HostAddress.literal(text)).get().description == expected)
        }

        @Test(
            "names and malformed literals are not addresses",
            arguments: ["localhost", "fe80::1%", "127.0.0.1%lo", "1.2.3.4.5"])
        func names(_ text: String) { #expect(HostAddress.literal(text) == nil) }

        @Test("a zone that does not exist is a failure")
        func unknownZone() throws {
            let answer = try #require(HostAddress.literal("fe80::1%nowhere0"))
            #expect(throws: NameFailure(.notFound, "no interface has the name nowhere0")) { try answer.get() }
        }

        @Test("a path of the maximum length has its terminating NUL")
        func path() {
            let address = SocketAddress.unixSocket(Array(repeating: 97, count: SocketAddress.longestPath))
            #expect(address.withSystemForm { $1 } == socklen_t(MemoryLayout<sockaddr_un>.size))
            #expect(SocketAddress.longestPath == 107)
        }
    }
}
