internal import HTTPTypes

/// The location of a part on the server.
struct UploadPlace: Sendable {
    let journal: UploadJournal
    let index: Int
    let allowsOtherOrigins: Bool
    /// True if its token has a digest of the confirmed bytes.
    let isDigested: Bool

    /// Records the location of the upload.
    func adopt(_ location: String, _ base: CurlewURI) async throws {
        let uri: CurlewURI
        do { uri = try base.resolving(location) } catch {
            throw CurlewError(.invalidResponse, "the location of the upload is not a URL", underlying: error)
        }
        guard allowsOtherOrigins || uri.hasSameOrigin(as: journal.target) else {
            throw CurlewError(.invalidResponse, "the server sends the upload to another origin, \(uri.origin)")
        }
        guard uri.scheme == "https" || journal.target.scheme != "https" else {
            throw CurlewError(.invalidResponse, "the server sends the upload from https to http")
        }
        if journal.part(index).uri != uri { try await journal.change(index) { $0.uri = uri } }
    }

    /// Records an interim response. Errors in it are ignored, because the final response decides.
    /// - Parameter base: The URI of the request, to which a relative location refers (RFC 9110 §10.2.2).
    func note(_ interim: HTTPResponse, from base: CurlewURI, _ dialect: any UploadDialect) async {
        guard let announcement = dialect.announcement(in: interim) else { return }
        if let location = announcement.location { try? await adopt(location, base) }
        // With a digest, only the final response changes the offset: an earlier offset would require the digest at
        // once.
        let part = journal.part(index)
        guard let offset = announcement.offset, !isDigested, part.uri != nil, offset > part.offset,
            offset <= journal.most(index)
        else { return }
        try? await journal.change(index) { $0.offset = max($0.offset, offset) }
    }
}
