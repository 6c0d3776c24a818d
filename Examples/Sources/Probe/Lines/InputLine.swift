/// A line of the input, without its end.
package enum InputLine: Hashable, Sendable {
    case line([UInt8])
    /// One that was longer than the limit: its beginning.
    case tooLong(beginning: [UInt8])
}
