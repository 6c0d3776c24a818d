internal import Dispatch
public import HTTPTypes

/// A `multipart/form-data` body (RFC 7578), composed part by part.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Numenius arquata", name: "species")
/// try form.append(file: "/srv/photos/curlew.jpg", name: "photo")
/// let response = try await api.post("sightings", .multipart(form))
/// ```
///
/// The form is a value. Only parts that were given as bytes are in memory; other parts are read in chunks while they
/// are sent. The body has a Content-Length if the length of every part is known; otherwise it is sent chunked. It can
/// be sent again if every part can.
///
/// The parts are in the order of the calls, separated by ``boundary``. Parts are not searched for a random boundary:
/// the chance that they contain it is that of guessing a number of 64 bits. For a boundary of your own, parts are
/// searched while they are sent: a part with a line that begins with it is ``ErrorCode/bodyFailed``.
public struct MultipartFormData: Sendable {
    let delimiter: MultipartBoundary
    private(set) var parts: [FormPart] = []
    /// The length of heads, bodies and delimiters without the closing one; nil if any length is unknown.
    private var partsLength: Int64? = 0

    /// True if parts that are appended later get `filename*` (RFC 8187) after `filename`, for non-ASCII file names.
    /// False by default: RFC 7578 §4.2 advises against `filename*`, and browsers and most servers use the bytes of
    /// `filename` as UTF-8.
    public var addsExtendedFileNames = false

    /// The rate at which the body is sent; unlimited by default.
    public var throttle: MultipartFormData.Throttle?
    /// The JSON dialect of ``append(json:name:)``. A verb sets its session's dialect for the closure of
    /// ``CurlewRequest/Content/multipart(parameters:_:)``.
    public var json = JSONCoding()

    /// Creates a form without parts, with a random boundary: `Boundary+` and 16 hexadecimal digits.
    public init() { delimiter = .random() }

    /// Creates a form without parts.
    /// - Parameter boundary: The boundary between the parts. No line of a part may begin with it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` unless it has 1 to 70 of the characters that RFC
    ///   2046 §5.1.1 allows.
    public init(boundary: String) throws { delimiter = try MultipartBoundary(boundary) }

    /// A copy of the form without its parts, with the same boundary and settings.
    var withoutParts: MultipartFormData {
        var form = self
        form.parts = []
        form.partsLength = 0
        return form
    }

    /// The boundary between the parts.
    public var boundary: String { delimiter.text }

    /// The Content-Type of the body, with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(MediaTypeParser.quotedIfNeeded(boundary))" }

    /// The number of parts.
    public var count: Int { parts.count }

    /// True if there are no parts.
    public var isEmpty: Bool { parts.isEmpty }

    /// The length of the complete body; nil if that of any part is unknown.
    public var length: Int64? { partsLength.map { $0 + Int64(delimiter.closing(isFirst: isEmpty).count) } }

    /// Appends a part that was checked, or is in memory.
    mutating func append(_ part: FormPart) {
        let frame = Int64(delimiter.opening(isFirst: isEmpty).count + part.head.count)
        partsLength = partsLength.flatMap { sum in part.length.map { sum + frame + $0 } }
        parts.append(part)
    }

    /// Appends all the parts of another form.
    mutating func append(contentsOf other: MultipartFormData) throws {
        for part in other.parts { try append(checking: part) }
    }

    /// Appends a part with a promised length.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a negative length, or too large a sum. The limit
    ///   of half the largest integer leaves room for parts in memory.
    mutating func append(checking part: FormPart) throws {
        if let length = part.length {
            guard length >= 0, length <= Int64.max / 2 - min(partsLength ?? 0, Int64.max / 2) else {
                throw CurlewError(.invalidRequest, "the length of a part is not one that can be sent")
            }
        }
        append(part)
    }
}

extension MultipartFormData {
    /// Appends text: `Content-Disposition: form-data; name="…"` and the UTF-8 bytes.
    ///
    /// In every `name` and `fileName`, `"` becomes `%22`, CR `%0D`, LF `%0A`; other control characters are escaped in
    /// the same way, and non-ASCII text is sent as UTF-8. These are the WHATWG's rules for forms of browsers.
    public mutating func append(_ text: String, name: String) { append(Array(text.utf8), name: name) }

    /// Appends bytes without a Content-Type.
    public mutating func append(_ bytes: [UInt8], name: String) {
        let fields: HTTPFields = [.contentDisposition: disposition(name, nil)]
        append(FormPart(name: name, fields: fields, content: .bytes(bytes)))
    }

