internal import HTTPTypes

/// The parts of a multipart body, in their order, as they arrive (RFC 2046 §5.1).
///
/// ```swift
/// for try await part in try response.multipart() {
///     print(part.name ?? "", try await part.body.collect(upTo: .mebibytes(1)).count)
/// }
/// ```
///
/// A delimiter is a line of its own; a line that only begins like one belongs to the part. Spaces and tabs behind it, 256 at
/// most, are passed over, and so is what stands before the first delimiter and behind the last. Lines end with CRLF, or all
/// of them with a bare LF: the first delimiter decides. Fields may be folded.
///
/// It can be read once, by one task at a time.
public struct MultipartParts: AsyncSequence, Sendable {
    public typealias Element = MultipartPart

    let reader: MultipartReader

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }

    /// Yields the parts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: MultipartReader

        /// The next part; nil behind the last. What was not read of the part before it is passed over.
        /// - Throws: ``CurlewError``: ``ErrorCode/responseTruncated`` if the body ends before its last boundary,
        ///   ``ErrorCode/decodingFailed`` for fields that cannot be read, ``ErrorCode/responseHeadTooLarge`` for more of them
        ///   than ``MultipartLimits`` allows, or what broke the body off.
        public mutating func next() async throws -> MultipartPart? { try await reader.nextPart() }
    }
}

extension ResponseBody {
    /// The parts of the body, which is multipart.
    /// - Parameters:
    ///   - boundary: What stands between the parts, as Content-Type has it.
    ///   - limits: The bounds of what is held.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for a boundary that is empty, longer than 256 bytes, or has
    ///   control characters.
    public func multipart(boundary: String, limits: MultipartLimits = MultipartLimits()) throws -> MultipartParts {
        let parser = try MultipartParser(boundary: boundary, limits: limits)
        return MultipartParts(reader: MultipartReader(body: self, parser: parser, limits: limits))
    }

    func multipart(_ type: MediaType?, limits: MultipartLimits) throws -> MultipartParts {
        guard let type, type.type == "multipart" else {
            throw CurlewError(.decodingFailed, "the Content-Type is not multipart")
        }
        guard let boundary = type["boundary"] else {
            throw CurlewError(.decodingFailed, "the Content-Type has no boundary")
        }
        return try multipart(boundary: boundary, limits: limits)
    }
}

extension Response {
    /// The parts of the body, with the boundary of Content-Type.
    /// - Parameter limits: The bounds of what is held.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` if Content-Type is not multipart or has no boundary.
    public func multipart(limits: MultipartLimits = MultipartLimits()) throws -> MultipartParts {
        do {
            return try body.multipart(mediaType, limits: limits)
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(uri: uri, stage: .receiving, response: head))
        }
    }
}
