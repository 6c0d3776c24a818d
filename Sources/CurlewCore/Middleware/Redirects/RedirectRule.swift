internal import HTTPTypes

/// The rule that makes the next request from a redirect and the redirected request (RFC 9110 §15.4). It does not use
/// the network.
struct RedirectRule {
    let changesPostToGet: Bool
    let allowsDowngrade: Bool
    /// The secret fields that the user has named, in the link and in the request.
    let secretFields: Set<HTTPField.Name>

    /// True if the status is a redirect that can be followed. 300 offers a choice, 304 concerns caches, 305 and 306 are
    /// obsolete.
    static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The request that a redirect asks for.
    /// - Returns: nil if there is no Location: the redirect itself is the response.
    /// - Throws: ``CurlewError`` for a redirect that cannot or may not be followed.
    func request(after redirect: HTTPResponse, to request: CurlewRequest) throws -> CurlewRequest? {
        guard let target = try RedirectTarget.read(redirect.headerFields, relativeTo: request.uri) else { return nil }
        var next = request
        next.uri = target
        let keepsBody: Bool
        (next.method, keepsBody) = method(after: redirect.status.code, request)
        if keepsBody {
            guard request.body.isReplayable else {
                throw CurlewError(
                    .bodyNotReplayable, "the redirect asks for the body again, and it can be read only once")
            }
        } else {
            next.dropContent()
        }
        if !target.hasSameOrigin(as: request.uri) { prepareForAnotherOrigin(&next) }
        return next
    }

    /// Applies the rules that hold for every redirect to a request that a decision has changed.
    /// - Parameters:
    ///   - chosen: The request as changed.
    ///   - proposed: The request as proposed.
    ///   - origin: The URI that answered.
    func checked(_ chosen: CurlewRequest, insteadOf proposed: CurlewRequest, from origin: CurlewURI) throws
        -> CurlewRequest
    {
        try checkDowngrade(from: origin, to: chosen.uri)
        guard proposed.uri.hasSameOrigin(as: origin), !chosen.uri.hasSameOrigin(as: origin) else { return chosen }
        var next = chosen
        // The proposed request carries secrets of the old origin; secrets that the decision has set itself stay.
        let isOld = { (field: HTTPField, old: HTTPFields) in
            isSecret(field.name) && old[fields: field.name].contains { $0.hasSameBytes(as: field) }
        }
        next.fields.removeAll { isOld($0, proposed.fields) }
        next.trailers.removeAll { isOld($0, proposed.trailers) }
        return next
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/redirectRefused`` if `https` would become `http`.
    func checkDowngrade(from origin: CurlewURI, to target: CurlewURI) throws {
        guard origin.layout.isSecure, !target.layout.isSecure, !allowsDowngrade else { return }
        throw CurlewError(.redirectRefused, "the redirect leads from https to http")
    }

    private func method(after status: Int, _ request: CurlewRequest) -> (HTTPRequest.Method, keepsBody: Bool) {
        switch status {
        case 303:
            request.method == .get || request.method == .head ? (request.method, true) : (.get, false)
        case 301, 302:
            request.method == .post && changesPostToGet ? (.get, false) : (request.method, true)
        default: (request.method, true)
        }
    }

    // MARK: Secrets

    private func isSecret(_ name: HTTPField.Name) -> Bool {
        SecretFields.isSecret(name) || secretFields.contains(name)
    }

    private func prepareForAnotherOrigin(_ request: inout CurlewRequest) {
        request.fields.removeAll { isSecret($0.name) }
        request.trailers.removeAll { isSecret($0.name) }
        request.fields[.host] = nil
        // Prior knowledge of HTTP/2 applies to the original server only.
        if request.options.versionPolicy == .http2PriorKnowledge { request.options.versionPolicy = nil }
    }
}

extension CurlewRequest {
    /// Removes the body, its trailers and the fields that describe it.
    fileprivate mutating func dropContent() {
        body = .none
        trailers = HTTPFields()
        fields.removeAll { field in
            field.name.canonicalName.hasPrefix("content-") || Self.contentFields.contains(field.name)
        }
    }

    private static let contentFields: Set<HTTPField.Name> = Set(
        [.transferEncoding, .trailer, .expect] + [HTTPField.Name("Digest")!, .reprDigest])
}

/// The target of a redirect, from its Location.
enum RedirectTarget {
    /// Reads Location relative to the URI that answered (RFC 9110 §10.2.2); the fragment is inherited.
    /// - Returns: nil if there is no Location.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRedirect`` if the Location is not usable.
    static func read(_ fields: HTTPFields, relativeTo base: CurlewURI) throws -> CurlewURI? {
        let locations = fields[fields: .location]
        guard let location = locations.first else { return nil }
        // Bytes instead of `==`: fields compare as strings, by a normal form that can take a second to compute.
        guard locations.allSatisfy({ bytes(of: $0) == bytes(of: location) }) else {
            throw CurlewError(.invalidRedirect, "there are several Location fields, and they differ")
        }
        let length = location.withUnsafeBytesOfValue { $0.count }
        guard length <= Redirects.locationLimit.bytes else {
            throw CurlewError(
                .invalidRedirect,
                "the Location has \(length) bytes, and \(Redirects.locationLimit.bytes) are allowed at most")
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

    /// The Location as text. Bytes that are not UTF-8 are percent-encoded, so that the server gets back the bytes that
    /// it sent.
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

extension CurlewURI {
    /// The target with the user information of the base, if both have the same origin.
    ///
    /// Other user information in a Location is an error: it is likely to hide the true target (RFC 9110 §4.2.4).
    fileprivate func inheritingCredentials(from base: CurlewURI) throws -> CurlewURI {
        let isSame = hasSameOrigin(as: base)
        guard let userInformation else { return isSame ? withUserInformation(base.userInformation) : self }
        guard isSame, userInformation == base.userInformation else {
            throw CurlewError(.invalidRedirect, "the Location holds user information")
        }
        return self
    }

    /// The target with the fragment of the URI that redirected, unless it has its own (RFC 9110 §10.2.2).
    fileprivate func inheritingFragment(from base: CurlewURI) -> CurlewURI {
        guard layout.queryEnd == text.utf8.count, base.layout.queryEnd < base.text.utf8.count else { return self }
        let fragment = String(decoding: base.text.utf8.dropFirst(base.layout.queryEnd), as: UTF8.self)
        return CurlewURI(text: text + fragment, layout: layout, userInformation: userInformation)
    }
}
