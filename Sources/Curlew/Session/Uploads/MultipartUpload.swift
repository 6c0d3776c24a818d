public import HTTPTypes

/// An upload in parts by presigned URLs, as S3 and what is like it have them: the upload is created, its parts are sent side by side, and
/// then it is completed.
///
/// Whoever has the credentials, such as a server of one's own, makes the URLs; they expire, and are asked for again where they have.
///
/// ```swift
/// let multipart = MultipartUpload { step in try await backend.presign(step) }
/// let receipt = try await http.upload(file: "/data/film.mp4", multipart: multipart)
/// ```
public struct MultipartUpload: Sendable {
    /// What a URL is for.
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

    /// What came of an upload.
    public struct Receipt: Sendable, Hashable {
        /// The tag of the whole, if the server has said one.
        public let entityTag: String?
        /// The fields of the last answer.
        public let fields: HTTPFields
    }

    /// The presigned URL of a step.
    public var url: @Sendable (Step) async throws -> String
    /// The bytes of a part, 5 MiB at least, but for the last one. 16 MiB by default; more where it would be more than 10,000 parts.
    public var partSize: ByteSize = .mebibytes(16)
    /// The parts that are sent at a time. 4 by default.
    public var parallelParts = 4

    public init(url: @escaping @Sendable (Step) async throws -> String) { self.url = url }

    func uri(_ step: Step) async throws -> CurlewURI {
        let text: String
        do { text = try await url(step) } catch let error as CurlewError { throw error } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw CurlewError(.invalidURL, "the URL of a step could not be had", underlying: error)
        }
        return try CurlewURI(text)
    }
}

extension HTTPSession {
    /// Uploads a file in parts by presigned URLs, and goes on with ``ResumableUpload/Options/token`` where one broke off.
    ///
    /// A part whose URL has expired (403) is sent again by a new one. One that has failed is sent again from its start. An upload that has
    /// failed stays on the server until it is resumed, or given up by ``discard(_:multipart:)``.
    /// - Parameters:
    ///   - path: The file.
    ///   - multipart: Its URLs and its parts.
    ///   - upload: How it is made. Its ``ResumableUpload/Options/metadata`` and checksums are for other protocols.
    ///   - options: Options of each request.
    ///   - progress: Called with the newest progress, on no executor in particular.
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

    /// Gives up an upload in parts, so that the server need not keep what it has.
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
