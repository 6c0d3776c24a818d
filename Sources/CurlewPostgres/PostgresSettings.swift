#if Postgres
internal import CPQ
public import Curlew
public import CurlewStorage
internal import CurlewPlatform

/// The PostgreSQL database of a queue of durable transfers, and the settings of its connections.
public struct PostgresSettings: Sendable {
    /// The connection string for libpq: a URL such as `postgres://user@db.example/app?sslmode=verify-full`, or
    /// parameters such as `host=/run/postgresql dbname=app`.
    ///
    /// Missing parameters come from libpq's environment (`PGHOST`, `PGPASSWORD`, `PGSSLMODE` …), `~/.pgpass` and the
    /// service file. The string may contain a password, and appears in no log and no error.
    public var connection: String
    /// The schema of the tables; made if it does not exist. 1 to 63 letters, digits, dots, hyphens and underscores.
    public var schema = "curlew"
    /// The location of the transfers' files.
    public var reach = Reach.host(nil)
    /// The minimum protection of a connection; ``Protection/verified`` by default. A connection with less protection
    /// fails with ``Curlew/ErrorCode/invalidRequest``, and nothing is sent over it.
    public var protection = Protection.verified
    /// The timeout for connecting, up to an hour. 10 seconds by default.
    public var connectTimeout: Duration = .seconds(10)
    /// The timeout for the answer to a statement, up to an hour; a connection that is silent for longer is closed. 15
    /// seconds by default.
    public var statementTimeout: Duration = .seconds(15)
    /// The outage of the database that workers tolerate: transfers continue meanwhile, and their changes are written
    /// later. 10 minutes by default.
    public var outage: Duration = .seconds(600)

    public init(_ connection: String) { self.connection = connection }

    /// The location of transfers' files. A worker only claims transfers that were enqueued with the same location.
    public enum Reach: Sendable, Hashable {
        /// The machine with this name, nil for this machine: downloads go to its disk, and uploads are read from it.
        case host(String?)
        /// Folders that all machines share under the same paths, by any file system, identified by this name.
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

    /// The protection of a connection against attackers that can read or change network traffic. The database tells
    /// workers which files to read and to write, so an attacker that impersonates it has the rights of the workers.
    ///
    /// Sockets of this machine and loopback addresses (`localhost`, `127.0.0.0/8`, `::1`) need no protection.
    public enum Protection: Sendable, Hashable {
        /// TLS with a server whose name is verified, `sslmode=verify-full`, or `gssencmode=require`.
        case verified
        /// TLS with any server: `sslmode=require` or `verify-ca`. An attacker that can redirect connections can
        /// impersonate the server.
        case encrypted
        /// A connection without any requirement, such as libpq's default, `sslmode=prefer`.
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
            throw CurlewError(.invalidRequest, "the tolerated outage is from zero to a year")
        }
        guard !connection.utf8.contains(0), !reach.name.utf8.contains(0), reach.name.utf8.count <= 300 else {
            throw CurlewError(.invalidRequest, "the connection or the reach holds NUL, or is too long")
        }
        guard isReadable else {
            throw CurlewError(
                .invalidRequest,
                "the connection is neither a URL nor a list of settings that libpq understands; in a URL a password's @, /, : and % are percent-encoded"
            )
        }
    }

    /// False if libpq could misread a part of the password as another parameter and name it in an error.
    private var isReadable: Bool {
        // Bytes are searched: in Swift's text a delimiter and a combining mark after it are one character.
        let bytes = connection.utf8
        let scheme = ["postgres://", "postgresql://"].first { bytes.starts(with: $0.utf8) }
        guard scheme != nil || bytes.contains(UInt8(ascii: "=")) else {
            // The text is the name of a database, or a URL without its scheme.
            return !bytes.contains { "@/:%".utf8.contains($0) }
        }
        if let scheme {
            let at = UInt8(ascii: "@")
            let rest = bytes.dropFirst(scheme.utf8.count)
            let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            guard authority.count(where: { $0 == at }) <= 1, !rest.dropFirst(authority.count).contains(at) else {
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
    /// A short description without the connection string, which may contain a password.
    public var description: String { "schema \(schema), \(reach.name)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["schema": schema, "reach": reach.name]) }
}

extension DurableSession {
    /// Opens a queue in PostgreSQL, which any number of machines may open and run; makes its tables if they do not
    /// exist. Needs the package's trait `Postgres`, which is off by default.
    /// - Parameters:
    ///   - identifier: The name of the queue in its schema: 1 to 64 letters, digits, dots, hyphens and underscores.
    ///   - postgres: The database.
    ///   - http: The client that sends the transfers.
    ///   - options: The options of the session.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed`` for a database that cannot be reached or
    ///   used, or with ``Curlew/ErrorCode/invalidRequest``. A database cannot be used if a newer version made it, if
    ///   the role lacks rights, or if another role owns the schema.
    public convenience init(
        identifier: String, postgres: PostgresSettings, http: HTTPSession, options: Options = Options()
    ) async throws {
        let store = try await PostgresTransferStore.open(postgres, identifier: identifier)
        self.init(store: store, http: http, options: options)
    }
}
#endif
