/// Checks a property list before Foundation's decoder sees it.
package enum PropertyListCheck {
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for what is no list, too deep, too large, or refers to
    ///   itself.
    package static func check(_ bytes: [UInt8], options: PropertyListReadingOptions) throws {
        if bytes.starts(with: "bplist0".utf8) {
            var walk = try BinaryPropertyListWalk(bytes, options: options)
            try walk.run()
            return
        }
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        let first = text.first { $0 != .space && $0 != .lineFeed && $0 != .carriageReturn && $0 != .tab }
        guard first == UInt8(ascii: "<") else { throw fault("it is neither XML nor binary") }
        // With NULs in it the text is UTF-16 or UTF-32, and its tags would not be seen here.
        guard !bytes.contains(0) else { throw fault("XML property lists are read as UTF-8 only") }
        try XMLTagScan.check(bytes, maximumDepth: options.maximumDepth, tagEnd: .first)
    }

    static func fault(_ message: String) -> CurlewError {
        CurlewError(.decodingFailed, "the property list cannot be used: \(message)")
    }
}
