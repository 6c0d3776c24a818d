public import HTTPTypes

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

    /// Appends a body of any kind: bytes as a file, a range of a file, a stream.
    ///
    /// A stream of unknown length makes the whole form go out without Content-Length; one that yields more or less than it
    /// promised is ``ErrorCode/bodyLengthMismatch`` before the first byte too many. `RequestBody.once(length:_:)` makes the
    /// form one that cannot be sent again.
    /// - Parameters:
    ///   - body: The part's bytes. Of a file, size and place are taken now, as by ``append(file:name:fileName:contentType:range:)``.
    ///   - name: The name of the form's field.
    ///   - fileName: The name of the file that the part stands for.
    ///   - contentType: The media type. nil stands for the one that belongs to the extension of `fileName`, else
    ///     `application/octet-stream`; a part without file name has none.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a Content-Type with control characters or a length
    ///   below zero; ``ErrorCode/bodyFailed`` and ``ErrorCode/bodyLengthMismatch`` for a file.
    public mutating func append(
        _ body: RequestBody, name: String, fileName: String? = nil, contentType: String? = nil
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
    public mutating func append(_ body: RequestBody, fields: HTTPFields) throws {
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

    private static func content(of body: RequestBody) throws -> FormPart.Content {
        switch body.source {
        case .none: .bytes([])
        case .bytes(let bytes): .bytes(bytes)
        case .file(let path, let offset, let length):
            .file(try WatchedFile(path: path, range: fileRange(offset: offset, length: length, path: path)))
        case .watched(let file): .file(file)
        case .factory, .once: .stream(body)
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
