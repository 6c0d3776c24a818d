internal import Curlew

extension Order {
    /// A download into a file.
    struct Download: Sendable {
        let path: String
        var options = DownloadTask.Options()

        /// - Throws: ``LineProblem`` for unknown members, ``CurlewError`` for an invalid digest.
        init(_ field: FieldValue) throws {
            var path: String?
            for (name, member) in try field.members() {
                switch name {
                case "to": path = try member.string()
                case "resumes": options.retries.attempts = try member.count() + 1
                case "segments":
                    options.segments = try member.count()
                    guard options.segments > 0 else { throw member.wrong("at least one segment") }
                case "token": options.tokenFile = try member.string()
                case "digest": options.integrity = try Self.integrity(member)
                default: throw LineProblem.unsupported(member.name)
                }
            }
            guard let path else { throw field.wrong("an object with a path to download to") }
            self.path = path
        }

        private static func integrity(_ field: FieldValue) throws -> IntegrityRequirement {
            let parts = try field.string().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw field.wrong("an algorithm and a digest with a colon between them") }
            do {
                switch parts[0] {
                case "sha-256": return try .sha256(String(parts[1]))
                case "sha-512": return try .sha512(String(parts[1]))
                case let name: throw LineProblem.unsupported("\(field.name) \(name)")
                }
            } catch let error as CurlewError {
                throw LineProblem.unusable(error.message)
            }
        }
    }
}

extension FieldRule {
    /// The fields about transfers from and to files.
    static let transfers: [FieldRule] = [
        FieldRule("download") { field, order in order.download = try Order.Download(field) },
        FieldRule("upload") { field, order in
            for (name, member) in try field.members() {
                switch name {
                case "file": order.uploadFile = try member.string()
                case "token": order.uploadToken = try member.string()
                case "resumable":
                    switch try member.string() {
                    case "ietf": order.resumable = .ietf
                    case "tus": order.resumable = .tus
                    case "automatic": order.resumable = .automatic
                    case let protocolName: throw LineProblem.unsupported("\(member.name) \(protocolName)")
                    }
                default: throw LineProblem.unsupported(member.name)
                }
            }
            guard order.uploadFile != nil else { throw field.wrong("an object with a file") }
            guard order.uploadToken == nil || order.resumable != nil else {
                throw LineProblem.unusable("there is a token, and the upload is not resumable")
            }
        },
    ]
}

extension Order {
    /// Checks the combination of the fields.
    /// - Throws: ``LineProblem`` for contradictory fields, and for combinations that the library does not support.
    func checkCombination() throws {
        guard proxyLogin == nil || proxy != nil else { throw LineProblem.unusable("there is proxy_auth, and no proxy") }
        guard proxyLogin == nil || proxy != "environment" else {
            throw LineProblem.unsupported("proxy_auth with the proxy of the environment")
        }
        if let field = reading.fieldForSerializer, reading.formats == nil, download == nil {
            throw LineProblem.unusable("there is \(field), and no serializer in as")
        }
        if uploadFile != nil {
            guard body == nil, content.parts == nil, download == nil else {
                throw LineProblem.unusable("there is something to send beside the file of upload")
            }
            try refuse(
                "upload",
                [
                    ("parameters", content.parameters != nil), ("encoding", content.encoding != nil),
                    ("chunked", isChunked), ("trailers", !trailers.isEmpty),
                ])
        }
        guard download != nil else { return }
        try refuse(
            "download",
            [
                ("method \(method ?? "")", method ?? "GET" != "GET"), ("a body", body != nil || content.parts != nil),
                ("chunked", isChunked), ("trailers", !trailers.isEmpty), ("as", reading.formats != nil),
                ("max_body", bodyLimit != nil), (reading.fieldForSerializer ?? "", reading.fieldForSerializer != nil),
            ])
    }

    private func refuse(_ field: String, _ others: [(String, Bool)]) throws {
        for (other, isThere) in others where isThere { throw LineProblem.unsupported("\(field) with \(other)") }
    }
}
