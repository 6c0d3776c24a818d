/// What keeps bytes from flowing: the reader, the lack of a body to send, the user, or a limit of rate.
struct PauseReasons: OptionSet {
    let rawValue: UInt8
    static let reader = PauseReasons(rawValue: 1)
    static let body = PauseReasons(rawValue: 2)
    static let suspended = PauseReasons(rawValue: 4)
    static let sendingRate = PauseReasons(rawValue: 8)
    static let receivingRate = PauseReasons(rawValue: 16)

    /// Those that keep bytes from being read, and from being sent.
    static let receiving: PauseReasons = [.reader, .suspended, .receivingRate]
    static let sending: PauseReasons = [.body, .suspended, .sendingRate]
}
