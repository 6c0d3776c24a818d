internal import CurlewPlatform
internal import HTTPTypes
internal import Synchronization

/// A jar of cookies according to RFC 6265bis: servers set them, requests carry them, and the caller can add and remove
/// them.
///
/// A jar is a reference type and safe for concurrent use. Pass it to the ``CookieHandling`` link of a session, or of
/// several that share their cookies. An empty jar costs a request very little. ``CookieJar/Limits`` has its limits.
///
/// libpsl determines which names are public suffixes. Without the package's trait `PublicSuffixList`, which is on by
/// default, every name counts as one: a cookie for other hosts than the one that sets it is then refused.
///
/// ```swift
/// let jar = CookieJar()
/// let api = try HTTPSession(baseURL: "https://example.com/") { CookieHandling(jar) }
/// _ = try await api.post("login")
/// print(jar.cookies)
/// ```
public final class CookieJar: Sendable {
    /// The limits of the jar.
    public let limits: CookieJar.Limits
    private let store: Guarded<CookieStore>
    /// True if the jar has cookies. Every request reads it, without the lock.
    private let isFilled = Atomic(false)
    private let broadcaster: Broadcaster<CookieJar.Change>
    private let clock: @Sendable () -> Int64

    /// Makes an empty jar.
    /// - Parameters:
    ///   - limits: The limits of the jar.
    ///   - clock: The time, in seconds since the beginning of 1970, UTC.
    public init(
        limits: CookieJar.Limits = CookieJar.Limits(),
        clock: @escaping @Sendable () -> Int64 = CookieJar.systemTime
    ) {
        self.limits = limits
        self.clock = clock
        store = Guarded(CookieStore(limits: limits))
        broadcaster = Broadcaster(bufferSize: limits.changeBufferSize)
    }

    deinit { broadcaster.finish() }

    /// The time of the system, in seconds since 1970.
    @Sendable public static func systemTime() -> Int64 { Int64(time(nil)) }

    // MARK: Inspection

    /// All cookies that have not expired, the oldest first.
    public var cookies: [CookieJar.Cookie] { change { $0.all(now: $1) } }

    /// The cookies that a request to a URI would carry, in the order of sending. This does not count as a use.
    public func cookies(for uri: CurlewURI) -> [CookieJar.Cookie] {
        guard let origin = CookieOrigin(uri) else { return [] }
        return change { $0.cookies(for: origin, now: $1, isUse: false) }
    }

    /// The changes from now on.
    public var changes: CookieJar.Changes { CookieJar.Changes(broadcaster: broadcaster) }

    // MARK: Insertion

    /// Adds a cookie of the caller's. It needs no permission of a server.
    ///
    /// An expired cookie removes the one with the same name, domain and path.
    /// - Returns: True if the jar now has the cookie. False if it has expired, or is for all hosts of a public suffix.
    @discardableResult
    public func set(_ cookie: CookieJar.Cookie) -> Bool { change { $0.put(cookie, now: $1) } }

    /// Adds cookies.
    /// - Returns: The number of cookies that had not expired.
    func set(_ cookies: [CookieJar.Cookie]) -> Int { change { $0.put(cookies, now: $1) } }

    /// Stores the value of a Set-Cookie field as if a response from a URI contained it.
    /// - Returns: True if the jar now has a cookie because of it.
    @discardableResult
    public func store(_ setCookie: String, from uri: CurlewURI) -> Bool {
        guard let origin = CookieOrigin(uri) else { return false }
        return store([Array(setCookie.utf8)], from: origin) == 1
    }

    /// Stores the cookies of a response.
    func store(_ fields: HTTPFields, from uri: CurlewURI) {
        guard let origin = CookieOrigin(uri) else { return }
        let values = fields.lazy.filter { $0.name == .setCookie }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        _ = store(values, from: origin)
    }

