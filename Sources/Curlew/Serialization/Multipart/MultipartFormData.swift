internal import Dispatch
public import HTTPTypes

/// A `multipart/form-data` body (RFC 7578), put together part by part.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Numenius arquata", name: "species")
/// try form.append(file: "/srv/photos/curlew.jpg", name: "photo")
/// let response = try await api.post("sightings", multipart: form)
/// ```
///
/// It is a value: the parts are in memory only if they were given as bytes, everything else is read while it is sent, a
/// chunk at a time. The body has a Content-Length if the length of every part is known; else it goes out chunked. It can be
/// sent again if every part can.
///
/// Parts stand in the order of the calls. Between them stands ``boundary``; that bytes of a part hold it by chance is as
/// likely as to guess a number of 64 bits, so they are not searched for it. For a boundary of your own they are, as they
/// are sent: a part with a line that begins with it is ``ErrorCode/bodyFailed``.
public struct MultipartFormData: Sendable {
    let delimiter: MultipartBoundary
    private(set) var parts: [FormPart] = []
    /// The bytes of heads, bodies and all between them, but for the end; nil as soon as one length is not known.
    private var partsLength: Int64? = 0

    /// Adds `filename*` (RFC 8187) behind `filename` for file names that are not ASCII, in parts appended from now on.
    /// Off by default: RFC 7578 §4.2 does not want it, and browsers and most servers use the bytes of `filename` as UTF-8.
    public var addsExtendedFileNames = false

    /// The pace at which the body is sent; as fast as it goes by default.
    public var throttle: MultipartFormData.Throttle?
    /// The dialect of JSON that ``append(json:name:)`` writes. A verb sets that of its session for the closure of
    /// ``CurlewRequest/Content/multipart(parameters:_:)``.
    public var json = JSONCoding()

    /// A form without parts, with a boundary of its own: `Boundary+` and 16 hexadecimal digits.
    public init() { delimiter = .random() }

    /// A form without parts.
    /// - Parameter boundary: What stands between the parts. No line of a part may begin with it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` unless it has 1 to 70 of the characters that RFC 2046
    ///   §5.1.1 allows.
    public init(boundary: String) throws { delimiter = try MultipartBoundary(boundary) }

    /// The same form without its parts: boundary and settings.
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

    /// The bytes of the whole body; nil if that of one part is not known.
    public var length: Int64? { partsLength.map { $0 + Int64(delimiter.closing(isFirst: isEmpty).count) } }

    /// Appends a part that was checked, or is in memory.
    mutating func append(_ part: FormPart) {
        let frame = Int64(delimiter.opening(isFirst: isEmpty).count + part.head.count)
        partsLength = partsLength.flatMap { sum in part.length.map { sum + frame + $0 } }
        parts.append(part)
    }

    /// All the parts of another form behind those of this one.
    mutating func append(contentsOf other: MultipartFormData) throws {
        for part in other.parts { try append(checking: part) }
    }

    /// Appends a part whose length somebody promised.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a length that is none, or too much together. Half of
    ///   all numbers is left for what is in memory.
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
    /// In every `name` and `fileName`, `"` becomes `%22`, CR `%0D`, LF `%0A`, other control characters alike, and what is
    /// not ASCII goes out as UTF-8: the WHATWG's rules, by which browsers send forms.
    public mutating func append(_ text: String, name: String) { append(Array(text.utf8), name: name) }

    /// Appends bytes without Content-Type.
    public mutating func append(_ bytes: [UInt8], name: String) {
        let fields: HTTPFields = [.contentDisposition: disposition(name, nil)]
        append(FormPart(name: name, fields: fields, content: .bytes(bytes)))
    }

    /// Appends a value as JSON, with the Content-Type `application/json`, in the dialect of ``json``.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``. The form is as it was then.
    public mutating func append(json value: some Encodable & Sendable, name: String) throws {
        let bytes = try throwingCurlewErrors { try json.encode(value) }
        let fields: HTTPFields = [.contentDisposition: disposition(name, nil), .contentType: "application/json"]
        append(FormPart(name: name, fields: fields, content: .bytes(bytes)))
    }

    /// Appends a body of any kind: bytes as a file, a range of a file, a stream.
    ///
    /// A stream of unknown length makes the whole form go out without Content-Length; one that yields more or less than it
    /// promised is ``ErrorCode/bodyLengthMismatch`` before the first byte too many. `CurlewRequest.Body.once(length:_:)` makes the
    /// form one that cannot be sent again.
    /// - Parameters:
    ///   - body: The part's bytes. Of a file, size and place are taken now, as by
    /// ``append(file:name:fileName:contentType:range:)``.
    ///   - name: The name of the form's field.
    ///   - fileName: The name of the file that the part stands for.
    ///   - contentType: The media type. nil stands for the one that belongs to the extension of `fileName`, else
    ///     `application/octet-stream`; a part without file name has none.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a Content-Type with control characters or a length
    ///   below zero; ``ErrorCode/bodyFailed`` and ``ErrorCode/bodyLengthMismatch`` for a file.
    public mutating func append(
        _ body: CurlewRequest.Body, name: String, fileName: String? = nil, contentType: String? = nil
    ) throws {
        var fields: HTTPFields = [.contentDisposition: disposition(name, fileName)]
        if let type = contentType ?? fileName.map(Self.contentType(forFileNamed:)) {
            fields.append(try PartFields.contentType(type))
        }
        try append(checking: FormPart(name: name, fields: fields, content: Self.content(of: body)))
    }

