internal import CLibFuzzer

/// Ends the program if a closure ever has more bytes allocated than it may, beyond those that were before.
public func requireMemory<Value>(
    below limit: Int, _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line,
    _ body: () throws -> Value
) rethrows -> Value {
    curlew_reset_allocated()
    defer {
        let peak = curlew_get_allocated_peak()
        require(peak < limit, "\(message()): \(peak) bytes, and \(limit) are allowed", file: file, line: line)
    }
    return try body()
}
