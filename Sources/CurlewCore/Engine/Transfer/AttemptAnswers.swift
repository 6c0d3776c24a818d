internal import HTTPTypes

/// The plan of an attempt, and its results for libcurl's callbacks and for lines of a head.
extension Attempt {
    /// The differences of an attempt from the others of its exchange.
    struct Plan: Equatable {
        var number = 1
        /// The number of kept connections that had already ended.
        var losses = 0
        /// True for a new connection.
        var isFresh = false
        /// True without the expectation that the server has rejected.
        var isUnexpecting = false
        /// True for HTTP/1.1, if the server requires it.
        var isHTTP11 = false
        /// True for a connection over TCP, although the request prefers HTTP/3.
        var isOverTCP = false

        /// True if an earlier attempt of the exchange was sent or lost its connection.
        var isRepetition: Bool { number > 1 || losses > 0 }
    }

    /// The result of libcurl's request to open a socket.
    enum Opening {
        /// The socket of the chosen connection.
        case handOver(Connection)
        /// A new socket to the same peer: libcurl answers a challenge, and the peer has closed the connection.
        case again(Connection)
        case refused
    }

    /// The result of libcurl's request to send.
    enum Leave {
        /// libcurl may send, if the check of the connection succeeds too.
        case granted
        /// As ``granted``. The previous exchange counts as a separate attempt in the metrics, because libcurl repeats
        /// the request by itself.
        case grantedAgain
        case refused
        case refusedAgain

        var isGranted: Bool { self == .granted || self == .grantedAgain }
        var isRepetition: Bool { self == .grantedAgain || self == .refusedAgain }
    }

    /// The action after a line of a head.
    enum LineAction {
        case nothing
        case interim(HTTPResponse)
        /// The final head. It is published after the effects are performed.
        case head(HTTPResponse, HeadEffects)
        /// A final head that libcurl may answer by itself.
        case challenge(HTTPResponse, HeadEffects)
        /// libcurl must stop; ``failure`` or ``rejection`` has the reason.
        case stop
    }

    /// The effects of a head on libcurl's handle.
    struct HeadEffects: OptionSet {
        let rawValue: UInt8
        /// The connection is closed after the exchange.
        static let closesConnection = HeadEffects(rawValue: 1)
        /// The raw bytes of the body and libcurl's messages are observed.
        static let showsRawBody = HeadEffects(rawValue: 2)
    }

    /// The outcome of an exchange that ended before the body was sent.
    mutating func outcomeBeforeBody() -> Result<HTTPFields, CurlewError> {
        guard end == .answered else {
            return .failure(CurlewError(.responseTruncated, "the connection ended before the body of the response did"))
        }
        return outcome(after: nil)
    }
}
