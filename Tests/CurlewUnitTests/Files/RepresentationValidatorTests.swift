import HTTPTypes
import Testing
import ThreadWork

@testable import CurlewCore

@Suite("Validators of representations")
struct RepresentationValidatorTests {
    private static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let moment = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test("a strong entity tag is used as the validator", arguments: ["\"\"", "\"a\"", "\"5f-1!#~\""])
    func strongTag(_ tag: String) {
        #expect(ResumeToken.Validator([.eTag: tag])?.value == tag)
    }

    @Test(
        "a weak or invalid entity tag excludes any validator, even if there is a date",
        arguments: ["W/\"a\"", "w/\"a\"", "a", "\"a", "\"", "", "\"a\"b\"", "\"a b\"", "\"ä\"", "\"a\", \"b\""])
    func weakTag(_ tag: String) {
        #expect(ResumeToken.Validator([.eTag: tag, .lastModified: Self.earlier, .date: Self.moment]) == nil)
    }

    @Test("an entity tag of more than 1,024 bytes is not used")
    func longTag() {
        #expect(ResumeToken.Validator(entityTag: "\"\(String(repeating: "a", count: 1022))\"") != nil)
        #expect(ResumeToken.Validator(entityTag: "\"\(String(repeating: "a", count: 1023))\"") == nil)
    }

    @Test("a date is strong only if it lies at least a second before the response's Date")
    func dates() {
        #expect(ResumeToken.Validator([.lastModified: Self.earlier, .date: Self.moment])?.value == Self.earlier)
        #expect(ResumeToken.Validator([.lastModified: Self.moment, .date: Self.moment]) == nil)
        #expect(ResumeToken.Validator([.lastModified: Self.moment, .date: Self.earlier]) == nil)
        #expect(ResumeToken.Validator([.lastModified: Self.earlier]) == nil)
        #expect(ResumeToken.Validator([.lastModified: "yesterday", .date: Self.moment]) == nil)
        #expect(ResumeToken.Validator([:]) == nil)
    }

    @Test("entity tags of combining marks are compared in linear time")
    func longComparison() {
        let marks = (0..<200_000).map { $0 % 2 == 0 ? "\u{301}" : "\u{323}" }.joined()
        let fields = HTTPFields(["\"a\(marks)\"", "\"a\(marks)b\""].map { HTTPField(name: .eTag, value: $0) })
        let time = processorTime { #expect(ResumeToken.Validator(fields) == nil) }
        #expect(time < .seconds(5))
    }

    @Test("a response with several different entity tags has no validator")
    func severalTags() {
        var fields: HTTPFields = [.eTag: "\"a\""]
        fields.append(HTTPField(name: .eTag, value: "\"a\""))
        #expect(ResumeToken.Validator(fields) != nil)
        fields.append(HTTPField(name: .eTag, value: "\"b\""))
        #expect(ResumeToken.Validator(fields) == nil)
    }

    @Test("a response matches a validator only with the same entity tag")
    func tagFits() throws {
        let validator = try #require(ResumeToken.Validator(entityTag: "\"a\""))
        #expect(validator.fits([.eTag: "\"a\""]))
        #expect(!validator.fits([.eTag: "\"b\""]))
        #expect(!validator.fits([.eTag: "W/\"a\""]))
        #expect(!validator.fits([:]))
    }

    @Test("a part matches with an equal or absent date, but not with a new entity tag")
    func dateFits() throws {
        let validator = try #require(ResumeToken.Validator(date: Self.earlier))
        #expect(validator.fits([.lastModified: Self.earlier]))
        #expect(validator.fits([:]))
        #expect(!validator.fits([.lastModified: Self.moment]))
        #expect(!validator.fits([.lastModified: Self.earlier, .eTag: "\"a\""]))
    }
}
