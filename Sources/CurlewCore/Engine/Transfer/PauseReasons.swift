/// The reasons for a pause: the reader, a missing body, the user, or a rate limit.
struct PauseReasons: OptionSet {
    let rawValue: UInt8
    static let reader = PauseReasons(rawValue: 1)
    static let body = PauseReasons(rawValue: 2)
    static let suspended = PauseReasons(rawValue: 4)
    static let sendingRate = PauseReasons(rawValue: 8)
    static let receivingRate = PauseReasons(rawValue: 16)

    /// The reasons that pause reading; the next property has the reasons that pause sending.
    static let receiving: PauseReasons = [.reader, .suspended, .receivingRate]
    static let sending: PauseReasons = [.body, .suspended, .sendingRate]
}
