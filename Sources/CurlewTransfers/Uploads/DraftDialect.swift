internal import HTTPTypes
internal import RawStructuredFieldValues

/// The protocol draft-ietf-httpbis-resumable-upload, with the interop versions 3 (draft 01), 5 (03, 04) and 6 (05).
struct DraftDialect: UploadDialect {
    let interop: Int

    var name: UploadDialectName { .draft(interop) }
    /// The field Content-Digest of RFC 9530.
    var digests: [UploadDigest] {
        [UploadDigest(algorithm: .sha256, field: .contentDigest, prefix: "sha-256=:", suffix: ":")]
    }

    /// The interop version that a server declares; nil for a version that is not supported here.
    static func interop(in response: HTTPResponse) -> Int? {
        response.headerFields[.uploadDraftInteropVersion].flatMap { Int($0) }.flatMap {
            UploadDialectName.draftVersions.contains($0) ? $0 : nil
        }
    }

    private var version: HTTPFields { [.uploadDraftInteropVersion: "\(interop)"] }

    private func completeness(_ isComplete: Bool) -> HTTPFields {
        // The field of version 3 has the opposite meaning.
        interop == 3
            ? [.uploadIncomplete: isComplete ? "?0" : "?1"] : [.uploadComplete: isComplete ? "?1" : "?0"]
    }

    func creation(method: HTTPRequest.Method, length: Int64) -> UploadStep {
        var fields = version + completeness(true)
        if interop >= 6 { fields[.uploadLength] = "\(length)" }
        return UploadStep(method: method, fields: fields, carriesBytes: true)
    }

    func inquiry() -> UploadStep { UploadStep(method: .head, fields: version) }
    func removal() -> UploadStep { UploadStep(method: .delete, fields: version) }

    func append(from offset: Int64, isLast: Bool, length: Int64) -> UploadStep {
        var fields = version + completeness(isLast)
        fields[.uploadOffset] = "\(offset)"
        if interop >= 6 {
            fields[.contentType] = "application/partial-upload"
            fields[.uploadLength] = "\(length)"
        }
        return UploadStep(method: .patch, fields: fields, carriesBytes: true)
    }

    func announcement(in interim: HTTPResponse) -> UploadAnnouncement? {
        guard interim.status.code == 104, speaks(interim) else { return nil }
        return UploadAnnouncement(
            location: interim.headerFields[.location], offset: (try? number(.uploadOffset, interim)) ?? nil)
    }

    /// True unless the response declares another version.
    private func speaks(_ response: HTTPResponse) -> Bool {
        response.headerFields[.uploadDraftInteropVersion].map { $0 == "\(interop)" } ?? true
    }

    func outcome(of response: HTTPResponse, isCreation: Bool) throws -> UploadOutcome {
        guard response.status.kind == .successful else { return .refused }
        let offset = try number(.uploadOffset, response)
        guard let isComplete = try isComplete(response) else {
            // The response to the last append may omit the field: a server that has all bytes answers with success.
            if isCreation, !response.headerFields.contains(.uploadDraftInteropVersion), offset == nil {
                return .unknown
            }
            return offset == nil ? .complete : .incomplete(location: response.headerFields[.location], offset: offset)
        }
        if isComplete { return .complete }
        return .incomplete(location: response.headerFields[.location], offset: offset)
    }

    func state(in response: HTTPResponse) throws -> UploadState? {
        guard response.status.kind == .successful, let offset = try number(.uploadOffset, response) else { return nil }
        guard let isComplete = try isComplete(response) else {
            throw CurlewError(.invalidResponse, "the server does not report whether the upload is complete")
        }
        return UploadState(offset: offset, isComplete: isComplete)
    }

    func limits(in response: HTTPResponse) -> UploadLimits {
        let values = response.headerFields[values: .uploadLimit]
        guard !values.isEmpty else { return UploadLimits() }
        var parser = StructuredFieldValueParser(Array(values.joined(separator: ",").utf8))
        guard let dictionary = try? parser.parseDictionaryFieldValue() else { return UploadLimits() }
        func limit(_ name: String) -> Int64? {
            guard case .item(let item)? = dictionary[name], case .integer(let number) = item.rfc9651BareItem,
                number >= 0
            else { return nil }
            return number
        }
        return UploadLimits(
            maximumSize: limit("max-size"), minimumSize: limit("min-size"), maximumAppend: limit("max-append-size"),
            minimumAppend: limit("min-append-size"),
            expires: limit("max-age").map {
                HTTPDate(secondsSince1970: HTTPDate.now.secondsSince1970 + min($0, 1 << 40))
            })
    }

    // MARK: Structured fields

    /// True if the response declares the upload complete. Some servers of versions 5 and 6 use the field of version 3.
    private func isComplete(_ response: HTTPResponse) throws -> Bool? {
        if let isComplete = try flag(.uploadComplete, response) { return isComplete }
        return try flag(.uploadIncomplete, response).map { !$0 }
    }

    private func item(_ name: HTTPField.Name, _ response: HTTPResponse) throws -> RFC9651BareItem? {
        let values = response.headerFields[values: name]
        guard !values.isEmpty else { return nil }
        var parser = StructuredFieldValueParser(Array(values.joined(separator: ",").utf8))
        guard let item = try? parser.parseItemFieldValue() else {
            throw CurlewError(.invalidResponse, "\(name) is no structured field")
        }
        return item.rfc9651BareItem
    }

    private func flag(_ name: HTTPField.Name, _ response: HTTPResponse) throws -> Bool? {
        switch try item(name, response) {
        case nil: return nil
        case .bool(let flag): return flag
        default: throw CurlewError(.invalidResponse, "\(name) is no boolean")
        }
    }

    private func number(_ name: HTTPField.Name, _ response: HTTPResponse) throws -> Int64? {
        switch try item(name, response) {
        case nil: return nil
        case .integer(let number) where number >= 0: return number
        default: throw CurlewError(.invalidResponse, "\(name) is no offset")
        }
    }
}

extension HTTPField.Name {
    static let uploadDraftInteropVersion = HTTPField.Name("Upload-Draft-Interop-Version")!
    static let uploadComplete = HTTPField.Name("Upload-Complete")!
    static let uploadIncomplete = HTTPField.Name("Upload-Incomplete")!
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    static let uploadLimit = HTTPField.Name("Upload-Limit")!
}

private func + (left: HTTPFields, right: HTTPFields) -> HTTPFields {
    var fields = left
    for field in right { fields.append(field) }
    return fields
}
