internal import HTTPTypes

/// Where a redirect leads, as its Location says.
enum RedirectTarget {
    /// Reads Location relative to the URI that answered (RFC 9110 §10.2.2); the fragment is inherited.
    /// - Returns: nil if there is no Location.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRedirect`` if it cannot be followed.
    static func read(_ fields: HTTPFields, relativeTo base: URI) throws -> URI? {
        let locations = fields[fields: .location]
        guard let location = locations.first else { return nil }
        // Not `==`: fields compare as strings do, by a normal form that can take a second to make.
        guard locations.allSatisfy({ bytes(of: $0) == bytes(of: location) }) else {
            throw CurlewError(.invalidRedirect, "there are several Location fields, and they differ")
        }
        let length = location.withUnsafeBytesOfValue { $0.count }
        guard length <= Redirects.locationLimit.bytes else {
            throw CurlewError(
                .invalidRedirect,
                "the Location has \(length) bytes, and \(Redirects.locationLimit.bytes) are taken at most")
        }
        do {
            let target = try base.resolving(reference(location))
            return try target.inheritingCredentials(from: base).inheritingFragment(from: base)
        } catch let error as CurlewError where error.code != .invalidRedirect {
            throw CurlewError(
                .invalidRedirect, "the Location cannot be followed: \(error.message)", underlying: error)
        }
    }

    private static func bytes(of field: HTTPField) -> [UInt8] { field.withUnsafeBytesOfValue { Array($0) } }

    /// Text that is not UTF-8 is percent-encoded byte by byte, so that the server gets back what it sent.
    private static func reference(_ location: HTTPField) -> String {
        location.withUnsafeBytesOfValue { bytes in
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            var encoded: [UInt8] = []
            for byte in bytes {
                if byte < 0x80 {
                    encoded.append(byte)
                } else {
                    encoded += "%\(String(byte, radix: 16, uppercase: true))".utf8
                }
            }
            return String(decoding: encoded, as: UTF8.self)
        }
    }
}

extension URI {
    /// Whether scheme, host and port are the same (RFC 6454 §5).
    func hasSameOrigin(as other: URI) -> Bool {
        layout.isSecure == other.layout.isSecure && port == other.port && host.lowercased() == other.host.lowercased()
    }

    /// User information in a Location is an error (RFC 9110 §4.2.4: it is likely there to hide where it leads). That of
    /// the base holds for its origin.
    fileprivate func inheritingCredentials(from base: URI) throws -> URI {
        let isSame = hasSameOrigin(as: base)
        guard let userInformation else { return isSame ? withUserInformation(base.userInformation) : self }
        guard isSame, userInformation == base.userInformation else {
            throw CurlewError(.invalidRedirect, "the Location holds user information")
        }
        return self
    }

    /// A target without a fragment has that of the URI that led there (RFC 9110 §10.2.2).
    fileprivate func inheritingFragment(from base: URI) -> URI {
        guard layout.queryEnd == text.utf8.count, base.layout.queryEnd < base.text.utf8.count else { return self }
        let fragment = String(decoding: base.text.utf8.dropFirst(base.layout.queryEnd), as: UTF8.self)
        return URI(text: text + fragment, layout: layout, userInformation: userInformation)
    }
}
