/// What several serializers, each of which failed, come to.
struct CompoundFailure {
    let response: CollectedResponse
    let serializers: [ResponseAcceptance]
    let causes: [CurlewError]

    var error: CurlewError {
        let statusErrors = causes.filter { $0.code == .unacceptableStatus }
        if let best = statusErrors.first(where: { $0.parsedBody != nil }) ?? statusErrors.first {
            return make(best.code, best.message, parsed: best.parsedBody, underlying: best.underlying)
        }
        guard let telling = causes.first(where: { $0.code != .unacceptableContentType }) else {
            return make(
                .unacceptableContentType, "none of \(causes.count) serializers takes the content type",
                underlying: causes.first)
        }
        return make(
            telling.code == .emptyBody ? .emptyBody : .decodingFailed,
            "none of \(causes.count) serializers can read the body", underlying: telling)
    }

    private func make(
        _ code: ErrorCode, _ message: String, parsed: (any Sendable)? = nil, underlying: (any Error)?
    ) -> CurlewError {
        let acceptable = serializers.map(\.contentTypes).reduce(AcceptableContent.types([])) { $0.union($1) }
        var context = CurlewError.Context(response, acceptable: acceptable)
        let limit = serializers.map(\.errorBodyLimit.bytes).max() ?? 0
        if response.body.count <= limit { context.failure?.body = response.body }
        context.failure?.parsed = parsed
        context.failure?.causes = causes
        return CurlewError(code, message, context: context, underlying: underlying)
    }
}
