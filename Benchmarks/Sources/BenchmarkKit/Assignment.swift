/// What one run of a client is asked to do, as read from its arguments.
public struct Assignment: Sendable {
    /// What a request does.
    public var workload: Workload
    /// Where requests go.
    public var url: String
    /// How many requests are measured.
    public var requests: Int
    /// How many of them are in flight at a time.
    public var concurrency: Int
    /// How many connections to the host there may be; ``concurrency`` unless said otherwise.
    public var connections: Int
    /// How many requests are made before measuring. Unless said otherwise, twice ``concurrency`` where a request is
    /// small and none where it is large.
    public var warmUp: Int
    /// A PEM file of the certificates to trust.
    public var anchorsPath: String?
    /// The file to upload, or to download into.
    public var filePath: String?
    /// Where every second request goes, if not to ``url``.
    public var secondURL: String?
    /// To how many hosts requests go in turn: addresses of this machine in place of the one in ``url``.
    public var hosts: Int?
    /// How many event loops carry the requests; nil is the client's own choice.
    public var loops: Int?

    /// What to write for a command line that cannot be used.
    public static let usage = """
        usage: client WORKLOAD URL REQUESTS CONCURRENCY [--connections N] [--warm-up N] [--anchors PEM] [--file PATH]
            [--second-url URL] [--loops N] [--hosts N]
        workloads: \(Workload.allCases.map(\.rawValue).joined(separator: ", "))
        """

    /// Reads the arguments without the program's name.
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
        default: throw UsageError()
        }
    }

    /// Where requests go, in turn.
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

/// A command line that cannot be used.
public struct UsageError: Error {
    public init() {}
}
