#if Service
import Curlew
import CurlewService
import Testing

@Suite("The article on configuration keys")
struct ConfigurationArticleTests {
    @Test("the table of the article equals the table of the code")
    func table() throws {
        let rows = HTTPSession.Settings.keys.map { key in
            let form = key.isSecret ? "\(key.form); secret" : key.form
            let isWords = key.defaultValue?.contains(" ") ?? true
            let standard = key.defaultValue.map { isWords ? $0 : "`\($0)`" } ?? "–"
            return "| `\(key.name)` | \(form) | \(standard) | \(key.meaning) |"
        }
        let found = try Article("Configuration").rows(of: "The keys")
        #expect(found == rows, "the table should be:\n\(rows.joined(separator: "\n"))\n")
    }

    @Test("the article shows code that compiles")
    func snippets() throws {
        try Article("Configuration").expectCompiled()
    }

    @Test("keys have unique names of small letters, digits and hyphens")
    func names() {
        let names = HTTPSession.Settings.keys.map(\.name)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*/) != nil, "\(name)")
        }
        // Variables have underscores for both dots and hyphens.
        let variables = names.map { $0.replacing("-", with: "_").replacing(".", with: "_") }
        #expect(Set(variables).count == variables.count)
    }
}
#endif
