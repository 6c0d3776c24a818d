extension CurlewResponse.Body {
    /// The body as newline-delimited JSON: one value per line, each decoded on request.
    ///
    /// Lines end with LF or CRLF; the last one may end with the body. Empty lines are skipped. An undecodable line
    /// throws ``ErrorCode/decodingFailed`` with its number; then ``CurlewResponse/NDJSONSequence/AsyncIterator/next()``
    /// may be called again to continue with the next line. The transfer pauses while the reader is slow.
    ///
    /// ```swift
    /// for try await reading in response.body.ndjson(as: Reading.self) { print(reading) }
    /// ```
    /// - Parameters:
    ///   - type: The type of each line.
    ///   - limit: The limit on the length of a line in bytes; a longer line is ``ErrorCode/responseTooLarge`` and ends
    ///     the sequence.
    ///   - options: The rules for reading a line; by default a line may be any JSON value.
    ///   - coding: The dialect of the lines.
    public func ndjson<Value: Decodable & Sendable>(
        as type: Value.Type, upTo limit: ByteSize = .mebibytes(1), options: JSONCoding.ReadingOptions = .anyValue,
        coding: JSONCoding = JSONCoding()
    ) -> CurlewResponse.NDJSONSequence<Value> {
        CurlewResponse.NDJSONSequence(
            body: self, limit: limit.bytes, reader: JSONReader(options: options, coding: coding))
    }
}

extension CurlewResponse {
    /// The values of a body of newline-delimited JSON.
    public struct NDJSONSequence<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        public typealias Element = Value

        let body: CurlewResponse.Body
        let limit: Int
        let reader: JSONReader

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(chunks: body.makeAsyncIterator(), lines: LineSplitter(limit: limit), reader: reader)
        }

        /// Yields the values.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var chunks: CurlewResponse.Body.AsyncIterator
            private var lines: LineSplitter
            private let reader: JSONReader
            private var number = 0
            private var isAtEnd = false

            init(chunks: CurlewResponse.Body.AsyncIterator, lines: LineSplitter, reader: JSONReader) {
                self.chunks = chunks
                self.lines = lines
                self.reader = reader
            }

            /// The value of the next line; nil at the end.
            /// - Throws: ``CurlewError``.
            public mutating func next() async throws -> Value? {
                while let line = try await line() {
                    number += 1
                    let text = Array(line)
                    if JSONSource.isBlank(text) { continue }
                    do {
                        return try reader.decode(Value.self, from: text)
                    } catch {
                        throw CurlewError(.decodingFailed, "line \(number) cannot be read as JSON", underlying: error)
                    }
                }
                return nil
            }

            private mutating func line() async throws -> ArraySlice<UInt8>? {
                while !isAtEnd {
                    do {
                        if let line = try lines.next() { return line }
                        guard let chunk = try await chunks.next() else { break }
                        lines.append(chunk)
                    } catch {
                        isAtEnd = true
                        throw error
                    }
                }
                if isAtEnd { return nil }
                isAtEnd = true
                return lines.rest()
            }
        }
    }
}

/// Splits bytes into lines at LF, whatever the chunks. The lines do not include their line ends (LF or CRLF).
package struct LineSplitter {
    private let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var searched = 0

    /// - Parameter limit: The limit on the length of a line in bytes.
    package init(limit: Int) { self.limit = limit }

    package mutating func append(_ bytes: [UInt8]) {
        buffer.removeFirst(start)
        searched -= start
        start = 0
        buffer.append(contentsOf: bytes)
    }

    /// The next complete line, if there is one.
    /// - Throws: ``CurlewError`` with ``ErrorCode/responseTooLarge``.
    package mutating func next() throws -> ArraySlice<UInt8>? {
        guard let end = buffer[searched...].firstIndex(of: .lineFeed) else {
            searched = buffer.count
            try check(buffer.count - start)
            return nil
        }
        try check(end - start)
        defer {
            start = end + 1
            searched = start
        }
        let hasReturn = end > start && buffer[end - 1] == .carriageReturn
        return buffer[start..<(hasReturn ? end - 1 : end)]
    }

    /// The text after the last line end; nil if there is none.
    package mutating func rest() -> ArraySlice<UInt8>? {
        defer { start = buffer.count }
        return start < buffer.count ? buffer[start...] : nil
    }

    private func check(_ length: Int) throws {
        guard length <= limit else {
            throw CurlewError(.responseTooLarge, "a line is longer than \(limit) bytes")
        }
    }
}