    /// Appends a part with fields of one's own and nothing added: for parts that belong to no form's field, or that are
    /// multipart themselves.
    /// - Parameters:
    ///   - body: The part's bytes.
    ///   - fields: Its fields, in their order.
    /// - Throws: ``CurlewError`` as the other ways to append; ``ErrorCode/invalidRequest`` for a field with a control
    ///   character.
    public mutating func append(_ body: CurlewRequest.Body, fields: HTTPFields) throws {
        for field in fields { try PartFields.check(field) }
        try append(checking: FormPart(name: "", fields: fields, content: Self.content(of: body)))
    }

    /// The media type for a file's name, by its extension: `application/octet-stream` for what is not known.
    ///
    /// The table is Debian's list of media types, some 1,500 extensions.
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
                throw CurlewError(.invalidRequest, "the range of the file is not one")
            }
            end = sum
        } else {
            end = try FileSnapshot(path: path).size
        }
        guard offset <= end else {
            throw CurlewError(.bodyLengthMismatch, "the file is shorter than the range to be sent")
        }
        return offset..<end
    }
}

extension MultipartFormData {
    /// Appends a file.
    ///
    /// Its size is taken now; it is opened when its turn comes, each time that the form is sent, and read 256 KiB at a time,
    /// off the event loop. If by then it is gone, has another size, was modified, or another file is in its place, the body
    /// fails before a byte of it, and before anything was sent if the form is still to be put into a request.
    /// - Parameters:
    ///   - path: Where the file is.
    ///   - name: The name of the form's field.
    ///   - fileName: The file's name as the server sees it; the last part of `path` unless said otherwise.
    ///   - contentType: The media type; the one that belongs to the extension of the file's name unless said otherwise, as
    ///     by ``contentType(forFileNamed:)``.
    ///   - range: The bytes to send; nil stands for all. A file that a range is sent of may grow and be modified.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that is not there, cannot be read, or is a folder,
    ///   a pipe or a device; ``ErrorCode/bodyLengthMismatch`` for one that does not reach as far as the range;
    ///   ``ErrorCode/invalidRequest`` for a Content-Type with control characters. The form is as it was then.
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
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// True if there is a file among the parts.
    private var hasFiles: Bool {
        parts.contains { part in
            if case .file = part.content { true } else { false }
        }
    }

    /// Looks at every file again without holding up one of Swift's threads.
    func verifyFilesApart() async throws {
        guard hasFiles else { return }
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "curlew.file").async {
                continuation.resume(with: Result { try verifyFiles() })
            }
        }
    }

    /// Looks at every file again, so that a form that cannot be sent any more fails before its request is.
    func verifyFiles() throws {
        for (index, part) in parts.enumerated() {
            guard case .file(let file) = part.content else { continue }
            do { try file.verify() } catch { throw part.error(error, at: index) }
        }
    }
}

extension FormPart {
    /// An error of the part's body, with the part's place in the message.
    func error(_ error: any Error, at index: Int) -> CurlewError {
        let place = "part \(index + 1)\(name.isEmpty ? "" : " (\(URIParser.printable(name)))") of the form"
        guard let error = CurlewError.adopting(error) as? CurlewError else {
            return CurlewError(.bodyFailed, "\(place) failed", underlying: error)
        }
        return CurlewError(error.code, "\(place): \(error.message)", underlying: error.underlying)
    }
}

extension MultipartFormData {
    /// Appends a tree of parameters, a part for each of its values.
    ///
    /// The names are those of a form's pairs, in the same order, unescaped: `user[name]`. Data goes out as its bytes,
    /// null as an empty part, everything else as its text.
    /// - Parameters:
    ///   - parameters: The tree; its top must be a dictionary.
    ///   - style: How the names and texts are written.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for what cannot be written. The form is as it was then.
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

    /// Appends the parameters that a value encodes itself as.
    /// - Parameters:
    ///   - value: The value.
    ///   - style: How the names and texts are written.
    ///   - encoder: What makes a tree of the value.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``. The form is as it was then.
    public mutating func append(
        parameters value: some Encodable & Sendable, style: RequestParameters.Style = RequestParameters.Style(),
        encoder: ParameterEncoder = ParameterEncoder()
    ) throws {
        try append(parameters: throwingCurlewErrors { try encoder.encode(value) }, style: style)
    }
}

extension MultipartFormData {
    /// The form as a body: for any request, with ``contentType`` as its Content-Type.
    ///
    /// It is read as it is sent: one chunk at a time, of 256 KiB at most unless a stream of yours yields larger ones. A form
    /// without parts is the end alone, `--boundary--`.
    public var body: CurlewRequest.Body {
        let body = plainBody
        guard let throttle else { return body }
        return body.paced(by: throttle, length: body.length)
    }

    /// Writes the form into a file and returns a body that sends the file; see ``CurlewRequest/Body/spooled(to:)``. The pace is
    /// that of the sending, not of the writing.
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
