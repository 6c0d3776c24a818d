internal import Glibc

/// What a call of the system's came to: a number, and why not if it is negative.
///
/// A call that a signal interrupted is made again.
struct FileCall {
    let value: Int
    /// 0 if the call went well.
    let errorNumber: Int32

    init<Value: SignedInteger>(_ call: () -> Value) {
        while true {
            let value = call()
            if value >= 0 {
                self.value = Int(value)
                errorNumber = 0
                return
            }
            let number = errno
            if number != EINTR {
                self.value = -1
                errorNumber = number
                return
            }
        }
    }

    /// - Parameter failure: What could not be done.
    @discardableResult
    func get(_ failure: String) throws -> Int {
        guard errorNumber == 0 else { throw CurlewError(errorNumber: errorNumber, failure) }
        return value
    }
}

extension CurlewError {
    /// What the system says of a file.
    /// - Parameter failure: What could not be done.
    init(errorNumber: Int32, _ failure: String) {
        let code: ErrorCode = errorNumber == ENOSPC || errorNumber == EDQUOT ? .diskFull : .fileFailed
        self.init(code, "\(failure): \(describe(errorNumber))")
    }
}
