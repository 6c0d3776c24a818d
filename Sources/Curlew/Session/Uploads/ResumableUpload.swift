public import HTTPTypes

/// Uploads of files that resume where they broke off.
public enum ResumableUpload {
    /// How client and server agree on what has arrived.
    public enum Dialect: Sendable, Hashable {
        /// The IETF's draft (draft-ietf-httpbis-resumable-upload, interop versions 6, 5 and 3), whose first request carries the file: a server
        /// that does not know it takes that as a plain upload.
        case ietf
        /// tus 1.0 (tus.io).
        case tus
        /// The server is asked by OPTIONS: tus if it says so, else the IETF's draft, which falls back to a plain upload.
        case automatic
    }

    /// How an upload is made.
    public struct Options: Sendable {
        /// The token of an earlier upload to the same place, which goes on; nil begins a new one. Its protocol and parts count, not those asked
        /// for.
        public var token: UploadToken?
        /// A file that keeps the newest token until the upload has ended; see ``UploadToken/init(contentsOf:)``.
        public var tokenFile: String?
        /// Keeps the newest token, before and after each request that sends bytes. What it throws ends the upload.
        public var keepToken: (@Sendable (UploadToken) async throws -> Void)?
        /// Metadata of the file, such as its name, by key: tus's Upload-Metadata. A key is ASCII without spaces and commas.
        public var metadata: [String: String] = [:]
        /// True if each request carries a digest of its bytes, so that the server refuses what was damaged on its way: Upload-Checksum for
        /// tus, if the server has that extension, and Content-Digest (RFC 9530) for the draft. Requests carry up to ``partSize`` then.
        public var checksParts = false
        /// True if tokens hold a SHA-256 of what has arrived. An upload that goes on reads that much of the file first, and refuses one that
        /// is another, even under the same size and date.
        public var digestsContent = false
        /// The most bytes of a request with ``checksParts``. 16 MiB by default, 64 KiB at least.
        public var partSize: ByteSize = .mebibytes(16)
        /// The parts of a file that are sent at a time, where the server puts them together: tus's concatenation. 1 by default. Others get the
        /// file in one part.
        public var parallelParts = 1
        /// The retries. An attempt fails if nothing more arrives by it, or too little for what was sent: less than 1 KiB, or less than a
        /// 64th of it. 10 attempts in a row may fail by default, a Retry-After of up to 5 minutes is waited for, and the waits double from 1
        /// second to a minute. All attempts together send up to eight times the length of the file and 64 MiB; the next one is
        /// ``ErrorCode/invalidResponse``. The total time of a part begins with the part.
        public var retries = Retry.Policy(
            attempts: 10, backoff: Retry.Backoff(base: .seconds(1), maximum: .seconds(60)),
            retryAfterLimit: .seconds(300), totalTime: Timeouts.unlimited)
        /// How often an upload that the server has forgotten (404, 410) may begin anew. Once by default.
        public var restarts = 1
        /// True if the server may have the bytes sent to another origin than the one that was asked for, without the fields that hold
        /// secrets: those that are known to, and those that ``RequestOptions/secretFields`` names. False by default: an upload on another
        /// origin is ``ErrorCode/invalidResponse``, and a redirect of any request of the upload to another origin is
        /// ``ErrorCode/redirectRefused``.
        public var allowsOtherOrigins = false
        /// Called before a request that may create an upload twice, should its answer get lost.
        package var willCreate: (@Sendable () async throws -> Void)?

        public init() {}
    }

    /// How far an upload is. None of its counts goes back but with a restart.
    public struct Progress: Sendable, Hashable {
        /// The most bytes that the server has confirmed.
        public var confirmed: Int64
        /// The most bytes that were sent, those included. Some of them may have to be sent again.
        public var sent: Int64
        public var total: Int64
        /// How often the upload, or a part of it, has begun anew.
        public var restarts: Int
    }
}

extension HTTPSession {
    /// Uploads a file, and goes on where it broke off.
    ///
    /// After a connection that was lost, or an answer that asks for it, the server is asked how much it has, and the rest is sent. The
    /// file must stay as it is: one that has changed is ``ErrorCode/bodyLengthMismatch``, and no byte of it is sent from then on.
    /// ```swift
    /// let response = try await api.upload(file: "/data/film.mp4", to: "films", resumable: .automatic)
    /// ```
    /// - Parameters:
    ///   - path: The file.
    ///   - reference: Where uploads are created, absolute or relative to ``baseURL``.
    ///   - dialect: The protocol.
    ///   - method: The method of the request that creates the upload; tus always has POST.
    ///   - fields: Fields of each request.
    ///   - upload: How it is made.
    ///   - options: Options of each request.
    ///   - progress: Called with the newest progress, on no executor in particular.
    /// - Returns: The answer to the last bytes. Where it was lost, it is the answer to the question that has shown that all had arrived.
    /// - Throws: ``CurlewError`` with ``CurlewError/uploadToken``, if the upload can be resumed; ``ErrorCode/unsupported`` for a server that does
    ///   not know the protocol; ``ErrorCode/invalidResponse`` for one that contradicts itself; ``ErrorCode/invalidResumeToken``,
    ///   ``ErrorCode/bodyLengthMismatch``.
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

    /// Gives up an upload that a token is about, so that the server need not keep what it has. One in parts by presigned URLs has
    /// ``discard(_:multipart:)``.
    /// - Parameters:
    ///   - token: The token of the upload.
    ///   - fields: Fields of each request. Those with secrets are left out where the upload is on another origin than its target.
    ///   - options: Options of each request. Its ``RequestOptions/secretFields`` are secrets, too.
    /// - Throws: ``CurlewError`` for a server that refuses.
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
    /// These, with others in place of those of the same name.
    func adding(_ others: HTTPFields) -> HTTPFields {
        var fields = self
        for field in others { fields[field.name] = field.value }
        return fields
    }

    /// These, without the fields that are known to be secret, and those that are marked.
    func withoutSecrets(_ marked: Set<HTTPField.Name>) -> HTTPFields {
        filter { !SecretFields.isSecret($0.name) && !marked.contains($0.name) }
    }
}