    private func store(_ values: some Sequence<[UInt8]>, from origin: CookieOrigin) -> Int {
        change { store, now in
            values.count { value in
                guard let field = SetCookie(value), let cookie = CookieJar.Cookie(field, from: origin, now: now),
                    origin.isSecure || !store.overlaysSecure(cookie, now: now)
                else { return false }
                return store.put(cookie, now: now)
            }
        }
    }

    // MARK: Removal

    /// Removes cookies by their name.
    /// - Parameters:
    ///   - name: The name; empty for cookies without one.
    ///   - domain: The exact domain; nil for any.
    ///   - path: The exact path; nil for any.
    /// - Returns: The number of removed cookies.
    @discardableResult
    public func remove(name: String, domain: String? = nil, path: String? = nil) -> Int {
        let name = Array(name.utf8)
        let host = domain.map { CookieHost($0.hasPrefix(".") ? String($0.dropFirst()) : $0)?.name }
        return remove { cookie in
            cookie.nameBytes == name && (path.map { $0.hasSameBytes(as: cookie.path) } ?? true)
                && (host.map { $0 == cookie.domain } ?? true)
        }
    }

    /// Removes the cookie with the same name, domain and path.
    /// - Returns: True if there was one.
    @discardableResult
    public func remove(_ cookie: CookieJar.Cookie) -> Bool { remove { $0.isSame(as: cookie) } > 0 }

    /// Removes the cookies without a time of expiry, which end with the session.
    /// - Returns: The number of removed cookies.
    @discardableResult
    public func removeSessionCookies() -> Int { remove { $0.expirySeconds == nil } }

    /// Removes all cookies.
    public func removeAll() { _ = remove { _ in true } }

    private func remove(where condition: (CookieJar.Cookie) -> Bool) -> Int {
        change { store, _ in store.remove(.removed, where: condition) }
    }

    // MARK: Locking

    /// The cookies to send. An empty jar is recognized without the lock.
    func cookiesToSend(to uri: CurlewURI) -> [CookieJar.Cookie] {
        guard isFilled.load(ordering: .acquiring), let origin = CookieOrigin(uri) else { return [] }
        return change { $0.cookies(for: origin, now: $1, isUse: true) }
    }

    /// Changes the cookies, and publishes the changes in their order.
    private func change<Result>(_ body: (inout CookieStore, Int64) -> Result) -> Result {
        let now = clock()
        return store.withLock { store in
            store.isObserved = broadcaster.hasListeners
            let result = body(&store, now)
            isFilled.store(store.count > 0, ordering: .releasing)
            for change in store.takeChanges() { broadcaster.publish(change) }
            return result
        }
    }
}

extension CookieJar {
    /// The outcome of reading a file of cookies.
    public struct FileReport: Sendable, Hashable {
        /// The number of cookies that were added to the jar. Its limits may have evicted some of them since.
        public let stored: Int
        /// The numbers of the lines without a valid cookie, from 1; the first hundred.
        public let skippedLines: [Int]
    }
}

extension CookieJar {
    /// Writes the cookies into a file in the format of Netscape, which curl reads.
    ///
    /// The file is replaced in one step: a reader gets the complete old or the complete new file. Only its owner may
    /// read it (mode 0600). The format cannot store cookies with a tab in name or path, nor the rules for other sites.
    /// To store ``cookies`` completely, use `JSONEncoder`.
    /// - Parameters:
    ///   - path: The path of the file. An existing file is replaced if it is a regular file.
    ///   - includesSessionCookies: True if cookies that end with the session are written too, as by curl.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cookieFileFailed``.
    public func save(to path: String, includesSessionCookies: Bool = true) async throws {
        let bytes = CookieFile.bytes(of: cookies.filter { includesSessionCookies || $0.expirySeconds != nil })
        do {
            try await KeptFile(path: path).write(bytes)
        } catch {
            throw CurlewError(.cookieFileFailed, "the cookies cannot be written", underlying: error)
        }
    }

