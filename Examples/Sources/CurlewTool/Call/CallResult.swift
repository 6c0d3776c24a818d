import Curlew

/// The result of a call, complete or not.
struct CallResult {
    /// The URL of the request.
    let url: String
    /// The response; nil before its head.
    var response: CurlewResponse?
    /// The bytes of the body that were received.
    var size: Int64 = 0
    var error: (any Error)?
}
