import Curlew
import Foundation
import Testing

@testable import CurlewCredentials

@Suite("Problem details")
struct ProblemDetailsTests {
    func problem(_ json: String) throws -> ProblemDetails {
        try JSONDecoder().decode(ProblemDetails.self, from: Data(json.utf8))
    }

    @Test("the example of RFC 9457 is decoded, with its additional members")
    func example() throws {
        struct Credit: Decodable, Equatable {
            var balance: Int
            var accounts: [String]
        }
        let json = """
            {"type": "https://example.com/probs/out-of-credit", "title": "You do not have enough credit.",
            "detail": "Your current balance is 30, but that costs 50.", "instance": "/account/12345/msgs/abc",
            "balance": 30, "accounts": ["/account/12345", "/account/67890"], "status": 403}
            """
        let result = try JSONDecoder().decode(ProblemDetails.WithExtensions<Credit>.self, from: Data(json.utf8))
        #expect(result.extensions == Credit(balance: 30, accounts: ["/account/12345", "/account/67890"]))
        #expect(
            result.problem
                == ProblemDetails(
                    type: "https://example.com/probs/out-of-credit", title: "You do not have enough credit.",
                    status: 403,
                    detail: "Your current balance is 30, but that costs 50.", instance: "/account/12345/msgs/abc"))
        #expect(
            result.problem.description
                == "You do not have enough credit. (403)")
        #expect(result.problem.hasType("https://example.com/probs/out-of-credit"))
        let other = try JSONDecoder().decode(
            ProblemDetails.WithExtensions<Credit>.self, from: Data(#"{"title":"x","balance":"30"}"#.utf8))
        #expect(other.extensions == nil)
        #expect(other.problem.title == "x")
    }

    @Test("members of wrong types are ignored")
    func wrongTypes() throws {
        let wrong = try problem(#"{"type":1,"title":[],"status":"403","detail":{},"instance":false}"#)
        #expect(wrong == ProblemDetails())
        #expect(wrong.description == "about:blank")
        #expect(try problem(#"{"type":null,"title":null,"status":null}"#) == ProblemDetails())
        #expect(try problem("{}") == ProblemDetails())
        for status in ["99", "1000", "-1", "1e30", "403.5", "9223372036854775808"] {
            #expect(try problem("{\"status\":\(status)}").status == nil)
        }
    }

    @Test("JSON that is not an object is an error", arguments: ["[]", "1", "\"x\"", "null", "true"])
    func noObject(_ json: String) {
        #expect(throws: DecodingError.self) { try problem(json) }
    }

    @Test("the description has one line of bounded length")
    func description() throws {
        let long = String(repeating: "x", count: 5000)
        let problem = try problem("{\"title\":\"a\\r\\nb\\u001b[0m\",\"status\":500,\"detail\":\"\(long)\"}")
        #expect(problem.description == "a\\r\\nb\\u{1B}[0m (500)")
        let marks = ProblemDetails(title: String(repeating: "\u{202E}", count: 200), status: 500)
        #expect(marks.description.unicodeScalars.count <= 210)
        #expect(marks.description.hasSuffix("\\u{202E}… (500)"))
    }

    @Test("canonically equivalent texts are not equal")
    func bytes() {
        #expect(ProblemDetails(title: "e\u{301}") != ProblemDetails(title: "\u{E9}"))
        #expect(Set([ProblemDetails(title: "e\u{301}"), ProblemDetails(title: "\u{E9}")]).count == 2)
    }

    @Test("the media type is recognized in any case and with parameters")
    func mediaType() {
        for type in [
            "application/problem+json", "Application/Problem+JSON; charset=utf-8", " application/problem+json ;x",
        ] {
            #expect(ProblemDetails.isMediaType(type))
        }
        for type in ["application/json", "application/problem+xml", "", "application/problem+json5"] {
            #expect(!ProblemDetails.isMediaType(type))
        }
    }
}