    /// Adds the cookies of a file to the jar. They replace cookies with the same name, domain and path. Expired cookies
    /// and invalid lines are skipped; the report lists the invalid lines.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cookieFileFailed`` for a file that is unreadable or larger than
    ///   ``CookieJar/Limits/fileSize``; the jar is then unchanged.
    @discardableResult
    public func load(from path: String) async throws -> CookieJar.FileReport {
        let (cookies, skipped) = CookieFile.read(try await bytes(of: path))
        return CookieJar.FileReport(stored: set(cookies), skippedLines: skipped)
    }

    private func bytes(of path: String) async throws -> [UInt8] {
        do {
            return try await KeptFile(path: path).read(upTo: limits.fileSize, code: .cookieFileFailed)
        } catch {
            throw CurlewError(.cookieFileFailed, "the cookies cannot be read", underlying: error)
        }
    }
}

extension CookieJar {
    /// The limits of a ``CookieJar``. Fixed limits of each cookie are 4,096 bytes of name and value, 1,024 bytes of
    /// path and 1,024 bytes of host.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most cookies of one domain. 50 by default, the minimum of RFC 6265bis §6.1.
        public var perDomain: Int
        /// The most cookies in the jar. 3,000 by default.
        public var total: Int
        /// The largest size of a request's Cookie field with the jar's cookies. The first cookie
        /// that exceeds it, and all later cookies, are omitted. 8 KiB by default, which servers usually accept.
        public var fieldSize: ByteSize
        /// The largest size of a file that is loaded. 16 MiB by default.
        public var fileSize: ByteSize
        /// The most changes that wait for a slow listener; beyond it, the oldest are dropped. 1,000 by default.
        public var changeBufferSize: Int

        public init(
            perDomain: Int = 50, total: Int = 3000, fieldSize: ByteSize = .kibibytes(8),
            fileSize: ByteSize = .mebibytes(16), changeBufferSize: Int = 1000
        ) {
            self.perDomain = perDomain
            self.total = total
            self.fieldSize = fieldSize
            self.fileSize = fileSize
            self.changeBufferSize = changeBufferSize
        }
    }
}

extension CookieJar {
    /// A change to a cookie in a jar.
    public struct Change: Sendable, Hashable {
        /// A kind of change. Later versions may add kinds, so a `switch` needs a `default`.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
            /// The name of the kind.
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// A new cookie.
            public static let added = Kind(rawValue: "added")
            /// A cookie that replaced the one with the same name, domain and path.
            public static let updated = Kind(rawValue: "updated")
            /// A cookie that was removed, by the caller or by a server that set it with a date in the past.
            public static let removed = Kind(rawValue: "removed")
            /// A cookie that was found to have expired.
            public static let expired = Kind(rawValue: "expired")
            /// A cookie that was evicted because of the limits (``CookieJar/Limits``).
            public static let evicted = Kind(rawValue: "evicted")
        }

        /// The kind of change.
        public let kind: Kind
        /// The new cookie if there is one, else the removed one.
        public let cookie: CookieJar.Cookie

        init(_ kind: Kind, _ cookie: CookieJar.Cookie) {
            self.kind = kind
            self.cookie = cookie
        }
    }
}

extension CookieJar {
    /// The changes of a jar, for any number of listeners. A listener gets the changes after its beginning. Of the
    /// changes that it has not read yet, the newest ``CookieJar/Limits/changeBufferSize`` are kept. The sequence ends
    /// with the jar.
    public struct Changes: AsyncSequence, Sendable {
        public typealias Element = CookieJar.Change
        public typealias Failure = Never

        let broadcaster: Broadcaster<CookieJar.Change>

        /// Begins to listen at once, before the first `next`.
        public func makeAsyncIterator() -> AsyncStream<CookieJar.Change>.AsyncIterator {
            broadcaster.listen().makeAsyncIterator()
        }
    }
}
