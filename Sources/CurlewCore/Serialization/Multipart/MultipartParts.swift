public import HTTPTypes

extension CurlewResponse {
    /// The parts of a multipart body, in order, as they arrive (RFC 2046 §5.1).
    ///
    /// ```swift
    /// for try await part in try response.multipart() {
    ///     print(part.name ?? "", try await part.body.collect(upTo: .mebibytes(1)).count)
    /// }
    /// ```
    ///
    /// A delimiter is a line of its own; a line that only begins like one belongs to the part. At most 256 spaces and
    /// tabs after it are skipped, as are bytes before the first delimiter and after the last. All lines end with CRLF,
    /// or all with a bare LF: the first delimiter decides. Fields may be folded.
    ///
    /// The sequence can be read once, by one task at a time.
    public struct MultipartParts: AsyncSequence, Sendable {
        public typealias Element = CurlewResponse.MultipartParts.Part

        let reader: MultipartReader

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }

        /// Yields the parts.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: MultipartReader

            /// The next part; nil after the last. The unread rest of the previous part is skipped.
            /// - Throws: ``CurlewError``: ``ErrorCode/responseTruncated`` if the body ends before its last boundary,
            ///   ``ErrorCode/decodingFailed`` for unreadable fields, ``ErrorCode/responseHeadTooLarge`` for more of
            ///   them than ``CurlewResponse/MultipartParts/Limits`` allows, or the error of an interrupted transfer.
            public mutating func next() async throws -> CurlewResponse.MultipartParts.Part? {
                try await reader.nextPart()
            }
        }
    }
}

extension CurlewResponse.Body {
    /// The parts of a multipart body.
    /// - Parameters:
    ///   - boundary: The boundary between the parts, as in Content-Type.
    ///   - limits: The limits on memory.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for a boundary that is empty, longer than 256 bytes,
    ///   or has control characters.
    public func multipart(
        boundary: String, limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits()
    ) throws
        -> CurlewResponse.MultipartParts
    {
        let parser = try MultipartParser(boundary: boundary, limits: limits)
        return CurlewResponse.MultipartParts(reader: MultipartReader(body: self, parser: parser, limits: limits))
    }

    func multipart(_ type: ContentType?, limits: CurlewResponse.MultipartParts.Limits) throws
        -> CurlewResponse.MultipartParts
    {
        guard let type, type.type == "multipart" else {
            throw CurlewError(.decodingFailed, "the Content-Type is not multipart")
        }
        guard let boundary = type["boundary"] else {
            throw CurlewError(.decodingFailed, "the Content-Type has no boundary")
        }
        return try multipart(boundary: boundary, limits: limits)
    }
}

extension CurlewResponse {
    /// The parts of the body, with the boundary of Content-Type.
    /// - Parameter limits: The limits on memory.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` if Content-Type is not multipart or has no boundary.
    public func multipart(limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits()) throws
        -> CurlewResponse.MultipartParts
    {
        do {
            return try body.multipart(mediaType, limits: limits)
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(uri: uri, stage: .receiving, response: head))
        }
    }
}

extension CurlewResponse.MultipartParts {
    /// A part of a multipart response: its fields, and an unread body.
    ///
    /// Read the body before the next part: that skips the unread rest of the body, and reading it later is
    /// ``ErrorCode/responseAlreadyTaken``.
    public struct Part: Sendable {
        /// The fields, in order; may be empty.
        public let fields: HTTPFields
        /// The body: chunks as they arrive. While it is not read, the transfer waits.
        public let body: CurlewResponse.Body

        /// The `name` parameter of Content-Disposition.
        public var name: String? { disposition?.name }

        /// The file name of Content-Disposition: `filename*` if it is readable, otherwise `filename`. It comes from the
        /// peer: never use it as a path.
        public var fileName: String? { disposition?.fileName }

        /// The Content-Type as ``ContentType/init(contentTypeOf:)`` reads it.
        public var mediaType: ContentType? { ContentType(contentTypeOf: fields) }

        /// The parts of this part, which must itself be multipart.
        /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` if its Content-Type is not multipart or has no
        ///   boundary.
        public func multipart(limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits())
            throws -> CurlewResponse.MultipartParts
        {
            try body.multipart(mediaType, limits: limits)
        }

        private var disposition: ContentDisposition? { ContentDisposition(of: fields) }
    }
}

extension CurlewResponse.MultipartParts {
    /// The limits on the memory of a reader of multipart bodies. Bodies of parts are streamed without a limit.
    public struct Limits: Sendable, Hashable {
        /// The largest size of the fields of one part, with line ends. 16 KiB by default.
        public var headSize: ByteSize = .kibibytes(16)
        /// The largest number of fields of one part. 100 by default.
        public var fieldCount = 100
        /// The largest number of bytes that are read after the last part, so that the connection can be used again. 64
        /// KiB by default; beyond it the connection is closed.
        public var epilogueSize: ByteSize = .kibibytes(64)

        public init() {}
    }
}
