import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Standard fields of a request")
struct StandardFieldsTests {
    @Test(
        "languages are read from the environment",
        arguments: [
            ([:], nil), (["LANG": "C"], nil), (["LANG": "C.UTF-8"], nil), (["LANG": "POSIX"], nil), (["LANG": ""], nil),
            (["LANG": "en_US.UTF-8"], "en-US;q=1"),
            (["LANG": "de"], "de;q=1"),
            (["LANG": "en_US", "LC_MESSAGES": "fr_FR", "LC_ALL": ""], "fr-FR;q=1"),
            (["LANG": "en_US", "LC_MESSAGES": "fr_FR", "LC_ALL": "de_AT@euro"], "de-AT;q=1"),
            (["LANG": "en_US", "LC_ALL": "C", "LANGUAGE": "fr"], nil),
            (["LANG": "en_US", "LANGUAGE": "fr_CA:fr:en_US:C:"], "fr-CA;q=1, fr;q=0.9, en-US;q=0.8"),
            (["LANG": "sr_RS.UTF-8@latin"], "sr-Latn-RS;q=1"),
            (["LANG": "zh_Hant_TW"], "zh-Hant-TW;q=1"),
            (["LANG": "EN_gb"], "en-gb;q=1"),
            (
                ["LANG": "aa", "LANGUAGE": "ab:af:ak:am:an:ar:as"],
                "ab;q=1, af;q=0.9, ak;q=0.8, am;q=0.7, an;q=0.6, ar;q=0.5"
            ),
            (["LANG": "en\r\nEvil: 1"], nil), (["LANG": "_"], nil), (["LANG": "x"], nil), (["LANG": "\u{e9}n"], nil),
            (["LANG": "en_US", "LANGUAGE": "f;q=9:e\n"], "en-US;q=1"), (["LANG": "en_"], nil), (["LANG": "."], nil),
        ] as [([String: String], String?)])
    func languages(_ environment: [String: String], _ expected: String?) {
        #expect(LanguagePreference(environment).acceptLanguage == expected)
    }

    @Test("Accept-Language is the only standard field")
    func standard() {
        #expect(HTTPRequestSerializer.standardFields.allSatisfy { $0.name == .acceptLanguage })
    }
}
