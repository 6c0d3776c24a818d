internal import HTTPTypes

/// An upload in parts by presigned URLs.
struct MultipartRun: Sendable {
    private static let answerLimit: ByteSize = .mebibytes(1)
    /// The greatest number of consecutive new URLs after a 403. A further 403 has another reason than the age of the
    /// URL.
    private static let expiries = 3

    let sender: UploadSender
    let multipart: MultipartUpload
    let settings: ResumableUpload.Options

    private var journal: UploadJournal { sender.journal }

    /// The URL without its signature.
    static func target(of uri: CurlewURI) throws -> CurlewURI {
        try CurlewURI("\(uri.scheme)://\(uri.authority)\(uri.path)")
    }

    func run() async throws -> MultipartUpload.Receipt {
        var patience = UploadPatience(settings)
        while true {
            do {
                let upload = try await start()
                try await sendParts(upload)
                return try await complete(upload)
            } catch let error as CurlewError where error.response?.status == .notFound {
                // The server has forgotten the upload, so it restarts.
                try patience.restart(after: error)
                for index in 0..<journal.partCount { journal.restart(index) }
                journal.speak(.undecided)
            }
        }
    }

    /// - Returns: The name of the upload.
    private func start() async throws -> String {
        if case .multipart(let upload) = journal.dialect { return upload }
        let (_, body) = try await trying { _ in
            try await sender.send(UploadStep(method: .post, fields: HTTPFields()), to: try await uri(.create))
        }
        guard let upload = Self.element("UploadId", in: body), !upload.isEmpty else {
            throw CurlewError(.invalidResponse, "the answer has no UploadId")
        }
        let size = max(Int64(multipart.partSize.bytes), (journal.length + 9_999) / 10_000)
        var parts: [UploadPart] = []
        repeat {
            let start = parts.reduce(0) { $0 + $1.length }
            parts.append(UploadPart(start: start, length: min(size, journal.length - start)))
        } while (parts.last.map { $0.start + $0.length } ?? 0) < journal.length
        try journal.begin(.multipart(upload), parts)
        // From here on the server has parts that must be aborted if the upload fails.
        try await journal.change(0) { _ in }
        return upload
    }

    // MARK: Parts

    private func sendParts(_ upload: String) async throws {
        let left = (0..<journal.partCount).filter { journal.part($0).tag == nil }
        try await withThrowingTaskGroup { group in
            var next = left.makeIterator()
            for _ in 0..<max(1, multipart.parallelParts) {
                if let index = next.next() { group.addTask { try await sendPart(index, upload) } }
            }
            while try await group.next() != nil {
                if let index = next.next() { group.addTask { try await sendPart(index, upload) } }
            }
        }
    }

    private func sendPart(_ index: Int, _ upload: String) async throws {
        let part = journal.part(index)
        let (response, _) = try await trying { _ in
            try journal.verifyFile()
            return try await sender.send(
                UploadStep(method: .put, fields: HTTPFields(), carriesBytes: true),
                to: try await uri(.part(index + 1, upload: upload)), .init(part: index, offset: 0, count: part.length))
        }
        guard let tag = response.fields[.eTag], journal.most(index) == part.length else {
            throw CurlewError(.invalidResponse, "the server has a part, but did not send its tag")
        }
        try journal.verifyFile()
        try await journal.change(index) { part in
            part.tag = tag
            part.offset = part.length
        }
    }

    private func complete(_ upload: String) async throws -> MultipartUpload.Receipt {
        try journal.verifyFile()
        let list = (0..<journal.partCount).map { index in
            "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(Self.escaped(journal.part(index).tag ?? ""))</ETag></Part>"
        }
        let step = UploadStep(
            method: .post, fields: [.contentType: "application/xml"],
            content: Array("<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>".utf8))
        var hasBeenSent = false
        do {
            let (response, body) = try await trying { tries in
                hasBeenSent = tries > 0
                return try await sender.send(step, to: try await uri(.complete(upload: upload)))
            }
            guard Self.element("CompleteMultipartUploadResult", in: body) != nil else {
                throw CurlewError(.invalidResponse, "the answer does not confirm that the upload is complete")
            }
            return .init(entityTag: Self.element("ETag", in: body), fields: response.fields)
        } catch let error as CurlewError where error.response?.status == .notFound && hasBeenSent {
            // The first request, whose response was lost, may have completed the upload. Otherwise another client has
            // aborted it.
            throw CurlewError(
                .outcomeUnknown, "the answer to the completion was lost, and the upload no longer exists")
        }
    }

    // MARK: Requests

    private func uri(_ step: MultipartUpload.Step) async throws -> CurlewURI {
        try await multipart.uri(step)
    }

    /// Sends a request until a response succeeds, with a new URL each time.
    private func trying(
        _ send: (_ tries: Int) async throws -> CurlewResponse
    ) async throws -> (CurlewResponse, String) {
        var patience = UploadPatience(settings)
        var tries = 0
        var forbidden = 0
        while true {
            var hasFailed = false
            do {
                try Task.checkCancellation()
                let response = try await send(tries)
                guard response.status.kind == .successful else { throw await sender.refusal(response) }
                let body = String(decoding: try await response.body.collect(upTo: Self.answerLimit), as: UTF8.self)
                // S3 begins the response to a completion before it knows the result.
                hasFailed = Self.element("Error", in: body) != nil
                guard !hasFailed else {
                    throw CurlewError(
                        .invalidResponse, "the server has failed: \(Self.element("Code", in: body) ?? "")")
                }
                return (response, body)
            } catch let error as CurlewError {
                tries += 1
                let status = error.response?.status.code
                forbidden = status == 403 ? forbidden + 1 : 0
                try await patience.wait(
                    after: error,
                    isWorth: error.isWorthRepeating || (1...Self.expiries).contains(forbidden) || (status ?? 0) >= 500
                        || hasFailed)
            }
        }
    }

    // MARK: XML

    /// The text of the first element with a name. The element must not contain another one of the same name.
    ///
    /// Bytes are searched: in Swift's text a delimiter and a combining mark after it are one character.
    private static func element(_ name: String, in text: String) -> String? {
        let bytes = Array(text.utf8)
        let greater = UInt8(ascii: ">")
        guard let open = bytes.firstRange(of: Array("<\(name)".utf8)),
            let start = bytes[open.upperBound...].firstIndex(of: greater),
            bytes[open.upperBound] == greater || bytes[open.upperBound] == .space,
            let end = bytes[start...].firstRange(of: Array("</\(name)>".utf8))
        else { return nil }
        var value = Array(bytes[(start + 1)..<end.lowerBound])
        for (entity, character) in [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&")] {
            value = value.replacing(entity.utf8, with: character.utf8)
        }
        return String(decoding: value, as: UTF8.self)
    }

    private static func escaped(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for (character, entity) in [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")] {
            bytes = bytes.replacing(character.utf8, with: entity.utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
