internal import HTTPTypes

/// Why a response is not taken, and what came of its body.
struct Refusal {
    let response: CollectedResponse
    /// The statuses that are taken, if its own is not among them.
    let statuses: AcceptableStatuses?
    /// The media types that are taken, if its own is not among them.
    let content: AcceptableContent?
    /// The media types that would have been taken.
    let acceptable: AcceptableContent
    /// What kept the body from being read whole.
    let breakage: (any Error)?

    /// Whether it would help to know what the body says.
    var isWorthParsing: Bool { content == nil && breakage == nil && !response.body.isEmpty }

    /// The error, with what the body was read as.
    func error(parsed: Result<any Sendable, any Error>? = nil) -> CurlewError {
        var context = CurlewError.Context(response, acceptable: acceptable)
        if breakage == nil { context.failure?.body = response.body }
        guard let statuses else { return contentError(context) }
        var beneath: (any Error)? = breakage
        if content != nil { beneath = contentError(context) }
        switch parsed {
        case .success(let value): context.failure?.parsed = value
        case .failure(let error): beneath = error
        case nil: break
        }
        return CurlewError(
            .unacceptableStatus, "the status is \(response.status.code), not one of \(statuses.text)",
            context: context, underlying: beneath)
    }

    private func contentError(_ context: CurlewError.Context) -> CurlewError {
        let names = (acceptable.ranges ?? []).map(\.essence).joined(separator: ", ")
        // The essence is made of token bytes; parameters, which could hold anything, stay out of logs.
        let received = response.mediaType.map { "the content type is \($0.essence.prefix(100))" }
        return CurlewError(
            .unacceptableContentType, "\(received ?? "there is no usable content type"), not one of \(names)",
            context: context, underlying: breakage)
    }
}
