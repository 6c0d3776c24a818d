public import HTTPTypes

/// An upload in parts by presigned URLs, as in S3 and compatible stores: the upload is created, its parts are sent in
/// parallel, and then it is completed.
///
/// The owner of the credentials, such as the program's own server, makes the URLs. They expire, and a new URL is
/// requested for each attempt.
///
/// ```swift
/// let multipart = MultipartUpload { step in try await backend.presign(step) }
/// let receipt = try await http.upload(file: "/data/film.mp4", multipart: multipart)
/// ```
public struct MultipartUpload: Sendable {
    /// The purpose of a URL.
    public enum Step: Sendable, Hashable {
        /// POST, with `uploads` in the query.
        case create
        /// PUT of a part; the first has the number 1.
        case part(Int, upload: String)
        /// POST with the list of parts.
        case complete(upload: String)
        /// DELETE.
        case abort(upload: String)
    }

    /// The result of an upload.
    public struct Receipt: Sendable, Hashable {
        /// The entity tag of the complete object, if the server has sent one.
        public let entityTag: String?
        /// The fields of the last response.
        public let fields: HTTPFields
    }

    /// The presigned URL of a step.
    public var url: @Sendable (Step) async throws -> String
    /// The size of a part: 5 MiB at least, except for the last one. 16 MiB by default; larger if the file would need
    /// more than 10,000 parts.
    public var partSize: ByteSize = .mebibytes(16)
    /// The number of parts that are sent at a time. 4 by default.
    public var parallelParts = 4

    public init(url: @escaping @Sendable (Step) async throws -> String) { self.url = url }

    func uri(_ step: Step) async throws -> CurlewURI {
        let text: String
        do { text = try await url(step) } catch let error as CurlewError { throw error } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw CurlewError(.invalidURL, "the URL of a step could not be obtained", underlying: error)
        }
        return try CurlewURI(text)
    }
}

extension HTTPSession {
    /// Uploads a file in parts by presigned URLs, and resumes an earlier upload by ``ResumableUpload/Options/token``.
    ///
    /// A part whose URL has expired (403) is sent again with a new URL. A failed part is sent again from its start. A
    /// failed upload stays on the server until it is resumed, or aborted by ``discard(_:multipart:)``.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - multipart: The URLs and the size of the parts.
    ///   - upload: The options of the upload. Its ``ResumableUpload/Options/metadata`` and checksums are for other
    ///     protocols.
    ///   - options: Options of each request.
    ///   - progress: Called with the newest progress, on an unspecified executor.
    /// - Throws: ``CurlewError``; with ``CurlewError/uploadToken``, if the upload can be resumed.
    public func upload(
        file path: String, multipart: MultipartUpload,
        upload: ResumableUpload.Options = ResumableUpload.Options(), options: RequestOptions = RequestOptions(),
        progress: (@Sendable (ResumableUpload.Progress) -> Void)? = nil
    ) async throws -> MultipartUpload.Receipt {
        guard multipart.partSize >= .mebibytes(5) else {
            throw CurlewError(.invalidRequest, "a part of an upload has 5 MiB at least")
        }
        var target = upload.token?.target
        if target == nil { target = try MultipartRun.target(of: try await multipart.uri(.create)) }
        guard let target else { throw CurlewError(.invalidURL, "the upload has no URL") }
        let journal = try UploadJournal(path: path, target: target, settings: upload, progress: progress)
        let sender = UploadSender(
            session: self, journal: journal, fields: HTTPFields(), options: options,
            allowsOtherOrigins: upload.allowsOtherOrigins)
        return try await journal.ending {
            try await MultipartRun(sender: sender, multipart: multipart, settings: upload).run()
        }
    }

    /// Aborts an upload in parts, so that the server can delete its parts.
    public func discard(_ token: UploadToken, multipart: MultipartUpload) async throws {
        guard case .multipart(let upload) = token.dialect else {
            throw CurlewError(.invalidResumeToken, "it is no upload in parts by presigned URLs")
        }
        let uri = try await multipart.uri(.abort(upload: upload))
        let response = try await delete(.uri(uri))
        await response.discard()
        guard response.status.kind == .successful || response.status == .notFound else {
            throw CurlewError(refusal: response, "status \(response.status.code) to the end of an upload")
        }
    }
}
