#if TestKit
/// A failure of a test server, with a message for a person.
public struct TestKitError: Error, Sendable, CustomStringConvertible {
    /// The message.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
#endif
