import Curlew
import HTTPTypes
import Testing

@Suite("Appending parameters to a query")
struct QueryAppendingTests {
    @Test(
        "a single separator precedes the appended parameters",
        arguments: [
            ("/p", "/p?a=1"), ("/p?", "/p?a=1"), ("/p?x=2", "/p?x=2&a=1"), ("/p?x=2&", "/p?x=2&a=1"),
            ("/p?x=2&&", "/p?x=2&&a=1"), ("/p?&", "/p?&a=1"), ("/p?x", "/p?x&a=1"), ("/p?x=", "/p?x=&a=1"),
            ("/p??", "/p??&a=1"), ("/p?x=a%26", "/p?x=a%26&a=1"), ("?", "/?a=1"), ("", "/?a=1"),
        ])
    func separators(_ path: String, _ expected: String) throws {
        for fragment in ["", "#", "#f", "#?&"] {
            let uri = try CurlewURI("http://a.test\(path)\(fragment)")
            for added in ["a=1", "&a=1", "&&a=1"] {
                let joined = try uri.appending(query: added)
                #expect(joined.description == "http://a.test\(expected)\(fragment)", "\(added)")
                #expect(try CurlewURI(joined.description) == joined)
                #expect(joined.fragment == uri.fragment)
            }
        }
    }

    @Test(
        "an empty query to append leaves a URI unchanged", arguments: ["/p", "/p?", "/p?x", "/p?x&", "/p#f", "/p?#f"])
    func nothing(_ path: String) throws {
        let uri = try CurlewURI("http://a.test\(path)")
        #expect(try uri.appending(query: "") == uri && uri.appending(query: "&") == uri)
    }

    @Test(
        "parameters of a request follow an existing query after one separator",
        arguments: ["/p?", "/p?x=2&", "/p?x=2"])
    func parameters(_ path: String) throws {
        let request = try HTTPRequestSerializer().serialize(
            ["a": 1] as ParameterValue, into: CurlewRequest(.get, "http://a.test\(path)#f"))
        let expected = path == "/p?" ? "/p?a=1" : "/p?x=2&a=1"
        #expect(request.uri.description == "http://a.test\(expected)#f")
    }
}
