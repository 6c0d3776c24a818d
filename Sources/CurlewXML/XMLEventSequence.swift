public import Curlew

extension CurlewResponse.Body {
    /// The body as the events of an XML document.
    ///
    /// Foundation's parser needs the complete document. So the first request for an event collects and parses all of
    /// the body. The size of the document is limited, and its events are returned one at a time.
    /// - Parameters:
    ///   - limit: The maximum size of the document; a larger one fails with ``Curlew/ErrorCode/responseTooLarge``.
    ///   - charset: The charset of Content-Type, if it has one.
    ///   - options: The options of reading.
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

    /// An iterator over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var sequence: XMLEventSequence?
        private var events: ArraySlice<XMLEvent> = []
        private var fault: (any Error)?

        init(sequence: XMLEventSequence) { self.sequence = sequence }

        /// The next event; nil at the end.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for an invalid document, after the
        ///   events before the error.
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
