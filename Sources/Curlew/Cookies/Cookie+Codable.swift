extension Cookie: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, value, domain, isHostOnly, path, expirySeconds, isSecure, isHTTPOnly, sameSite
    }

    /// Text where it is UTF-8, else the bytes.
    private struct Bytes: Codable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                bytes = Array(try container.decode(String.self).utf8)
            } catch {
                bytes = try container.decode([UInt8].self)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let text = String(validating: bytes, as: UTF8.self) {
                try container.encode(text)
            } else {
                try container.encode(bytes)
            }
        }
    }

    /// Reads a cookie that was encoded before.
    /// - Throws: Also ``CurlewError`` with ``ErrorCode/invalidRequest``, as the initializer does.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            name: try container.decode(Bytes.self, forKey: .name).bytes,
            value: try container.decode(Bytes.self, forKey: .value).bytes,
            domain: try container.decode(String.self, forKey: .domain),
            isHostOnly: try container.decode(Bool.self, forKey: .isHostOnly),
            path: try container.decode(String.self, forKey: .path),
            expirySeconds: try container.decodeIfPresent(Int64.self, forKey: .expirySeconds),
            isSecure: try container.decode(Bool.self, forKey: .isSecure),
            isHTTPOnly: try container.decode(Bool.self, forKey: .isHTTPOnly),
            sameSite: try container.decodeIfPresent(SameSite.self, forKey: .sameSite))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Bytes(nameBytes), forKey: .name)
        try container.encode(Bytes(valueBytes), forKey: .value)
        try container.encode(domain, forKey: .domain)
        try container.encode(isHostOnly, forKey: .isHostOnly)
        try container.encode(path, forKey: .path)
        try container.encodeIfPresent(expirySeconds, forKey: .expirySeconds)
        try container.encode(isSecure, forKey: .isSecure)
        try container.encode(isHTTPOnly, forKey: .isHTTPOnly)
        try container.encodeIfPresent(sameSite, forKey: .sameSite)
    }
}
