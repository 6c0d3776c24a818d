/// What the containers of one encoding share.
final class EncodingState {
    let keyNaming: KeyNaming
    let userInfo: [CodingUserInfoKey: Any]
    let foundationTypes: ParameterEncoder.FoundationTypes
    /// How many values are being encoded, each inside the former.
    var nesting = 0
    /// A mistake of the value's own code. Some are made where nothing can be thrown, so each is kept until the end.
    private var mistake: Mistake?
    /// Where an error that is on its way out was thrown.
    private var failurePath: CodingPath?

    private struct Mistake {
        let description: String
        let path: CodingPath
    }

    init(_ encoder: ParameterEncoder) {
        keyNaming = encoder.keyNaming
        userInfo = encoder.userInfo
        foundationTypes = encoder.foundationTypes
    }

    func note(_ description: String, at path: CodingPath) {
        if mistake == nil { mistake = Mistake(description: description, path: path) }
    }

    /// Throws what was noted, in the form that `encode(to:)` expects of an encoder.
    func check() throws {
        guard let mistake else { return }
        let context = EncodingError.Context(codingPath: mistake.path.keys, debugDescription: mistake.description)
        throw EncodingError.invalidValue(mistake.description, context)
    }

    /// Remembers the innermost place that an error passed.
    func pass(_ path: CodingPath) {
        if let failurePath, failurePath.isInside(path) { return }
        failurePath = path
    }

    /// The error that callers see. It does not quote another's words: they may hold the value.
    func curlewError(for error: any Error) -> CurlewError {
        let keys: [any CodingKey]
        if let mistake {
            keys = mistake.path.keys
        } else if case .invalidValue(_, let context) = error as? EncodingError {
            keys = context.codingPath
        } else {
            keys = failurePath?.keys ?? []
        }
        let path = ParameterFailure.path(keys.map { $0 is IndexKey ? .index($0.intValue ?? 0) : .key($0.stringValue) })
        let place = path.isEmpty ? "the whole of the parameters" : "the parameter \(path)"
        let reason = mistake?.description ?? "threw an error while it was encoded"
        return CurlewError(.encodingFailed, "\(place) \(reason)", underlying: error)
    }
}
