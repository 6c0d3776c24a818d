import Testing

@testable import CurlewCore

@Suite("Media types by file extension")
struct FileExtensionTableTests {
    private var entries: [(name: String, type: String)] {
        FileExtensionTable.entries.split(separator: " ").map { entry in
            let parts = entry.split(separator: "=", maxSplits: 1)
            return (String(parts[0]), String(parts[1]))
        }
    }

    @Test("the table has more than a thousand entries in order, and each is found")
    func everyEntry() throws {
        let names = entries.map(\.name)
        #expect(names.count > 1000)
        #expect(zip(names, names.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        for entry in entries {
            let type = try #require(FileExtensionTable.mediaType(forExtension: entry.name), "\(entry.name)")
            #expect(type.hasSuffix(entry.type.dropFirst()))
            #expect(type.wholeMatch(of: /[a-z]+\/[A-Za-z0-9][-A-Za-z0-9!#$&^_.+]*/) != nil, "\(type)")
            #expect(FileExtensionTable.mediaType(forExtension: entry.name + "\u{7f}") == nil)
        }
    }

    @Test(
        "well-known file extensions have their media types",
        arguments: [
            ("a.jpg", "image/jpeg"), ("a.JPEG", "image/jpeg"), ("a.png", "image/png"), ("a.webp", "image/webp"),
            ("a.txt", "text/plain"), ("a.html", "text/html"), ("a.json", "application/json"),
            ("a.xml", "application/xml"),
            ("a.pdf", "application/pdf"), ("a.zip", "application/zip"), ("a.tar.gz", "application/gzip"),
            ("a.mp3", "audio/mpeg"), ("a.mp4", "video/mp4"), ("a.svg", "image/svg+xml"), ("a.js", "text/javascript"),
            ("a.csv", "text/csv"), ("a.yaml", "application/yaml"), ("a.woff2", "font/woff2"), ("a.stl", "model/stl"),
            ("a.eml", "message/rfc822"), ("a.mol", "chemical/x-mdl-molfile"), ("a.7z", "application/x-7z-compressed"),
            ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            ("a.cwl.json", "application/cwl+json"), (".hidden.png", "image/png"),
            ("123.123", "application/vnd.lotus-1-2-3"),
            ("zst.zst", "application/zstd"),
        ])
    func known(_ name: String, _ type: String) { #expect(MultipartFormData.contentType(forFileNamed: name) == type) }

    @Test(
        "a file name without a known extension is application/octet-stream",
        arguments: [
            "", ".", "..", "png", ".png", "a.", "a.nosuch", "a.p ng", "a.é", "a. png", "a.=", "a.1", "a.zzzzzz",
        ])
    func unknown(_ name: String) {
        #expect(MultipartFormData.contentType(forFileNamed: name) == "application/octet-stream")
    }
}
