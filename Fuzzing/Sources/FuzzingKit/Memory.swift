internal import CLibFuzzer

/// Aborts the program if the closure's peak of allocated bytes, beyond the earlier allocations, reaches the limit.
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
