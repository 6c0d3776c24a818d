#if Storage
internal import Curlew
internal import GRDB
internal import Glibc

extension CurlewError {
    /// An error of a system call on a file of the store.
    /// - Parameter failure: What could not be done.
    init(cacheFailure failure: String, errorNumber: Int32) {
        let isFull = errorNumber == ENOSPC || errorNumber == EDQUOT
        self.init(isFull ? .diskFull : .cacheFailed, "\(failure): \(describe(errorNumber))")
    }

    /// An error of the index. Its message has neither SQL nor arguments.
    init(index error: any Error) {
        if let error = error as? CurlewError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self.init(.cacheFailed, "the index of the cache cannot be used", underlying: error)
            return
        }
        switch error.resultCode {
        case .SQLITE_FULL: self.init(.diskFull, "the disk has no room for the index of the cache")
        case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.cacheFailed, "the index of the cache is locked by somebody else")
        default: self.init(.cacheFailed, "the index of the cache cannot be used: \(error.reason)")
        }
    }
}

extension DatabaseError {
    /// SQLite's words, which name tables and columns at most, and its number.
    var reason: String { "\(message ?? "\(resultCode)") (\(extendedResultCode.rawValue))" }

    /// True if the database itself is at fault, so that it is of no use to try again.
    var isDamage: Bool {
        switch resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_FORMAT, .SQLITE_MISMATCH, .SQLITE_SCHEMA: true
        default: false
        }
    }
}
#endif
