/// The task of one run of a client, read from its arguments.
public struct Assignment: Sendable {
    /// The work of a request.
    public var workload: Workload
    /// The URL of the requests.
    public var url: String
    /// The number of measured requests.
    public var requests: Int
    /// The number of concurrent requests.
    public var concurrency: Int
    /// The maximum number of connections to the host; ``concurrency`` by default.
    public var connections: Int
    /// The number of requests before the measurement. By default twice ``concurrency`` for small requests and none for
    /// large ones.
    public var warmUp: Int
    /// A PEM file of the trusted certificates.
    public var anchorsPath: String?
    /// The file to upload, or to download into.
    public var filePath: String?
    /// The URL of every second request; nil for ``url``.
    public var secondURL: String?
    /// The number of hosts that receive the requests in turn: addresses of this machine that replace the address in
    /// ``url``.
    public var hosts: Int?
    /// The number of event loops for the requests; nil for the client's default.
    public var loops: Int?

    /// True if only HTTP/3 is acceptable. Otherwise TLS negotiates the version.
    public var isHTTP3 = false

    /// The message for an invalid command line.
    public static let usage = """
        usage: client WORKLOAD URL REQUESTS CONCURRENCY [--connections N] [--warm-up N] [--anchors PEM] [--file PATH]
            [--second-url URL] [--loops N] [--hosts N] [--http-version 3]
        workloads: \(Workload.allCases.map(\.rawValue).joined(separator: ", "))
        """

    /// Reads the arguments, without the program's name.
    /// - Throws: ``UsageError``.
    public init(_ arguments: [String]) throws {
        guard arguments.count >= 4, arguments.count.isMultiple(of: 2) else { throw UsageError() }
        guard let workload = Workload(rawValue: arguments[0]) else { throw UsageError() }
        self.workload = workload
        url = arguments[1]
        requests = try Self.number(arguments[2])
        concurrency = try Self.number(arguments[3])
        connections = concurrency
        warmUp = workload.isLarge ? 0 : concurrency * 2
        for index in stride(from: 4, to: arguments.count, by: 2) {
            try readOption(arguments[index], arguments[index + 1])
        }
    }

    private mutating func readOption(_ name: String, _ value: String) throws {
        switch name {
        case "--connections": connections = try Self.number(value)
        case "--warm-up": warmUp = try Self.number(value)
        case "--anchors": anchorsPath = value
        case "--file": filePath = value
        case "--second-url": secondURL = value
        case "--loops": loops = try Self.number(value)
        case "--hosts": hosts = try Self.number(value)
        case "--http-version" where value == "3": isHTTP3 = true
        default: throw UsageError()
        }
    }

    /// The URLs of the requests, in turn.
    public var urls: [String] {
        guard let hosts else { return [url, secondURL].compactMap(\.self) }
        return (0..<hosts).map { index in
            url.replacing("//127.0.0.1:", with: "//127.0.\(1 + index / 250).\(1 + index % 250):")
        }
    }

    private static func number(_ text: String) throws -> Int {
        guard let number = Int(text), number >= 0 else { throw UsageError() }
        return number
    }
}

/// An error for an invalid command line.
public struct UsageError: Error {
    public init() {}
}
