internal import HTTPTypes

/// A part of a form that is to be sent: its fields as bytes, and where its body comes from.
struct FormPart: Sendable {
    enum Content: Sendable {
        /// In memory: goes out together with what stands around it.
        case bytes([UInt8])
        /// A file, which must stay as it is.
        case file(WatchedFile)
        /// Anything else.
        case stream(RequestBody)
    }

    /// The fields, each with its line end, and the empty line.
    let head: [UInt8]
    let content: Content
    /// For error messages.
    let name: String

    init(name: String, fields: HTTPFields, content: Content) {
        self.name = name
        self.content = content
        var head: [UInt8] = []
        for field in fields {
            head += Array(field.name.rawName.utf8)
            head += [.colon, .space]
            field.withUnsafeBytesOfValue { head += $0 }
            head += [.carriageReturn, .lineFeed]
        }
        self.head = head + [.carriageReturn, .lineFeed]
    }

    /// The bytes of the body, if that is known.
    var length: Int64? {
        switch content {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.length
        case .stream(let body): body.length
        }
    }

    var isReplayable: Bool {
        if case .stream(let body) = content { body.isReplayable } else { true }
    }

    /// The chunks of the body, except of bytes.
    func chunks() async throws -> RequestBody.Stream {
        switch content {
        case .bytes(let bytes): try await RequestBody.bytes(bytes).stream()
        case .file(let file): WatchedFileChunks(file: file)
        case .stream(let body): try await body.stream()
        }
    }
}
