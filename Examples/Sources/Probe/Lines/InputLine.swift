/// An input line, without its line end.
package enum InputLine: Hashable, Sendable {
    case line([UInt8])
    /// The beginning of a line that exceeds the limit.
    case tooLong(beginning: [UInt8])
}
