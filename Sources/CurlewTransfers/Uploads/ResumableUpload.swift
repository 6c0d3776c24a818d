public import HTTPTypes

/// Uploads of files that resume after an interruption.
public enum ResumableUpload {
    /// The protocol by which client and server agree on the received bytes.
    public enum Dialect: Sendable, Hashable {
        /// The IETF's draft (draft-ietf-httpbis-resumable-upload, interop versions 6, 5 and 3). Its first request
        /// contains the file, so a server without support accepts it as a plain upload.
        case ietf
        /// The protocol tus 1.0 (tus.io).
        case tus
        /// The server is asked by OPTIONS. A server that declares tus gets tus, another one the IETF's draft, which
        /// falls back to a plain upload.
        case automatic
    }

    /// The options of an upload.
    public struct Options: Sendable {
        /// The token of an earlier upload to the same target, which is resumed; nil starts a new upload. Protocol and
        /// parts are those of the token, not those of the call.
        public var token: UploadToken?
        /// A file that keeps the newest token until the upload has ended; see ``UploadToken/init(contentsOf:)``.
        public var tokenFile: String?
        /// Keeps the newest token, before and after each request that sends bytes. An error of the closure ends the
        /// upload.
        public var keepToken: (@Sendable (UploadToken) async throws -> Void)?
        /// Metadata of the file, such as its name, by key: tus's Upload-Metadata. A key is ASCII without spaces and
        /// commas.
        public var metadata: [String: String] = [:]
        /// True if each request has a digest of its bytes, so that the server rejects damaged bytes. The field is
        /// Upload-Checksum for tus, if the server has that extension, and Content-Digest (RFC 9530) for the draft.
        /// Requests then contain up to ``partSize`` bytes.
        public var checksParts = false
        /// True if tokens contain a SHA-256 of the confirmed bytes. An upload that resumes reads these bytes of the
        /// file first. It rejects a changed file, even with the same size and date.
        public var digestsContent = false
        /// The greatest number of bytes of a request with ``checksParts``. 16 MiB by default, 64 KiB at least.
        public var partSize: ByteSize = .mebibytes(16)
        /// The number of parts of a file that are sent at a time, if the server can concatenate them (tus). 1 by
        /// default. Other servers get the file in one part.
        public var parallelParts = 1
        /// The retries. An attempt fails if the server confirms too few new bytes: less than 1 KiB, or less than a 64th
        /// of the sent bytes.
        ///
        /// - By default, 10 consecutive attempts may fail. A Retry-After of up to 5 minutes is obeyed, and the waits
        ///   double from 1 second to 1 minute.
        /// - All attempts together send up to eight times the length of the file plus 64 MiB; the next attempt fails
        ///   with ``ErrorCode/invalidResponse``.
        /// - The total time of a part begins with the part.
        public var retries = Retry.Policy(
            attempts: 10, backoff: Retry.Backoff(base: .seconds(1), maximum: .seconds(60)),
            retryAfterLimit: .seconds(300), totalTime: Timeouts.unlimited)
        /// The number of restarts of an upload that the server has forgotten (404, 410). 1 by default.
        public var restarts = 1
        /// True if the server may redirect the bytes to another origin than the target's. Fields with secrets are not
        /// sent there: fields that are known to be secret, and fields in ``RequestOptions/secretFields``. False by
        /// default: an upload on another origin is then ``ErrorCode/invalidResponse``, and a redirect of any request of
        /// the upload to another origin is ``ErrorCode/redirectRefused``.
        public var allowsOtherOrigins = false
        /// Called before a request that may create an upload twice if its response is lost.
        package var willCreate: (@Sendable () async throws -> Void)?

        public init() {}
    }

    /// The progress of an upload. Its counts decrease only after a restart.
    public struct Progress: Sendable, Hashable {
        /// The greatest number of bytes that the server has confirmed.
        public var confirmed: Int64
        /// The greatest number of sent bytes, including confirmed ones. Some of them may have to be sent again.
        public var sent: Int64
        public var total: Int64
        /// The number of restarts of the upload or of its parts.
        public var restarts: Int
    }
}

