internal import Glibc
internal import HTTPTypes
internal import Synchronization

/// Cookies, as RFC 6265bis keeps them: what servers set, what a request carries, and what the caller adds and deletes.
///
/// It is a reference: give it to the ``Cookies`` link of one session, or of several that are to share their cookies. It may
/// be used from anywhere at once. Which names are public suffixes is libpsl's to say; without
/// the package's trait `PublicSuffixList`, which is on by default, every name is one, and a cookie for more hosts than the
/// one that sets it is refused. ``CookieLimits`` has its bounds; an empty jar costs a request next to nothing.
///
/// ```swift
/// let jar = CookieJar()
/// let api = try HTTPSession(baseURL: "https://example.com/") { Cookies(jar) }
/// _ = try await api.post("login")
/// print(jar.cookies)
/// ```
public final class CookieJar: Sendable {
    /// Its bounds.
    public let limits: CookieLimits
    private let store: Guarded<CookieStore>
    /// Whether there is anything to look for: asked for every request, without the lock.
    private let isFilled = Atomic(false)
    private let broadcaster: Broadcaster<CookieChange>
    private let clock: @Sendable () -> Int64

    /// Makes an empty jar.
    /// - Parameters:
    ///   - limits: Its bounds.
    ///   - clock: The time, in seconds since the beginning of 1970, UTC.
    public init(
        limits: CookieLimits = CookieLimits(),
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
    public var cookies: [Cookie] { change { $0.all(now: $1) } }

    /// The cookies that a request to a URI would carry, in the order of sending. Asking does not count as use.
    public func cookies(for uri: URI) -> [Cookie] {
        guard let origin = CookieOrigin(uri) else { return [] }
        return change { $0.cookies(for: origin, now: $1, isUse: false) }
    }

    /// What happens from now on.
    public var changes: CookieChanges { CookieChanges(broadcaster: broadcaster) }

    // MARK: What comes in

    /// Puts a cookie in, as one that the caller is sure of: no server has to be allowed to set it.
    ///
    /// One that has expired takes the one with the same name, domain and path out.
    /// - Returns: Whether it is there now. Not if it has expired, or is for all hosts of a public suffix.
    @discardableResult
    public func set(_ cookie: Cookie) -> Bool { change { $0.put(cookie, now: $1) } }

    /// Puts cookies in.
    /// - Returns: How many there were that have not expired.
    func set(_ cookies: [Cookie]) -> Int { change { $0.put(cookies, now: $1) } }

    /// Takes the value of a Set-Cookie field as a response from a URI would bring it.
    /// - Returns: Whether a cookie is there now because of it.
    @discardableResult
    public func store(_ setCookie: String, from uri: URI) -> Bool {
        guard let origin = CookieOrigin(uri) else { return false }
        return store([Array(setCookie.utf8)], from: origin) == 1
    }

    /// Takes the cookies of a response.
    func store(_ fields: HTTPFields, from uri: URI) {
        guard let origin = CookieOrigin(uri) else { return }
        let values = fields.lazy.filter { $0.name == .setCookie }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        _ = store(values, from: origin)
    }

    private func store(_ values: some Sequence<[UInt8]>, from origin: CookieOrigin) -> Int {
        change { store, now in
            values.count { value in
                guard let field = SetCookie(value), let cookie = Cookie(field, from: origin, now: now),
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
            cookie.nameBytes == name && (path.map { $0 == cookie.path } ?? true)
                && (host.map { $0 == cookie.domain } ?? true)
        }
    }

    /// Deletes a cookie: the one with the same name, domain and path.
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ cookie: Cookie) -> Bool { remove { $0.isSame(as: cookie) } > 0 }

    /// Deletes the cookies that end with the session: those that have no date.
    /// - Returns: How many there were.
    @discardableResult
    public func removeSessionCookies() -> Int { remove { $0.expirySeconds == nil } }

    /// Deletes all cookies.
    public func removeAll() { _ = remove { _ in true } }

    private func remove(where condition: (Cookie) -> Bool) -> Int {
        change { store, _ in store.remove(.removed, where: condition) }
    }

    // MARK: The lock

    /// The cookies to send, without waiting for the lock of an empty jar.
    func cookiesToSend(to uri: URI) -> [Cookie] {
        guard isFilled.load(ordering: .acquiring), let origin = CookieOrigin(uri) else { return [] }
        return change { $0.cookies(for: origin, now: $1, isUse: true) }
    }

    /// Works on the cookies, and tells of what has changed, in the order in which it did.
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
