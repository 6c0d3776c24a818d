extension CurlewError {
    /// Creates the library's error for an error of CurlewJSON.
    @inline(never)
    package init(_ error: JSONCoding.Failure) {
        let message =
            switch error.path {
            case nil: error.message
            case ""?: "the value of all parameters \(error.reason)"
            case let path?: "the parameter \(path) \(error.reason)"
            }
        self.init(
            error.code == .encodingFailed ? .encodingFailed : .decodingFailed, message, underlying: error.underlying)
    }

    /// The same error, or the library's error for an error of CurlewJSON.
    static func adopting(_ error: any Error) -> any Error {
        (error as? JSONCoding.Failure).map { CurlewError($0) } ?? error
    }
}

extension ParameterFailure {
    /// The failure as the library's error.
    var curlewError: CurlewError { CurlewError(error) }
}

/// Runs work with JSON or parameters, and converts errors of CurlewJSON to the library's error.
@inline(__always)
func throwingCurlewErrors<Result>(_ work: () throws -> Result) throws -> Result {
    do { return try work() } catch let error as JSONCoding.Failure { throw CurlewError(error) }
}
