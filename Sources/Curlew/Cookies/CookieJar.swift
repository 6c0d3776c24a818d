internal import Glibc
internal import HTTPTypes
internal import Synchronization

/// Cookies, as RFC 6265bis keeps them: what servers set, what a request carries, and what the caller adds and deletes.
///
/// It is a reference: give it to the ``CookieHandling`` link of one session, or of several that are to share their cookies. It may
/// be used from anywhere at once. Which names are public suffixes is libpsl's to say; without
/// the package's trait `PublicSuffixList`, which is on by default, every name is one, and a cookie for more hosts than the
/// one that sets it is refused. ``CookieJar/Limits`` has its bounds; an empty jar costs a request next to nothing.
///
/// ```swift
/// let jar = CookieJar()
/// let api = try HTTPSession(baseURL: "https://example.com/") { CookieHandling(jar) }
/// _ = try await api.post("login")
/// print(jar.cookies)
/// ```
public final class CookieJar: Sendable {
    /// Its bounds.
    public let limits: CookieJar.Limits
    private let store: Guarded<CookieStore>
    /// True if there is anything to look for: asked for every request, without the lock.
    private let isFilled = Atomic(false)
    private let broadcaster: Broadcaster<CookieJar.Change>
    private let clock: @Sendable () -> Int64

    /// Makes an empty jar.
    /// - Parameters:
    ///   - limits: Its bounds.
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

    // MARK: What there is

    /// All cookies that have not expired, the oldest first.
    public var cookies: [CookieJar.Cookie] { change { $0.all(now: $1) } }

    /// The cookies that a request to a URI would carry, in the order of sending. Asking does not count as use.
    public func cookies(for uri: CurlewURI) -> [CookieJar.Cookie] {
        guard let origin = CookieOrigin(uri) else { return [] }
        return change { $0.cookies(for: origin, now: $1, isUse: false) }
    }

    /// The changes from now on.
    public var changes: CookieJar.Changes { CookieJar.Changes(broadcaster: broadcaster) }

    // MARK: What comes in

    /// Puts a cookie in, as one that the caller is sure of: no server has to be allowed to set it.
    ///
    /// One that has expired takes the one with the same name, domain and path out.
    /// - Returns: Whether it is there now. Not if it has expired, or is for all hosts of a public suffix.
    @discardableResult
    public func set(_ cookie: CookieJar.Cookie) -> Bool { change { $0.put(cookie, now: $1) } }

    /// Puts cookies in.
    /// - Returns: How many there were that have not expired.
    func set(_ cookies: [CookieJar.Cookie]) -> Int { change { $0.put(cookies, now: $1) } }

    /// Takes the value of a Set-Cookie field as a response from a URI would bring it.
    /// - Returns: Whether a cookie is there now because of it.
    @discardableResult
    public func store(_ setCookie: String, from uri: CurlewURI) -> Bool {
        guard let origin = CookieOrigin(uri) else { return false }
        return store([Array(setCookie.utf8)], from: origin) == 1
    }

    /// Takes the cookies of a response.
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

    // MARK: What goes

    /// Deletes cookies by name.
    /// - Parameters:
    ///   - name: Their name; empty for those without one.
    ///   - domain: Their domain, exactly; nil for any.
    ///   - path: Their path, exactly; nil for any.
    /// - Returns: How many there were.
    @discardableResult
    public func remove(name: String, domain: String? = nil, path: String? = nil) -> Int {
        let name = Array(name.utf8)
        let host = domain.map { CookieHost($0.hasPrefix(".") ? String($0.dropFirst()) : $0)?.name }
        return remove { cookie in
            cookie.nameBytes == name && (path.map { $0.hasSameBytes(as: cookie.path) } ?? true)
                && (host.map { $0 == cookie.domain } ?? true)
        }
    }