    /// Appends a value as JSON, with the Content-Type `application/json`, in the dialect of ``json``.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``. Then the form is unchanged.
    public mutating func append(json value: some Encodable & Sendable, name: String) throws {
        let bytes = try throwingCurlewErrors { try json.encode(value) }
        let fields: HTTPFields = [.contentDisposition: disposition(name, nil), .contentType: "application/json"]
        append(FormPart(name: name, fields: fields, content: .bytes(bytes)))
    }

    /// Appends a body of any kind: bytes as a file, a range of a file, a stream.
    ///
    /// A stream of unknown length makes the form be sent without Content-Length. A stream that yields more or fewer
    /// bytes than it promised is ``ErrorCode/bodyLengthMismatch``, before the first extra byte is sent. With
    /// `CurlewRequest.Body.once(length:_:)` the form cannot be sent again.
    /// - Parameters:
    ///   - body: The bytes of the part. The size and identity of a file are recorded now, as by
    ///     ``append(file:name:fileName:contentType:range:)``.
    ///   - name: The name of the form's field.
    ///   - fileName: The name of the file that the part represents.
    ///   - contentType: The media type. nil selects the type for the extension of `fileName`, or
    ///     `application/octet-stream` if it is unknown; a part without a file name has none.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a Content-Type with control characters or a
    ///   negative length; ``ErrorCode/bodyFailed`` and ``ErrorCode/bodyLengthMismatch`` for a file.
    public mutating func append(
        _ body: CurlewRequest.Body, name: String, fileName: String? = nil, contentType: String? = nil
    ) throws {
        var fields: HTTPFields = [.contentDisposition: disposition(name, fileName)]
        if let type = contentType ?? fileName.map(Self.contentType(forFileNamed:)) {
            fields.append(try PartFields.contentType(type))
        }
        try append(checking: FormPart(name: name, fields: fields, content: Self.content(of: body)))
    }

    /// Appends a part with your own fields and no others: for parts that are not fields of a form, or that are
    /// multipart themselves.
    /// - Parameters:
    ///   - body: The bytes of the part.
    ///   - fields: Its fields, in order.
    /// - Throws: ``CurlewError`` as the other methods; ``ErrorCode/invalidRequest`` for a field with a control
    ///   character.
    public mutating func append(_ body: CurlewRequest.Body, fields: HTTPFields) throws {
        for field in fields { try PartFields.check(field) }
        try append(checking: FormPart(name: "", fields: fields, content: Self.content(of: body)))
    }

    /// The media type for a file name, by its extension; `application/octet-stream` for an unknown one.
    ///
    /// The table is Debian's list of media types, with some 1,500 extensions.
    public static func contentType(forFileNamed fileName: String) -> String {
        FileExtensionTable.mediaType(forFileNamed: fileName) ?? "application/octet-stream"
    }

    func disposition(_ name: String, _ fileName: String?) -> String {
        PartDisposition(name: name, fileName: fileName, hasExtendedFileName: addsExtendedFileNames).value
    }

    private static func content(of body: CurlewRequest.Body) throws -> FormPart.Content {
        switch body.source {
        case .none: .bytes([])
        case .bytes(let bytes): .bytes(bytes)
        case .file(let path, let offset, let length):
            .file(try WatchedFile(path: path, range: fileRange(offset: offset, length: length, path: path)))
        case .watched(let file): .file(file)
        case .factory, .once, .relayed: .stream(body)
        }
    }

    private static func fileRange(offset: Int64, length: Int64?, path: String) throws -> Range<Int64>? {
        if offset == 0, length == nil { return nil }
        let end: Int64
        if let length {
            let (sum, isTooLarge) = offset.addingReportingOverflow(length)
            guard length >= 0, !isTooLarge else {
                throw CurlewError(.invalidRequest, "the range of the file is not valid")
            }
            end = sum
        } else {
            end = try CurlewError.naming(path) { try FileSnapshot(path: path).size }
        }
        guard offset <= end else {
            throw CurlewError(.bodyLengthMismatch, "the file is shorter than the range to be sent").naming(path)
        }
        return offset..<end
    }
}

extension MultipartFormData {
    /// Appends a file.
    ///
    /// The file's size is recorded now. The file is opened each time that the form is sent, when its part begins, and
    /// is read 256 KiB at a time, off the event loop. The body fails before its first byte if by then the file is
    /// missing, modified or replaced. If the form is not yet part of a request, the call fails before any byte is sent.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The name of the form's field.
    ///   - fileName: The file name for the server; the last component of `path` by default.
    ///   - contentType: The media type; by default the one for the extension of the file name, as from
    ///     ``contentType(forFileNamed:)``.
    ///   - range: The bytes to send; nil selects all. A file of which a range is sent may grow and be modified.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that is missing, unreadable, or a directory,
    ///   pipe or device; ``ErrorCode/bodyLengthMismatch`` for one that is shorter than the range;
    ///   ``ErrorCode/invalidRequest`` for a Content-Type with control characters. Then the form is unchanged.
    public mutating func append(
        file path: String, name: String, fileName: String? = nil, contentType: String? = nil,
        range: Range<Int64>? = nil
    ) throws {
        let fileName = fileName ?? Self.lastComponent(of: path)
        let file = try WatchedFile(path: path, range: range)
        let type = try PartFields.contentType(contentType ?? Self.contentType(forFileNamed: fileName))
        try append(
            checking: FormPart(
                name: name,
                fields: HTTPFields([HTTPField(name: .contentDisposition, value: disposition(name, fileName)), type]),
                content: .file(file)))
    }

