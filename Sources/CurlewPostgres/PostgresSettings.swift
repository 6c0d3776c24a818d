#if Postgres
internal import CPQ
public import Curlew
public import CurlewStorage
internal import Glibc

/// The PostgreSQL database that a queue of durable transfers is in, and how it is reached.
public struct PostgresSettings: Sendable {
    /// What libpq takes: a URL such as `postgres://user@db.example/app?sslmode=verify-full`, or words such as `host=/run/postgresql
    /// dbname=app`. What it does not say comes from libpq's environment (`PGHOST`, `PGPASSWORD`, `PGSSLMODE` …), `~/.pgpass` and the service file.
    /// It may hold a password, and is in no log and no error.
    public var connection: String
    /// The schema that holds the tables; made if it is not there. 1 to 63 letters, digits, dots, hyphens and underscores.
    public var schema = "curlew"
    /// Where the files of the transfers lie.
    public var reach = Reach.host(nil)
    /// The protection that a connection has at least. A connection that has less is ``Curlew/ErrorCode/invalidRequest``, and nothing is sent
    /// over it. ``Protection/verified`` by default.
    public var protection = Protection.verified
    /// The longest wait for a connection, up to an hour. 10 seconds by default.
    public var connectTimeout: Duration = .seconds(10)
    /// The longest wait for the answer to a statement, up to an hour; a connection that is silent for longer is given up. 15 seconds by
    /// default.
    public var statementTimeout: Duration = .seconds(15)
    /// For so long workers bear a database that is away: what is under way goes on, and what comes of it is written down
    /// later. 10 minutes by default.
    public var outage: Duration = .seconds(600)

    public init(_ connection: String) { self.connection = connection }

    /// Where the files of transfers lie. A worker takes only what was enqueued under the same.
    public enum Reach: Sendable, Hashable {
        /// On the machine of this name, nil for this one's: downloads go to its disk, and uploads are read from it.
        case host(String?)
        /// In folders that all machines have under the same paths, by whatever file system, which are known by this name.
        case shared(String)

        var name: String {
            switch self {
            case .host(let name): "host:\(name ?? Reach.hostName)"
            case .shared(let name): "shared:\(name)"
            }
        }

        private static let hostName: String = {
            var space = [CChar](repeating: 0, count: 256)
            guard gethostname(&space, space.count - 1) == 0 else { return "localhost" }
            return String(decoding: space.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }()
    }

    /// The protection of a connection from those that can read or change what goes over a network. The database tells workers what to read
    /// and to write, so that whoever can stand in for it has the rights of the workers.
    ///
    /// A socket of this machine and an address of its loopback (`localhost`, `127.0.0.0/8`, `::1`) need none.
    public enum Protection: Sendable, Hashable {
        /// TLS with a server whose name is verified, `sslmode=verify-full`, or `gssencmode=require`.
        case verified
        /// TLS with any server: `sslmode=require` or `verify-ca`. Those that can redirect connections can stand in for the server.
        case encrypted
        /// A connection without any demand, such as libpq's default, `sslmode=prefer`.
        case none
    }

    func validate(identifier: String) throws {
        func isName(_ text: String, _ limit: Int) -> Bool {
            (1...limit).contains(text.utf8.count)
                && text.utf8.allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                        || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                }
        }
        guard isName(schema, 63), !schema.hasPrefix("pg_") else {
            throw CurlewError(
                .invalidRequest,
                "a schema has 1 to 63 letters, digits, dots, hyphens and underscores, and no pg_ in front")
        }
        guard isName(identifier, 64) else {
            throw CurlewError(
                .invalidRequest, "an identifier has 1 to 64 letters, digits, dots, hyphens and underscores")
        }
        for timeout in [connectTimeout, statementTimeout] {
            guard timeout >= .milliseconds(1), timeout <= .seconds(3600) else {
                throw CurlewError(.invalidRequest, "the timeouts of a database are from one millisecond to one hour")
            }
        }
        guard outage >= .zero, outage <= .seconds(365 * 86_400) else {
            throw CurlewError(.invalidRequest, "an outage that is borne is from zero to a year")
        }
        guard !connection.utf8.contains(0), !reach.name.utf8.contains(0), reach.name.utf8.count <= 300 else {
            throw CurlewError(.invalidRequest, "the connection or the reach holds NUL, or is too long")
        }
        guard isReadable else {
            throw CurlewError(
                .invalidRequest,
                "the connection is no URL and no words that libpq understands; in a URL a password's @, /, : and % are percent-encoded"
            )
        }
    }

    /// False where libpq would take a part of the password for something else, and name that in its error.
    private var isReadable: Bool {
        let scheme = ["postgres://", "postgresql://"].first { connection.hasPrefix($0) }
        guard scheme != nil || connection.contains("=") else {
            // It is the name of a database, or a URL that lacks its scheme.
            return !connection.contains { "@/:%".contains($0) }
        }
        if let scheme {
            let rest = connection.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            guard authority.count(where: { $0 == "@" }) <= 1, !rest.dropFirst(authority.count).contains("@") else {
                return false
            }
        }
        var message: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(message) }
        guard let options = PQconninfoParse(connection, &message) else { return false }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if String(cString: keyword) == "port", let value = option.pointee.val {
                guard String(cString: value).utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ",") })
                else { return false }
            }
            option += 1
        }
        return true
    }
}

extension PostgresSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// In short, and without the connection, which may hold a password.
    public var description: String { "schema \(schema), \(reach.name)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["schema": schema, "reach": reach.name]) }
}

extension DurableSession {
    /// Opens a queue in PostgreSQL, which any number of machines may hold and run; makes its tables if they are not there. Needs the
    /// package's trait `Postgres`, which is off by default.
    /// - Parameters:
    ///   - identifier: The name of the queue in its schema: 1 to 64 letters, digits, dots, hyphens and underscores.
    ///   - postgres: The database.
    ///   - http: What the transfers are sent by.
    ///   - options: How they are run.
    /// - Throws: ``Curlew/CurlewError``: ``Curlew/ErrorCode/queueFailed`` for a database that cannot be reached or used, such as one that a newer
    ///   version has made, where the role lacks rights, or whose schema another role owns; ``Curlew/ErrorCode/invalidRequest``.
    public convenience init(
        identifier: String, postgres: PostgresSettings, http: HTTPSession, options: Options = Options()
    ) async throws {
        let store = try await PostgresTransferStore.open(postgres, identifier: identifier)
        self.init(store: store, http: http, options: options)
    }
}
#endif
