public import HTTPTypes

extension HTTPSession {
    /// The pages of a listing, each fetched when it is asked for.
    ///
    /// A listing that has no end is a mistake, and following it a danger. The sequence throws ``ErrorCode/invalidResponse`` where a link
    /// leads to a page that was there before, or to another origin than the first page's unless that is allowed, and
    /// ``ErrorCode/responseTooLarge`` after so many pages as may be (``HTTPSession/pageLimit`` by default).
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
            /// - Throws: ``CurlewError``; the error of the closure that finds the next page is ``CurlewError/underlying`` of
            ///   ``ErrorCode/foreignFailure``.
            public mutating func next() async throws -> Page? {
                do {
                    guard case .next(let result) = phase else { return nil }
                    phase = .ended
                    let request = try result.get()
                    try check(request)
                    let response = try await pages.session.send(request)
                    let (page, link) = try await pages.read(response)
                    if let link {
                        // Thrown when that page is asked for: this one is whole.
                        phase = .next(
                            Result {
                                let uri = try link.resolved(against: response.uri)
                                // What was given for the first page is for its origin.
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
                        .invalidResponse, "the pages have no end: one links to a page that was there before",
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
    /// The elements of the pages of a listing, one after the other; see ``HTTPSession/Pages``.
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
    /// The most pages of a listing where the call says nothing: 1,000.
    public static let pageLimit = 1000

    /// The elements of a listing whose pages are linked by `rel="next"` in the Link field (RFC 8288).
    ///
    /// ```swift
    /// for try await user in api.pages("users", as: [User].self) { print(user.name) }
    /// ```
    /// - Parameters:
    ///   - reference: The URL of the first page, absolute or relative to ``baseURL``.
    ///   - query: Pairs for the query of the first page.
    ///   - type: What a page is decoded as: a list of elements.
    ///   - limit: The most pages.
    ///   - allowsOtherOrigins: True if a link may lead to another origin. Secrets of the session do not go there.
    ///   - fields: Fields of each request.
    ///   - options: Options of each request.
    public func pages<Page: Decodable & Sequence & Sendable>(
        _ reference: URIReference, query: RequestParameters = .none, as type: Page.Type,
        limit: Int = HTTPSession.pageLimit, allowsOtherOrigins: Bool = false, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) -> HTTPSession.PagedElements<Page> where Page.Element: Sendable {
        HTTPSession.PagedElements(
            pages: pages(
                reference, query: query, as: type, limit: limit, allowsOtherOrigins: allowsOtherOrigins,
                fields: fields, options: options
            ) { _, response in
                response.link("next").map { .uri($0) }
            })
    }

    /// The pages of a listing, where a closure finds the next one.
    ///
    /// ```swift
    /// let pages = api.pages("users", as: UserList.self) { page, _ in page.cursor.map { "users?cursor=\($0)" } }
    /// for try await page in pages { print(page.users.count) }
    /// ```
    /// The parameters are those of ``pages(_:query:as:limit:allowsOtherOrigins:fields:options:)``; `next` gets a page and its
    /// response, whose body was read, and gives the reference to the next, relative to the page; nil ends the sequence.
    public func pages<Page: Decodable & Sendable>(
        _ reference: URIReference, query: RequestParameters = .none, as type: Page.Type,
        limit: Int = HTTPSession.pageLimit, allowsOtherOrigins: Bool = false, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(),
        next: @escaping @Sendable (Page, CurlewResponse) throws -> URIReference?
    ) -> HTTPSession.Pages<Page> {
        var fields = fields
        if fields[.accept] == nil { fields[.accept] = "application/json" }
        let serializer = ResponseSerializers.ValueAndResponse(JSONResponseSerializer<Page>.model(type))
        return HTTPSession.Pages(
            session: self,
            first: Result { [fields] in
                try request(.get, reference, query: query, fields: fields, options: options)
            },
            read: { response in
                let (page, response) = try await serializer.serialize(response)
                return (page, try next(page, response))
            },
            limit: limit, allowsOtherOrigins: allowsOtherOrigins)
    }
}
