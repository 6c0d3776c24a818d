internal import HTTPTypes

/// tus 1.0.0 (tus.io/protocols/resumable-upload), with its extensions creation, expiration and termination.
struct TusDialect: UploadDialect {
    var name: UploadDialectName { .tus }

    private static let version: HTTPFields = [.tusResumable: "1.0.0"]

    func creation(method: HTTPRequest.Method, length: Int64) -> UploadStep {
        var fields = Self.version
        fields[.uploadLength] = "\(length)"
        return UploadStep(method: .post, fields: fields, carriesBytes: false)
    }

    func inquiry() -> UploadStep { UploadStep(method: .head, fields: Self.version, carriesBytes: false) }
    func removal() -> UploadStep { UploadStep(method: .delete, fields: Self.version, carriesBytes: false) }

    func append(from offset: Int64, isLast: Bool, length: Int64) -> UploadStep {
        var fields = Self.version
        fields[.uploadOffset] = "\(offset)"
        fields[.contentType] = "application/offset+octet-stream"
        return UploadStep(method: .patch, fields: fields, carriesBytes: true)
    }

    func announcedLocation(in interim: HTTPResponse) -> String? { nil }

    func outcome(of response: HTTPResponse, isCreation: Bool) throws -> UploadOutcome {
        guard response.status.kind == .successful else { return .refused }
        guard response.headerFields.contains(.tusResumable) else {
            if isCreation { return .unknown }
            throw CurlewError(.invalidResponse, "the answer is not one of tus")
        }
        if isCreation {
            guard response.status == .created, let location = response.headerFields[.location] else {
                throw CurlewError(.invalidResponse, "the upload was created, and the server does not say where")
            }
            return .incomplete(location: location, offset: 0)
        }
        guard let offset = try number(.uploadOffset, response) else {
            throw CurlewError(.invalidResponse, "the server does not say how much it has")
        }
        // Whether that is all, the length says.
        return .incomplete(location: nil, offset: offset)
    }

    func state(in response: HTTPResponse) throws -> UploadState? {
        guard response.status.kind == .successful, let offset = try number(.uploadOffset, response) else { return nil }
        return UploadState(offset: offset, isComplete: try number(.uploadLength, response) == offset)
    }

    func limits(in response: HTTPResponse) -> UploadLimits {
        UploadLimits(maximumSize: (try? number(.tusMaxSize, response)) ?? nil)
    }

    private func number(_ name: HTTPField.Name, _ response: HTTPResponse) throws -> Int64? {
        guard let value = response.headerFields[name] else { return nil }
        guard !value.isEmpty, value.utf8.allSatisfy(\.isDigit), let number = Int64(value) else {
            throw CurlewError(.invalidResponse, "\(name) is no number")
        }
        return number
    }
}

extension HTTPField.Name {
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
}
