#if Storage
internal import Curlew
internal import GRDB
internal import CurlewPlatform

extension CurlewError {
    /// Makes an error from a failed system call on a file of the store.
    /// - Parameter failure: The description of the failed operation.
    init(cacheFailure failure: String, errorNumber: Int32) {
        let isFull = errorNumber == ENOSPC || errorNumber == EDQUOT
        self.init(isFull ? .diskFull : .cacheFailed, "\(failure): \(describe(errorNumber))")
    }

    /// Makes an error from one of the index. Its message contains neither SQL nor arguments.
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
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.cacheFailed, "the index of the cache is locked by another process")
        default: self.init(.cacheFailed, "the index of the cache cannot be used: \(error.reason)")
        }
    }
}

extension DatabaseError {
    /// SQLite's message, which names at most tables and columns, and its error code.
    var reason: String { "\(message ?? "\(resultCode)") (\(extendedResultCode.rawValue))" }

    /// True if the database itself is at fault, so that a retry is useless.
    var isDamage: Bool {
        switch resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_FORMAT, .SQLITE_MISMATCH, .SQLITE_SCHEMA: true
        default: false
        }
    }
}
#endif
