internal import CLibFuzzer
internal import Glibc

/// A program that libFuzzer drives: marked `@main`, it checks one input after the other.
public protocol FuzzTarget {
    /// Looks whether what has to hold does so for an input, by ``require(_:_:file:line:)``.
    ///
    /// It keeps nothing from one input to the next, so that a finding can be repeated from its file alone.
    static func check(_ input: [UInt8])
}

// libFuzzer takes a C function, which can capture nothing. There is one thread, and it is set once.
nonisolated(unsafe) private var check: ([UInt8]) -> Void = { _ in }

extension FuzzTarget {
    /// The whole program; the arguments are libFuzzer's.
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
