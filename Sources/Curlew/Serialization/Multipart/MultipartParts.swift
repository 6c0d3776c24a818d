public import HTTPTypes

extension CurlewResponse {
    /// The parts of a multipart body, in their order, as they arrive (RFC 2046 §5.1).
    ///
    /// ```swift
    /// for try await part in try response.multipart() {
    ///     print(part.name ?? "", try await part.body.collect(upTo: .mebibytes(1)).count)
    /// }
    /// ```
    ///
    /// A delimiter is a line of its own; a line that only begins like one belongs to the part. Spaces and tabs behind it, 256 at
    /// most, are skipped, and so is what stands before the first delimiter and behind the last. Lines end with CRLF, or all
    /// of them with a bare LF: the first delimiter decides. Fields may be folded.
    ///
    /// It can be read once, by one task at a time.
    public struct MultipartParts: AsyncSequence, Sendable {
        public typealias Element = CurlewResponse.MultipartParts.Part

        let reader: MultipartReader

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }

        /// Yields the parts.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: MultipartReader

            /// The next part; nil behind the last. What was not read of the part before it is skipped.
            /// - Throws: ``CurlewError``: ``ErrorCode/responseTruncated`` if the body ends before its last boundary,
            ///   ``ErrorCode/decodingFailed`` for fields that cannot be read, ``ErrorCode/responseHeadTooLarge`` for more of them
            ///   than ``CurlewResponse/MultipartParts/Limits`` allows, or what broke the body off.
            public mutating func next() async throws -> CurlewResponse.MultipartParts.Part? {
                try await reader.nextPart()
            }
        }
    }
}

extension CurlewResponse.Body {
    /// The parts of the body, which is multipart.
    /// - Parameters:
    ///   - boundary: What stands between the parts, as Content-Type has it.
    ///   - limits: The bounds of what is held.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for a boundary that is empty, longer than 256 bytes, or has
    ///   control characters.
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
    /// - Parameter limits: The bounds of what is held.
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
    /// A part of a multipart response: its fields, and a body still to be read.
    ///
    /// The body is to be read before the next part is asked for; what is left of it is skipped then, and reading it later is
    /// ``ErrorCode/responseAlreadyTaken``.
    public struct Part: Sendable {
        /// The fields, in their order. May be none.
        public let fields: HTTPFields
        /// The body: chunks as they arrive. While it is not read, the transfer waits.
        public let body: CurlewResponse.Body

        /// The `name` of Content-Disposition.
        public var name: String? { disposition?.name }

        /// The file name of Content-Disposition: `filename*` if it can be read, else `filename`. It is what the peer says: never
        /// use it as a path.
        public var fileName: String? { disposition?.fileName }

        /// Content-Type as ``ContentType/init(contentTypeOf:)`` reads it.
        public var mediaType: ContentType? { ContentType(contentTypeOf: fields) }

        /// The parts of this part, which must be multipart itself.
        /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` if its Content-Type is not multipart or has no boundary.
        public func multipart(limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits())
            throws -> CurlewResponse.MultipartParts
        {
            try body.multipart(mediaType, limits: limits)
        }

        private var disposition: ContentDisposition? { ContentDisposition(of: fields) }
    }
}

extension CurlewResponse.MultipartParts {
    /// The bounds of what a reader of multipart bodies holds. Bodies of parts are streamed and have none.
    public struct Limits: Sendable, Hashable {
        /// The most bytes in the fields of one part, line ends included. 16 KiB by default.
        public var headSize: ByteSize = .kibibytes(16)
        /// The most fields of one part. 100 by default.
        public var fieldCount = 100
        /// The most bytes that are read behind the last part, so that the connection can be used again. 64 KiB by default;
        /// beyond it the connection is closed.
        public var epilogueSize: ByteSize = .kibibytes(64)

        public init() {}
    }
}