extension HTTPSession {
    /// Uploads a file, and resumes after an interruption.
    ///
    /// After a lost connection, or a response that requires it, the method queries the server's offset and sends the
    /// remaining bytes. The file must not change: a changed file fails with ``ErrorCode/bodyLengthMismatch``, and no
    /// further byte of it is sent.
    /// ```swift
    /// let response = try await api.upload(file: "/data/film.mp4", to: "films", resumable: .automatic)
    /// ```
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - reference: The URL that creates uploads, absolute or relative to ``baseURL``.
    ///   - dialect: The protocol.
    ///   - method: The method of the request that creates the upload; tus always uses POST.
    ///   - fields: Fields of each request.
    ///   - upload: The options of the upload.
    ///   - options: Options of each request.
    ///   - progress: Called with the newest progress, on an unspecified executor.
    /// - Returns: The response to the last bytes. If it was lost, the response to the offset request which showed that
    ///   all bytes had arrived.
    /// - Throws: ``CurlewError`` with ``CurlewError/uploadToken``, if the upload can be resumed.
    ///   ``ErrorCode/unsupported`` for a server that does not support the protocol; ``ErrorCode/invalidResponse`` for a
    ///   server that contradicts itself; ``ErrorCode/invalidResumeToken``, ``ErrorCode/bodyLengthMismatch``.
    public func upload(
        file path: String, to reference: URIReference, resumable dialect: ResumableUpload.Dialect,
        method: HTTPRequest.Method = .post, fields: HTTPFields = HTTPFields(),
        upload: ResumableUpload.Options = ResumableUpload.Options(), options: RequestOptions = RequestOptions(),
        progress: (@Sendable (ResumableUpload.Progress) -> Void)? = nil
    ) async throws -> CurlewResponse {
        let journal = try UploadJournal(
            path: path, target: reference.resolved(against: baseURL), settings: upload, progress: progress)
        let sender = UploadSender(
            session: self, journal: journal, fields: fields, options: options,
            allowsOtherOrigins: upload.allowsOtherOrigins)
        return try await journal.ending {
            try await UploadStart(sender: sender, method: method, settings: upload).run(dialect)
        }
    }

    /// Deletes an unfinished upload on the server. For an upload in parts by presigned URLs, use
    /// ``discard(_:multipart:)``.
    /// - Parameters:
    ///   - token: The token of the upload.
    ///   - fields: Fields of each request. Fields with secrets are omitted if the upload has another origin than its
    ///     target.
    ///   - options: Options of each request. Its ``RequestOptions/secretFields`` count as secrets too.
    /// - Throws: ``CurlewError`` for a server that refuses the request.
    public func discard(
        _ token: UploadToken, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws {
        let dialect = try UploadStart.dialect(token.dialect)
        let step = dialect.removal()
        for uri in token.parts.compactMap(\.uri) {
            let own = uri.hasSameOrigin(as: token.target) ? fields : fields.withoutSecrets(options.secretFields)
            let response = try await send(
                step.method, .uri(uri), fields: own.adding(step.fields), options: options)
            await response.discard()
            guard response.status.kind == .successful || [404, 410].contains(response.status.code) else {
                throw CurlewError(refusal: response, "status \(response.status.code) to the end of an upload")
            }
        }
    }
}

extension HTTPFields {
    /// These fields, with others in place of fields of the same name.
    func adding(_ others: HTTPFields) -> HTTPFields {
        var fields = self
        for field in others { fields[field.name] = field.value }
        return fields
    }

    /// These fields, without fields that are known to be secret, and without the marked ones.
    func withoutSecrets(_ marked: Set<HTTPField.Name>) -> HTTPFields {
        filter { !SecretFields.isSecret($0.name) && !marked.contains($0.name) }
    }
}
