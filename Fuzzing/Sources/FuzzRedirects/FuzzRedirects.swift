internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for redirects. For every Location the next request must have a valid URI with `http` or `https`. The
/// redirect must never lead from `https` to `http`, nor send secrets to another origin.
///
/// The input is a URI, a line feed, and the value of Location; the last bytes choose status and method.
@main
struct FuzzRedirects: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let status = choices.one(of: [301, 302, 303, 307, 308])
        let method = choices.one(of: [HTTPRequest.Method.get, .head, .post, .put])
        let parts = choices.rest.split(separator: .lineFeed, maxSplits: 1, omittingEmptySubsequences: false)
        guard let uri = try? CurlewURI(String(decoding: parts[0], as: UTF8.self)), parts.count == 2 else { return }
        let location = HTTPField(name: .location, lenientValue: parts[1])
        let request = CurlewRequest(
            method, uri, fields: fields, body: method == .get || method == .head ? .none : .string("x"))
        let rule = RedirectRule(changesPostToGet: true, allowsDowngrade: false, secretFields: [mark])
        let redirect = HTTPResponse(status: .init(code: status), headerFields: HTTPFields([location]))
        do {
            guard let next = try rule.request(after: redirect, to: request) else {
                return require(false, "a redirect with a Location is taken for one without")
            }
            check(next, after: status, to: request, String(decoding: parts[1], as: UTF8.self))
        } catch let error as CurlewError {
            requireEqual(error.code, .invalidRedirect, "a redirect fails in another way")
        } catch {
            require(false, "a redirect fails with a foreign error: \(error)")
        }
    }

    private static func check(_ next: CurlewRequest, after status: Int, to request: CurlewRequest, _ location: String) {
        let text = next.uri.description
        requireEqual((try? CurlewURI(text))?.description, text, "the target is another when it is read again")
        require(next.uri.host != "", "the target has no host")
        if !location.utf8.contains(UInt8(ascii: "#")) {
            requireEqual(next.uri.fragment, request.uri.fragment, "the fragment is not inherited")
        }
        let isSame = next.uri.origin == request.uri.origin
        requireEqual(next.uri.hasSameOrigin(as: request.uri), isSame, "origins are compared otherwise")
        for name in [HTTPField.Name.authorization, .cookie, .proxyAuthorization, mark] {
            requireEqual(next.fields.contains(name), isSame, "\(name) is in the wrong place")
        }
        requireEqual(next.uri.userInformation, isSame ? request.uri.userInformation : nil, "the user is another")
        requireEqual(next.fields[.accept], "a/b", "a field is lost")
        let isRetrieval = request.method == .get || request.method == .head
        let keepsContent = status >= 307 || isRetrieval || status != 303 && request.method != .post
        requireEqual(next.fields.contains(.contentType), keepsContent, "the fields of the body are in the wrong place")
        requireEqual(next.body.isNone, !keepsContent || request.body.isNone, "the body is in the wrong place")
        if status >= 307 { requireEqual(next.method, request.method, "the method changes") }
        if status == 303 { require(next.method == .get || next.method == .head, "the method does not change") }
    }

    private static let mark = HTTPField.Name("X-Mark")!
    private static let fields: HTTPFields = [
        .authorization: "Bearer a", .cookie: "b=1", .proxyAuthorization: "Basic c", mark: "d", .accept: "a/b",
        .contentType: "text/plain",
    ]
}
