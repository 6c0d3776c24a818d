internal import Curlew
public import FoundationEssentials
public import HTTPTypes

extension AWSSignature {
    /// The difference between the server's clock and this machine's, from a response that refuses a signature because
    /// of its time.
    ///
    /// The codes of some errors name the clock as the cause. Other errors, such as `SignatureDoesNotMatch`, may have
    /// this cause; for them the clocks must differ by at least four minutes. Add the result to the time of the next
    /// signature.
    /// - Parameters:
    ///   - response: The response; its field Date has the server's time.
    ///   - errorCode: The code of the error in the body, such as `RequestTimeTooSkewed`; nil uses the field
    ///     `X-Amzn-ErrorType`.
    ///   - moment: This machine's time when the response arrived.
    ///   - limit: The largest accepted difference, 24 hours by default. With a larger one, a server could collect
    ///     signatures that are valid in the far future.
    /// - Returns: nil if the response does not concern the clock, or if the difference exceeds the limit.
    public static func clockOffset(
        from response: HTTPResponse, errorCode: String? = nil, at moment: Date, limit: Duration = .seconds(86_400)
    ) -> Duration? {
        guard [400, 401, 403].contains(response.status.code),
            let code = (errorCode ?? response.headerFields[.amznErrorType]).map(Self.name),
            let text = response.headerFields[.date], let served = TimeText.httpDate(text)
        else { return nil }
        let seconds = CalendarTime.wholeSeconds(of: served) - CalendarTime.wholeSeconds(of: moment)
        let isCertain = skewCodes.contains { $0.hasSameBytes(as: code) }
        let isPossible = possibleCodes.contains { $0.hasSameBytes(as: code) } && abs(seconds) >= 240
        guard isCertain || isPossible, .seconds(abs(seconds)) <= limit else { return nil }
        return .seconds(seconds)
    }

    /// The name of an error without a namespace before it and a URL after it: `com.amazonaws#Name:http://…`.
    private static func name(_ code: String) -> String {
        let name = Array(code.utf8.prefix { $0 != .colon })
        let start = name.lastIndex(of: .numberSign).map { $0 + 1 } ?? 0
        return String(decoding: name[start...], as: UTF8.self)
    }

    private static let skewCodes = ["RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"]
    private static let possibleCodes = [
        "InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "AccessDenied", "ExpiredTokenException",
    ]
}

extension HTTPField.Name {
    static let amznErrorType = Self("X-Amzn-ErrorType")!
}
