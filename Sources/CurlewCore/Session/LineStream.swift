public import HTTPTypes

extension HTTPSession {
    /// The lines of a response, or their values, read on demand. The transfer pauses while the reader is behind.
    ///
    /// Iteration sends the request and checks the status. Each iterator sends the request again.
    public struct LineStream<Value: Sendable>: AsyncSequence, Sendable {
        public typealias Element = Value

        typealias Lines = any AsyncSequence<Value, any Error> & Sendable

        let open: @Sendable () async throws -> Lines
        let malformed: HTTPSession.MalformedElements

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self) }

        /// Yields the lines.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let stream: LineStream
            private var lines: (any AsyncIteratorProtocol<Value, any Error>)?
            private var isAtEnd = false

            init(stream: LineStream) { self.stream = stream }

            /// The next value; nil at the end.
            /// - Throws: ``CurlewError``.
            public mutating func next() async throws -> Value? {
                while !isAtEnd {
                    do {
                        var current: any AsyncIteratorProtocol<Value, any Error>
                        if let lines { current = lines } else { current = try await stream.open().makeAsyncIterator() }
                        let value: Value?
                        do {
                            value = try await current.next(isolation: nil)
                            lines = current
                        } catch {
                            lines = current
                            throw error
                        }
                        guard let value else {
                            isAtEnd = true
                            return nil
                        }
                        return value
                    } catch let error as CurlewError where error.code == .decodingFailed && lines != nil {
                        // The next line can still be read.
                        if !stream.malformed.areSkipped { throw error }
                    } catch {
                        isAtEnd = true
                        throw error
                    }
                }
                return nil
            }
        }
    }
}

extension HTTPSession {
    /// The lines of a response as values, each decoded from JSON (NDJSON).
    ///
    /// ```swift
    /// for try await row in api.lines("export.ndjson", as: Row.self) { try await insert(row) }
    /// ```
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - content: The content of the request.
    ///   - method: The method; nil is POST with content, and GET without.
    ///   - query: Pairs for the query.
    ///   - type: The type of a decoded line. Empty lines are skipped.
    ///   - limit: The longest line in bytes; a longer one is ``ErrorCode/responseTooLarge`` and ends the sequence.
    ///   - malformed: The treatment of a line that cannot be decoded.
    ///   - fields: Fields of this call.
    ///   - credential: A credential for this call, sent with the first request.
    ///   - timeout: A deadline over the call, including the reading of the body.
    ///   - options: Options of this call; an option that is nil is the session's.
    public func lines<Value: Decodable & Sendable>(
        _ reference: URIReference, _ content: CurlewRequest.Content = .none, method: HTTPRequest.Method? = nil,
        query: RequestParameters = .none, as type: Value.Type, upTo limit: ByteSize = .mebibytes(1),
        malformed: HTTPSession.MalformedElements = .fail, fields: HTTPFields = HTTPFields(),
        credential: Credential? = nil, timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) -> HTTPSession.LineStream<Value> {
        let content = CallContent(content, query: query)
        let coding = self.json
        var fields = fields
        if fields[.accept] == nil {
            fields[.accept] = "application/x-ndjson, application/jsonl, application/json;q=0.5"
        }
        return HTTPSession.LineStream(
            open: { [fields] in
                let response = try await call(
                    method ?? content.content.usualMethod, reference, content,
                    CallSettings(fields, credential, timeout, options))
                return try await response.checked().body
                    .ndjson(as: type, upTo: limit, options: coding.reading, coding: coding)
            }, malformed: malformed)
    }

    /// The lines of a response as text, without line ends (LF or CRLF). Invalid UTF-8 is repaired; see
    /// ``lines(_:_:method:query:as:upTo:malformed:fields:credential:timeout:options:)``.
    public func lines(
        _ reference: URIReference, _ content: CurlewRequest.Content = .none, method: HTTPRequest.Method? = nil,
        query: RequestParameters = .none, upTo limit: ByteSize = .mebibytes(1),
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) -> HTTPSession.LineStream<String> {
        let content = CallContent(content, query: query)
        return HTTPSession.LineStream(
            open: {
                let response = try await call(
                    method ?? content.content.usualMethod, reference, content,
                    CallSettings(fields, credential, timeout, options))
                return try await response.checked().body.lines(upTo: limit)
            }, malformed: .fail)
    }
}
