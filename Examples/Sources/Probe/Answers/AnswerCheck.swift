internal import Curlew
internal import HTTPTypes

/// Looks at responses for what the library should have acted on and cannot yet: those are skipped, never passed off as
/// the answer.
enum AnswerCheck {
    static func check(_ response: Response, for order: Order) throws {
        if order.redirect != .manual, isRedirect(response) {
            throw LineProblem.unsupported("redirect \(order.redirect.rawValue)")
        }
        if order.decodes, let coding = response.fields[.contentEncoding], coding.lowercased() != "identity" {
            throw LineProblem.unsupported("decode \(coding)")
        }
    }

    private static func isRedirect(_ response: Response) -> Bool {
        [301, 302, 303, 307, 308].contains(response.status.code) && response.fields[.location] != nil
    }
}
