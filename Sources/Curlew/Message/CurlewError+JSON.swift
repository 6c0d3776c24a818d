extension CurlewError {
    /// An error of reading or writing JSON and parameters as one of the library.
    @inline(never)
    package init(_ error: JSONCoding.Failure) {
        let message =
            switch error.path {
            case nil: error.message
            case ""?: "the whole of the parameters \(error.reason)"
            case let path?: "the parameter \(path) \(error.reason)"
            }
        self.init(
            error.code == .encodingFailed ? .encodingFailed : .decodingFailed, message, underlying: error.underlying)
    }

    /// The same error, or one of the library in the place of one of JSON.
    static func adopting(_ error: any Error) -> any Error {
        (error as? JSONCoding.Failure).map { CurlewError($0) } ?? error
    }
}

extension ParameterFailure {
    /// The same as the error that callers of the library see.
    var curlewError: CurlewError { CurlewError(error) }
}

/// Runs work on JSON or parameters; its errors become those of the library.
@inline(__always)
func throwingCurlewErrors<Result>(_ work: () throws -> Result) throws -> Result {
    do { return try work() } catch let error as JSONCoding.Failure { throw CurlewError(error) }
}
