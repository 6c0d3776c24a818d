#if TestKit
/// What went wrong in a test server, for a person to read.
public struct TestKitError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
#endif
