import Glibc
import Testing

/// System sockets, for test servers with their own thread.
enum LoopbackListener {
    /// A listening socket on a free port of 127.0.0.1.
    static func open() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withAddress(port: 0) { address in
            guard bind(descriptor, address, length) == 0, listen(descriptor, 16) == 0,
                getsockname(descriptor, address, &length) == 0
            else { return -1 }
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                Int(UInt16(bigEndian: $0.pointee.sin_port))
            }
        }
        try #require(descriptor >= 0 && port > 0)
        return (descriptor, port)
    }

    /// A connection to a port of 127.0.0.1; negative after a failure.
    static func connect(to port: Int) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withAddress(port: port) { Int(Glibc.connect(descriptor, $0, length)) }
        guard status != 0 else { return descriptor }
        close(descriptor)
        return -1
    }

    /// A connection to a port of 127.0.0.1 from another port, or from any if that is 0.
    static func connect(to port: Int, from localPort: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var isReusing: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusing, socklen_t(MemoryLayout<Int32>.size))
        let status = withAddress(port: localPort) { Int(bind(descriptor, $0, length)) }
        try #require(status == 0)
        try #require(withAddress(port: port) { Int(Glibc.connect(descriptor, $0, length)) } == 0)
        return descriptor
    }

    static func localPort(of descriptor: Int32) throws -> Int {
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withAddress(port: 0) { address in
            guard getsockname(descriptor, address, &length) == 0 else { return -1 }
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                Int(UInt16(bigEndian: $0.pointee.sin_port))
            }
        }
        try #require(port > 0)
        return port
    }

    private static func withAddress(port: Int, _ body: (UnsafeMutablePointer<sockaddr>) -> Int) -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
