public import HTTPTypes

extension HTTPSession {
    /// The pages of a listing, each fetched on demand.
    ///
    /// The sequence protects against endless listings. It throws ``ErrorCode/invalidResponse`` if a link leads to a
    /// page that was already fetched, or to another origin than the first page's, unless other origins are allowed. It
    /// throws ``ErrorCode/responseTooLarge`` after the greatest number of pages (``HTTPSession/pageLimit`` by default).
    public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
        public typealias Element = Page

        let session: HTTPSession
        let first: Result<CurlewRequest, any Error>
        let read: @Sendable (CurlewResponse) async throws -> (Page, URIReference?)
        let limit: Int
        let allowsOtherOrigins: Bool

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self) }

        /// Yields the pages.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private enum Phase {
                case next(Result<CurlewRequest, any Error>)
                case ended
            }

            private let pages: Pages
            private var phase: Phase
            private var origin: String?
            private var seen: Set<String> = []

            init(pages: Pages) {
                self.pages = pages
                phase = .next(pages.first)
            }

            /// The next page; nil after the last.
            /// - Throws: ``CurlewError``; the error of the closure that finds the next page is the
            ///   ``CurlewError/underlying`` of an ``ErrorCode/foreignFailure``.
            public mutating func next() async throws -> Page? {
                do {
                    guard case .next(let result) = phase else { return nil }
                    phase = .ended
                    let request = try result.get()
                    try check(request)
                    let response = try await pages.session.send(request)
                    let (page, link) = try await pages.read(response)
                    if let link {
                        // A link that cannot be resolved fails the next read, because the present page is complete.
                        phase = .next(
                            Result {
                                let uri = try link.resolved(against: response.uri)
                                // Secrets given for the first page are for its origin.
                                var next = uri.hasSameOrigin(as: request.uri) ? request : request.removingSecrets()
                                next.uri = uri
                                return next
                            })
                    }
                    return page
                } catch {
                    throw CurlewError(wrapping: error)
                }
            }

            private mutating func check(_ request: CurlewRequest) throws {
                let context = CurlewError.Context(
                    method: request.method, uri: request.uri, showsQuery: request.options.showsQueries)
                guard seen.count < pages.limit else {
                    throw CurlewError(.responseTooLarge, "there are more than \(pages.limit) pages", context: context)
                }
                guard seen.insert(request.uri.requestText).inserted else {
                    throw CurlewError(
                        .invalidResponse, "the pages repeat: one links to an earlier page",
                        context: context)
                }
                let origin = request.uri.origin
                guard origin == self.origin ?? origin || pages.allowsOtherOrigins else {
                    throw CurlewError(.invalidResponse, "a page links to another origin, \(origin)", context: context)
                }
                if self.origin == nil { self.origin = origin }
            }
        }
    }
}

extension HTTPSession {
    /// The elements of the pages of a listing, in order; see ``HTTPSession/Pages``.
    public struct PagedElements<Page: Sequence & Sendable>: AsyncSequence, Sendable where Page.Element: Sendable {
        public typealias Element = Page.Element

        let pages: HTTPSession.Pages<Page>

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: pages.makeAsyncIterator()) }

        /// Yields the elements.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var pages: HTTPSession.Pages<Page>.AsyncIterator
            private var elements: Page.Iterator?

            init(pages: HTTPSession.Pages<Page>.AsyncIterator) { self.pages = pages }

            /// The next element; nil after the last of the last page.
            /// - Throws: ``CurlewError``.
            public mutating func next() async throws -> Page.Element? {
                do {
                    while true {
                        if let element = elements?.next() { return element }
                        guard let page = try await pages.next() else { return nil }
                        elements = page.makeIterator()
                    }
                } catch {
                    throw CurlewError(wrapping: error)
                }
            }
        }
    }
}

extension HTTPSession {
    /// The default limit of the pages of a listing: 1,000.
    public static let pageLimit = 1000

    /// The elements of a listing whose pages are linked by `rel="next"` in the Link field (RFC 8288).
    ///
    /// ```swift
    /// for try await user in api.pages("users", as: [User].self) { print(user.name) }
    /// ```
    /// - Parameters:
    ///   - reference: The URL of the first page, absolute or relative to ``baseURL``.
    ///   - query: Pairs for the query of the first page.
    ///   - type: The type of a decoded page: a list of elements.
    ///   - limit: The greatest number of pages.
    ///   - allowsOtherOrigins: True if a link may lead to another origin. Secrets of the session do not go there.
    ///   - fields: Fields of each request.
    ///   - credential: A credential for each request to the first page's origin.
    ///   - timeout: A deadline over each request.
    ///   - options: Options of each request.
    public func pages<Page: Decodable & Sequence & Sendable>(
        _ reference: URIReference, query: RequestParameters = .none, as type: Page.Type,
        limit: Int = HTTPSession.pageLimit, allowsOtherOrigins: Bool = false, fields: HTTPFields = HTTPFields(),
        credential: Credential? = nil, timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) -> HTTPSession.PagedElements<Page> where Page.Element: Sendable {
        HTTPSession.PagedElements(
            pages: pages(
                reference, query: query, as: type, limit: limit, allowsOtherOrigins: allowsOtherOrigins,
                fields: fields, credential: credential, timeout: timeout, options: options
            ) { _, response in
                response.link("next").map { .uri($0) }
            })
    }

    /// The pages of a listing. A closure finds the next page.
    ///
    /// ```swift
    /// let pages = api.pages("users", as: UserList.self) { page, _ in page.cursor.map { "users?cursor=\($0)" } }
    /// for try await page in pages { print(page.users.count) }
    /// ```
    /// The parameters are those of
    /// ``pages(_:query:as:limit:allowsOtherOrigins:fields:credential:timeout:options:)``. `next` gets a page and its
    /// response, whose body was read. It returns the reference to the next page, relative to the present one; nil ends
    /// the sequence.
    public func pages<Page: Decodable & Sendable>(
        _ reference: URIReference, query: RequestParameters = .none, as type: Page.Type,
        limit: Int = HTTPSession.pageLimit, allowsOtherOrigins: Bool = false, fields: HTTPFields = HTTPFields(),
        credential: Credential? = nil, timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        next: @escaping @Sendable (Page, CurlewResponse) throws -> URIReference?
    ) -> HTTPSession.Pages<Page> {
        var fields = fields
        if fields[.accept] == nil { fields[.accept] = "application/json" }
        let serializer = ResponseSerializers.ValueAndResponse(JSONResponseSerializer<Page>.model(type))
        return HTTPSession.Pages(
            session: self,
            first: Result { [fields] in
                try makeRequest(
                    .get, reference, CallContent(.none, query: query),
                    CallSettings(fields, credential, timeout, options))
            },
            read: { response in
                let (page, response) = try await serializer.serialize(response)
                return (page, try next(page, response))
            },
            limit: limit, allowsOtherOrigins: allowsOtherOrigins)
    }
}
