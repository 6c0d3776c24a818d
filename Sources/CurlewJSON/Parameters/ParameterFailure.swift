internal import CurlewSupport

/// A failure to write parameters, and its place in them. Each level on the way out adds its own part of the path.
package struct ParameterFailure: Error {
    package enum Component {
        case key(String)
        case index(Int)
        case member
    }

    let reason: String
    let underlying: (any Error)?
    /// The innermost first.
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

    /// The same as the error that callers see.
    package var error: JSONCoding.Failure {
        JSONCoding.Failure(writing: reason, at: Self.path(components.reversed()), underlying: underlying)
    }

    /// `user.tags[3]`. Keys lose their control characters, and the whole is cut at 200 characters.
    static func path(_ components: some Sequence<Component>) -> String {
        var text = ""
        for component in components {
            switch component {
            case .key(let key): text += (text.isEmpty ? "" : ".") + key.printable
            case .index(let index): text += "[\(index)]"
            case .member: text += "{}"
            }
            // Deep paths are those of runaway recursion; their end says nothing more.
            if text.count > 200 { return text.prefix(200) + "…" }
        }
        return text
    }
}
