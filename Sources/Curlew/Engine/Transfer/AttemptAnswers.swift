internal import HTTPTypes

/// The plan of an attempt, and its answers to libcurl and to lines of a head.
extension Attempt {
    /// How an attempt differs from the others of its exchange.
    struct Plan: Equatable {
        var number = 1
        /// The kept connections that had ended before.
        var losses = 0
        /// On a new connection.
        var isFresh = false
        /// Without the expectation that the server refused.
        var isUnexpecting = false
        /// Over HTTP/1.1, as the server requires it.
        var isHTTP11 = false
    }

    /// The answer to libcurl when it wants to open a socket.
    enum Opening {
        /// The socket of the connection that was chosen.
        case handOver(Connection)
        /// A new one towards the same end: libcurl answers a challenge, and the peer has closed the connection that it came over.
        case again(Connection)
        case refused
    }

    /// The answer to libcurl when it asks for leave to send.
    enum Leave {
        /// It may go on to choose the connection.
        case granted
        /// The same, and what has been is an attempt of its own to the figures: libcurl repeats the request by itself.
        case grantedAgain
        case refused
        case refusedAgain

        var isGranted: Bool { self == .granted || self == .grantedAgain }
        var isRepetition: Bool { self == .grantedAgain || self == .refusedAgain }
    }

    /// The consequence of a line of a head.
    enum LineAction {
        case nothing
        case interim(HTTPResponse)
        /// The final head: it is to be published once the effects are done.
        case head(HTTPResponse, HeadEffects)
        /// The same, but libcurl may answer it.
        case challenge(HTTPResponse, HeadEffects)
        /// The engine is to stop; ``failure`` or ``rejection`` says why.
        case stop
    }

    /// The demands of a head on the engine.
    struct HeadEffects: OptionSet {
        let rawValue: UInt8
        /// The connection is to be closed after the exchange.
        static let closesConnection = HeadEffects(rawValue: 1)
        /// The raw bytes of the body are to be looked at.
        static let showsRawBody = HeadEffects(rawValue: 2)
    }
}
