extension ResumeToken: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, url, finalURL, validator, total, destination, part, received
    }

    private enum PartKeys: String, CodingKey { case path }

    private struct Piece: Codable {
        var start: Int64
        var end: Int64
        var sha256: String?
    }

    /// Reads a token.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResumeToken`` or ``ErrorCode/invalidURL`` for what is no token that can
    ///   be used, and the decoder's errors for what is none at all.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(Int.self, forKey: .version) == Self.version else {
            throw Self.invalid("its version is not known")
        }
        // Before the decoding of many pieces, so that it costs little to refuse them.
        var pieces = try container.nestedUnkeyedContainer(forKey: .received)
        if let count = pieces.count, count > Self.rangeLimit { throw Self.invalid("it has too many ranges") }
        var received: [Received] = []
        while !pieces.isAtEnd, received.count <= Self.rangeLimit {
            let piece = try pieces.decode(Piece.self)
            guard piece.start >= 0, piece.start < piece.end else { throw Self.invalid("a range of it is none") }
            received.append(Received(range: piece.start..<piece.end, sha256: piece.sha256))
        }
        let part = try container.nestedContainer(keyedBy: PartKeys.self, forKey: .part)
        try self.init(
            uri: try URI(try container.decode(String.self, forKey: .url)),
            finalURI: try container.decodeIfPresent(String.self, forKey: .finalURL).map { try URI($0) },
            validator: try container.decode(RepresentationValidator.self, forKey: .validator),
            total: try container.decodeIfPresent(Int64.self, forKey: .total),
            partPath: try part.decode(String.self, forKey: .path),
            destination: try container.decodeIfPresent(String.self, forKey: .destination),
            identity: try container.decode(FileSnapshot.self, forKey: .part),
            received: received)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(uri.description, forKey: .url)
        try container.encodeIfPresent(finalURI?.description, forKey: .finalURL)
        try container.encode(validator, forKey: .validator)
        try container.encodeIfPresent(total, forKey: .total)
        try container.encodeIfPresent(destination, forKey: .destination)
        try container.encode(Part(path: partPath, identity: identity), forKey: .part)
        let pieces = received.map { Piece(start: $0.range.lowerBound, end: $0.range.upperBound, sha256: $0.sha256) }
        try container.encode(pieces, forKey: .received)
    }

    private struct Part: Encodable {
        let path: String
        let identity: FileSnapshot

        func encode(to encoder: any Encoder) throws {
            try identity.encode(to: encoder)
            var container = encoder.container(keyedBy: PartKeys.self)
            try container.encode(path, forKey: .path)
        }
    }
}
