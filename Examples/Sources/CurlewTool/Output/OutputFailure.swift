import Curlew

/// A failure of the output.
enum OutputFailure: Error {
    /// The reader of the pipe has gone.
    case closed
    case failed(CurlewError)
}
