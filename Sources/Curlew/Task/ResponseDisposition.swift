/// What is to become of a response whose head has come; ``RequestOptions/onResponse`` decides.
///
/// ```swift
/// options.onResponse = { head, _ in
///     head.headerFields[.contentType] == "application/zip" ? .download(.folder("/srv/inbox")) : .allow
/// }
/// ```
public struct ResponseDisposition: Sendable {
    enum Kind {
        case allow
        case cancel
        case download(Destination, Integrity)
    }

    let kind: Kind

    /// The response goes to the caller, its body still to be read.
    public static let allow = ResponseDisposition(kind: .allow)
    /// The task ends with ``ErrorCode/cancelled``, and nothing of the body is read.
    public static let cancel = ResponseDisposition(kind: .cancel)

    /// The task becomes a download: it stays the same, with its progress and its figures, and its ``TaskActor/kind`` is
    /// ``TaskKind/download`` from now on. The body is written as ``Response/save(to:integrity:)`` does it, and the response
    /// then goes to the caller with an empty body and the file in ``Response/file``.
    ///
    /// A response that is no success is handed on as with ``allow``: its body never reaches the destination.
    public static func download(_ destination: Destination, integrity: Integrity = Integrity()) -> ResponseDisposition {
        ResponseDisposition(kind: .download(destination, integrity))
    }
}
