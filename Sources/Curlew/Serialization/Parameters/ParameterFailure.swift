/// A failure to write parameters, with its position. Each enclosing level adds its own part of the path.
struct ParameterFailure: Error {
    enum Component {
        case key(String)
        case index(Int)
        case member
    }

    let reason: String
    let underlying: (any Error)?
    /// The path, the innermost component first.
    private var components: [Component] = []

    init(_ reason: String, underlying: (any Error)? = nil) {
        self.reason = reason
        self.underlying = underlying
    }

    static let tooDeep = ParameterFailure("lies more than \(ParameterValue.depthLimit) levels deep")

    func inside(_ component: Component) -> ParameterFailure {
        var copy = self
        copy.components.append(component)
        return copy
    }

    /// The failure as the error for callers.
    var error: CurlewError {
        let place = components.isEmpty ? "the whole of the parameters" : "the parameter \(path)"
        return CurlewError(.encodingFailed, "\(place) \(reason)", underlying: underlying)
    }

    private var path: String { Self.path(components.reversed()) }

    /// The path as text: `user.tags[3]`. Control characters of keys are removed, and the text is cut at 200 characters.
    static func path(_ components: some Sequence<Component>) -> String {
        var text = ""
        for component in components {
            switch component {
            case .key(let key): text += (text.isEmpty ? "" : ".") + URIParser.printable(key)
            case .index(let index): text += "[\(index)]"
            case .member: text += "{}"
            }
            // Deep paths come from endless recursion, so the rest of the path is not useful.
            if text.count > 200 { return text.prefix(200) + "…" }
        }
        return text
    }
}