    /// Deletes a cookie: the one with the same name, domain and path.
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ cookie: CookieJar.Cookie) -> Bool { remove { $0.isSame(as: cookie) } > 0 }

    /// Deletes the cookies that end with the session: those that have no date.
    /// - Returns: How many there were.
    @discardableResult
    public func removeSessionCookies() -> Int { remove { $0.expirySeconds == nil } }

    /// Deletes all cookies.
    public func removeAll() { _ = remove { _ in true } }

    private func remove(where condition: (CookieJar.Cookie) -> Bool) -> Int {
        change { store, _ in store.remove(.removed, where: condition) }
    }

    // MARK: The lock

    /// The cookies to send, without waiting for the lock of an empty jar.
    func cookiesToSend(to uri: CurlewURI) -> [CookieJar.Cookie] {
        guard isFilled.load(ordering: .acquiring), let origin = CookieOrigin(uri) else { return [] }
        return change { $0.cookies(for: origin, now: $1, isUse: true) }
    }

    /// Works on the cookies, and publishes what has changed, in the order in which it did.
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
        /// The number of cookies that were put into the jar. Its bounds may have evicted some of them since.
        public let stored: Int
        /// The numbers of the lines that are no cookies, from 1 on; the first hundred.
        public let skippedLines: [Int]
    }
}

extension CookieJar {
    /// Writes the cookies into a file in the format of Netscape's browser, which curl reads.
    ///
    /// The file takes its name when it is whole, so that a reader sees the old one or the new; only its owner may read it
    /// (mode 0600). Left out is what the format has no place for: cookies with a tab in name or path, and what a server
    /// said of other sites. `JSONEncoder` writes ``cookies`` whole.
    /// - Parameters:
    ///   - path: The file. What is there is replaced if it is a regular file.
    ///   - includesSessionCookies: Whether those are written too that end with the session, as curl does.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cookieFileFailed``.
    public func save(to path: String, includesSessionCookies: Bool = true) async throws {
        let bytes = CookieFile.bytes(of: cookies.filter { includesSessionCookies || $0.expirySeconds != nil })
        do {
            try await KeptFile(path: path).write(bytes)
        } catch {
            throw CurlewError(.cookieFileFailed, "the cookies cannot be written", underlying: error)
        }
    }

    /// Puts the cookies of a file into the jar, beside those that are there; the same name, domain and path replaces. What
    /// has expired is skipped. Lines that are no cookies are skipped, and the report lists them.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cookieFileFailed`` for a file that cannot be read, and for one larger than
    ///   ``CookieJar/Limits/fileSize``; the jar is then as it was.
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
    /// Bounds of a ``CookieJar``. Each cookie has at most 4,096 bytes of name and value, a path of at most 1,024 bytes and
    /// a host of at most 1,024.
    public struct Limits: Sendable, Hashable, Codable {
        /// The most cookies of one domain. 50 by default, the least that RFC 6265bis §6.1 asks for.
        public var perDomain: Int
        /// The most cookies in the jar. 3,000 by default.
        public var total: Int
        /// The size of the Cookie field that a request may have from the jar; what does not fit is left out, beginning with the
        /// cookie that would come first beyond it. 8 KiB by default, which servers take as a rule.
        public var fieldSize: ByteSize
        /// The size of a file that is loaded. 16 MiB by default.
        public var fileSize: ByteSize
        /// The most changes that wait for a listener that is behind; then the oldest are dropped. 1,000 by default.
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
        /// A kind of change. New ones may be added; keep a `default`.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
            /// The kind in a word.
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// A new cookie.
            public static let added = Kind(rawValue: "added")
            /// A cookie that took the place of the one with the same name, domain and path.
            public static let updated = Kind(rawValue: "updated")
            /// A cookie that was deleted, by the caller or by a server that set it with a date in the past.
            public static let removed = Kind(rawValue: "removed")
            /// Its time was over when somebody looked.
            public static let expired = Kind(rawValue: "expired")
            /// A cookie that had to make room (``CookieJar/Limits``).
            public static let evicted = Kind(rawValue: "evicted")
        }

        /// The kind of change.
        public let kind: Kind
        /// The cookie: the new one if there is one, else the one that has gone.
        public let cookie: CookieJar.Cookie

        init(_ kind: Kind, _ cookie: CookieJar.Cookie) {
            self.kind = kind
            self.cookie = cookie
        }
    }
}

extension CookieJar {
    /// The changes of a jar, for any number of listeners. Each gets those that happen after it began to listen; of those that it
    /// has not taken yet the newest ``CookieJar/Limits/changeBufferSize`` are kept. It ends with the jar.
    public struct Changes: AsyncSequence, Sendable {
        public typealias Element = CookieJar.Change
        public typealias Failure = Never

        let broadcaster: Broadcaster<CookieJar.Change>

        /// Begins to listen: at once, not with the first `next`.
        public func makeAsyncIterator() -> AsyncStream<CookieJar.Change>.AsyncIterator {
            broadcaster.listen().makeAsyncIterator()
        }
    }
}
