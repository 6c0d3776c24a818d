internal import Dispatch
internal import HTTPTypes

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

    /// Whether there is a file among the parts.
    var hasFiles: Bool {
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
        guard let error = error as? CurlewError else {
            return CurlewError(.bodyFailed, "\(place) failed", underlying: error)
        }
        return CurlewError(error.code, "\(place): \(error.message)", underlying: error.underlying)
    }
}