    private static func lastComponent(of path: String) -> String {
        path.utf8.split(separator: .slash).last.flatMap { String($0) } ?? path
    }

    /// True if any part is a file.
    private var hasFiles: Bool {
        parts.contains { part in
            if case .file = part.content { true } else { false }
        }
    }

    /// Checks every file again without blocking one of Swift's threads.
    func verifyFilesApart() async throws {
        guard hasFiles else { return }
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "curlew.file").async {
                continuation.resume(with: Result { try verifyFiles() })
            }
        }
    }

    /// Checks every file again, so that a form with a changed file fails before its request is sent.
    func verifyFiles() throws {
        for (index, part) in parts.enumerated() {
            guard case .file(let file) = part.content else { continue }
            do { try file.verify() } catch { throw part.error(error, at: index) }
        }
    }
}

extension FormPart {
    /// An error of the part's body, with the number of the part in the message.
    func error(_ error: any Error, at index: Int) -> CurlewError {
        let place = "part \(index + 1)\(name.isEmpty ? "" : " (\(URIParser.printable(name)))") of the form"
        guard let error = CurlewError.adopting(error) as? CurlewError else {
            return CurlewError(.bodyFailed, "\(place) failed", underlying: error)
        }
        return CurlewError(error.code, "\(place): \(error.message)", underlying: error.underlying).naming(error.path)
    }
}

extension MultipartFormData {
    /// Appends a tree of parameters, one part for each of its values.
    ///
    /// The names are those of a form's pairs, in the same order, unescaped: `user[name]`. Data is sent as bytes, null
    /// as an empty part, any other value as text.
    /// - Parameters:
    ///   - parameters: The tree; its top must be a dictionary.
    ///   - style: The style of names and texts.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for a value that cannot be written. Then the form is
    ///   unchanged.
    public mutating func append(parameters: ParameterValue, style: RequestParameters.Style = RequestParameters.Style())
        throws
    {
        var copy = self
        for pair in try style.pairs(of: parameters) {
            if case .data(let bytes) = pair.value {
                copy.append(bytes, name: pair.name)
            } else {
                copy.append(try style.text(of: pair) ?? "", name: pair.name)
            }
        }
        self = copy
    }

    /// Appends the parameters of an `Encodable` value.
    /// - Parameters:
    ///   - value: The value.
    ///   - style: The style of names and texts.
    ///   - encoder: The encoder that turns the value into a tree.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``. Then the form is unchanged.
    public mutating func append(
        parameters value: some Encodable & Sendable, style: RequestParameters.Style = RequestParameters.Style(),
        encoder: ParameterEncoder = ParameterEncoder()
    ) throws {
        try append(parameters: throwingCurlewErrors { try encoder.encode(value) }, style: style)
    }
}

extension MultipartFormData {
    /// The form as a body for any request, with ``contentType`` as its Content-Type.
    ///
    /// It is read while it is sent, in chunks of at most 256 KiB unless a stream of yours yields larger ones. A form
    /// without parts consists of the closing delimiter, `--boundary--`.
    public var body: CurlewRequest.Body {
        let body = plainBody
        guard let throttle else { return body }
        return body.paced(by: throttle, length: body.length)
    }

    /// Writes the form to a file and returns a body that sends the file; see ``CurlewRequest/Body/spooled(to:)``.
    /// ``throttle`` limits the sending, not the writing.
    public func spooled(to path: String) async throws -> CurlewRequest.Body {
        let body = try await plainBody.spooled(to: path)
        guard let throttle else { return body }
        return body.paced(by: throttle, length: body.length)
    }

    private var plainBody: CurlewRequest.Body {
        let chunks = FormChunks(form: self)
        guard parts.allSatisfy(\.isReplayable) else { return .once(length: length, chunks) }
        return .stream(length: length) { chunks }
    }
}

extension CurlewRequest.Body {
    /// A form as a body; the request needs ``MultipartFormData/contentType`` as well.
    public static func multipart(_ form: MultipartFormData) -> CurlewRequest.Body { form.body }
}
