public import Curlew

extension CurlewResponse.Body {
    /// The body as the events of an XML document.
    ///
    /// Foundation's parser takes a document as a whole. So the body is collected first and read when the first event is
    /// asked for; what is bounded is the document, and its events are handed out one at a time.
    /// - Parameters:
    ///   - limit: The largest document; a larger one is ``Curlew/ErrorCode/responseTooLarge``.
    ///   - charset: The charset of Content-Type, if it has one.
    ///   - options: How the document is read.
    public func xmlEvents(
        upTo limit: ByteSize = .mebibytes(16), charset: String? = nil, options: XMLReadingOptions = XMLReadingOptions()
    ) -> XMLEventSequence {
        XMLEventSequence(body: self, limit: limit, charset: charset, options: options)
    }
}

/// The events of an XML document.
public struct XMLEventSequence: AsyncSequence, Sendable {
    public typealias Element = XMLEvent

    let body: CurlewResponse.Body
    let limit: ByteSize
    let charset: String?
    let options: XMLReadingOptions

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sequence: self) }

    /// Yields the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var sequence: XMLEventSequence?
        private var events: ArraySlice<XMLEvent> = []
        private var fault: (any Error)?

        init(sequence: XMLEventSequence) { self.sequence = sequence }

        /// The next event; nil at the end.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` where the document goes wrong, after the events
        ///   before it.
        public mutating func next() async throws -> XMLEvent? {
            if let sequence {
                self.sequence = nil
                let bytes = try await sequence.body.collect(upTo: sequence.limit)
                read(bytes, sequence)
            }
            if let event = events.popFirst() { return event }
            if let fault {
                self.fault = nil
                throw fault
            }
            return nil
        }

        private mutating func read(_ bytes: [UInt8], _ sequence: XMLEventSequence) {
            var events: [XMLEvent] = []
            do {
                let text = try XMLSource.utf8(bytes, charset: sequence.charset)
                try XMLEventReader.read(text, options: sequence.options) { events.append($0) }
            } catch {
                fault = error
            }
            self.events = events[...]
        }
    }
}
