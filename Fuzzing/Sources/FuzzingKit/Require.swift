internal import Glibc

/// Aborts the program unless the condition is true; libFuzzer then keeps the input.
public func require(
    _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String,
    file: StaticString = #fileID, line: UInt = #line
) {
    guard !condition() else { return }
    let text = Array("\(file):\(line): \(message())\n".utf8)
    _ = write(STDERR_FILENO, text, text.count)
    abort()
}

/// Aborts the program unless the values are equal.
public func requireEqual<Value: Equatable>(
    _ left: Value, _ right: Value, _ message: @autoclosure () -> String,
    file: StaticString = #fileID, line: UInt = #line
) {
    require(
        left == right, "\(message())\n  \(String(reflecting: left))\n  \(String(reflecting: right))",
        file: file, line: line)
}
