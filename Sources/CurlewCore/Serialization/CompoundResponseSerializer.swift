extension ResponseSerializers {
    /// Tries several serializers in order; the first that succeeds provides the value.
    ///
    /// The body is read once. Each serializer judges status and media type by its own
    /// ``BodyResponseSerializer/acceptance``. Serializers of different types get a common type with
    /// ``BodyResponseSerializer/map(_:)``:
    ///
    /// ```swift
    /// let serializer = ResponseSerializers.Compound([
    ///     JSONResponseSerializer<Report>().map { Answer.report($0) },
    ///     ResponseSerializers.Text().map { Answer.text($0) },
    /// ])
    /// ```
    ///
    /// If none succeeds, ``CurlewError/causes`` has the error of each. The thrown error is
    /// - the first ``ErrorCode/unacceptableStatus`` whose body could be read, otherwise the first one;
    /// - otherwise ``ErrorCode/unacceptableContentType``, if all errors have this code;
    /// - otherwise ``ErrorCode/decodingFailed`` with the first failure that concerns the content as its underlying
    ///   error.
    public struct Compound<Value: Sendable>: ResponseSerializer, ReportingSerializer {
        /// The serializers in order.
        public var serializers: [any BodyResponseSerializer<Value>]
        /// The limit on the size of a body; see ``ResponseAcceptance/bodyLimit``.
        public var bodyLimit: ByteSize?

        /// - Parameter serializers: The serializers in order.
        public init(_ serializers: [any BodyResponseSerializer<Value>]) { self.serializers = serializers }

        /// The value of the Accept field: the media types of the serializers, in order.
        public var acceptField: String? {
            var fields: [String] = []
            for field in serializers.compactMap(\.acceptField) where !fields.contains(field) { fields.append(field) }
            return fields.isEmpty ? nil : (fields + ["*/*;q=0.1"]).joined(separator: ", ")
        }

        public func serialize(_ response: CurlewResponse) async throws -> Value {
            guard response.isObserved else { return try await value(from: collect(response)) }
            return try await reporting(on: response) { bytes in
                let collected = try await collect(response)
                bytes = collected.body
                return try await value(from: collected)
            }
        }

        private func value(from collected: CurlewResponse.Collected) async throws -> Value {
            var causes: [CurlewError] = []
            for serializer in serializers {
                do {
                    return try await serializer.serialize(collected)
                } catch let error as CurlewError where !error.isCancellation {
                    causes.append(error)
                }
            }
            throw CompoundFailure(response: collected, serializers: serializers.map(\.acceptance), causes: causes).error
        }

        /// Reads the body once for all serializers: up to `bodyLimit` if any accepts the status, otherwise up to the
        /// error limit.
        private func collect(_ response: CurlewResponse) async throws -> CurlewResponse.Collected {
            let acceptances = serializers.map(\.acceptance)
            var common = ResponseAcceptance(acceptances.map(\.contentTypes).reduce(.types([])) { $0.union($1) })
            common.statuses = ResponseAcceptance.Statuses(ranges: acceptances.flatMap(\.statuses.ranges))
            common.bodyLimit = bodyLimit
            if common.statuses.contains(response.status) { return try await common.collect(response) }
            common.errorBodyLimit = acceptances.map(\.errorBodyLimit).max() ?? common.errorBodyLimit
            switch try await common.judge(response, failureContent: .any) {
            case .refused(let refusal) where refusal.readError == nil: return refusal.response
            case .refused(let refusal): throw refusal.error()
            case .accepted, .acceptedEmpty: return try await common.collect(response)
            }
        }
    }
}

extension BodyResponseSerializer {
    /// Decodes a response whose body was read before.
    fileprivate func serialize(_ collected: CurlewResponse.Collected) async throws -> Output {
        try await serialize(
            CurlewResponse(
                head: collected.head, body: .bytes(collected.body), version: .http11, uri: collected.uri, interim: [],
                exchange: nil))
    }
}

/// The error of several serializers that all failed.
private struct CompoundFailure {
    let response: CurlewResponse.Collected
    let serializers: [ResponseAcceptance]
    let causes: [CurlewError]

    var error: CurlewError {
        let statusErrors = causes.filter { $0.code == .unacceptableStatus }
        if let best = statusErrors.first(where: { $0.parsedBody != nil }) ?? statusErrors.first {
            return make(best.code, best.message, parsed: best.parsedBody, underlying: best.underlying)
        }
        guard let decisive = causes.first(where: { $0.code != .unacceptableContentType }) else {
            return make(
                .unacceptableContentType, "none of \(causes.count) serializers takes the content type",
                underlying: causes.first)
        }
        return make(
            decisive.code == .emptyBody ? .emptyBody : .decodingFailed,
            "none of \(causes.count) serializers can read the body", underlying: decisive)
    }

    private func make(
        _ code: ErrorCode, _ message: String, parsed: (any Sendable)? = nil, underlying: (any Error)?
    ) -> CurlewError {
        let acceptable = serializers.map(\.contentTypes).reduce(ResponseAcceptance.ContentTypes.types([])) {
            $0.union($1)
        }
        var context = CurlewError.Context(response, acceptable: acceptable)
        let limit = serializers.map(\.errorBodyLimit.bytes).max() ?? 0
        if response.body.count <= limit { context.failure?.body = response.body }
        context.failure?.parsed = parsed
        context.failure?.causes = causes
        return CurlewError(code, message, context: context, underlying: underlying)
    }
}
