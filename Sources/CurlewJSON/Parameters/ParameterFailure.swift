internal import CurlewSupport

/// A failure to write parameters, with its position. Each enclosing level adds its own part of the path.
package struct ParameterFailure: Error {
    package enum Component {
        case key(String)
        case index(Int)
        case member
    }

    let reason: String
    let underlying: (any Error)?
    /// The path, the innermost component first.
    private var components: [Component] = []

    package init(_ reason: String, underlying: (any Error)? = nil) {
        self.reason = reason
        self.underlying = underlying
    }

    package static let tooDeep = ParameterFailure("lies more than \(ParameterValue.depthLimit) levels deep")

    package func inside(_ component: Component) -> ParameterFailure {
        var copy = self
        copy.components.append(component)
        return copy
    }

    /// The failure as the error for callers.
    package var error: JSONCoding.Failure {
        JSONCoding.Failure(writing: reason, at: Self.path(components.reversed()), underlying: underlying)
    }

    /// The path as text: `user.tags[3]`. Control characters of keys are removed, and the text is cut at 200 characters.
    static func path(_ components: some Sequence<Component>) -> String {
        var text = ""
        for component in components {
            switch component {
            case .key(let key): text += (text.isEmpty ? "" : ".") + key.printable
            case .index(let index): text += "[\(index)]"
            case .member: text += "{}"
            }
            // Deep paths come from endless recursion, so the rest of the path is not useful.
            if text.count > 200 { return text.prefix(200) + "…" }
        }
        return text
    }
}
