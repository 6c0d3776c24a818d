internal import CLibFuzzer
internal import Glibc

/// A program that libFuzzer drives: with `@main`, it checks one input after another.
public protocol FuzzTarget {
    /// Checks an input by ``require(_:_:file:line:)``.
    ///
    /// The function keeps no state between inputs, so that a finding can be reproduced from its file alone.
    static func check(_ input: [UInt8])
}

// libFuzzer needs a C function, which cannot capture values. There is one thread, and the variable is set once.
nonisolated(unsafe) private var check: ([UInt8]) -> Void = { _ in }

extension FuzzTarget {
    /// The main function; the arguments are those of libFuzzer.
    public static func main() {
        FuzzingKit.check = Self.check
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        let result = LLVMFuzzerRunDriver(&count, &arguments) { start, count in
            FuzzingKit.check(Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
        exit(result)
    }
}
