internal import Curlew

/// A shared credentials file: profiles in brackets with names and values, by the rules of botocore.
///
/// - Lines that begin with `#` or `;` are comments. A `#` after a value belongs to the value.
/// - A line with a larger indent than the previous line continues its value.
/// - The values of the section `DEFAULT` are part of all profiles.
/// - A profile or a name that occurs twice, a line without `=` or `:`, and bytes that are not UTF-8 make the file
///   invalid.
struct AWSProfileFile {
    /// A value, or the names and values in the indented lines below an empty value.
    enum Value: Hashable {
        case text(String)
        case nested([[UInt8]: String])
    }

    private typealias Section = [[UInt8]: [String]]

    /// The largest size of a file: 1 MiB.
    static let sizeLimit = 1 << 20

    /// The profiles by name, and the values of each profile by name. Names are compared as bytes.
    let profiles: [[UInt8]: [[UInt8]: Value]]

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for an invalid file.
    init(_ bytes: [UInt8]) throws(CurlewError) {
        guard bytes.count <= Self.sizeLimit else {
            throw CurlewError(.invalidCredential, "an AWS credentials file has more than \(Self.sizeLimit) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CurlewError(.invalidCredential, "an AWS credentials file is not UTF-8")
        }
        var reader = Reader()
        var scalars = Array(text.unicodeScalars)[...]
        while !scalars.isEmpty {
            let line = scalars.prefix { $0 != "\n" && $0 != "\r" }
            scalars = scalars[line.endIndex...]
            if scalars.first == "\r", scalars.dropFirst().first == "\n" { scalars = scalars.dropFirst() }
            scalars = scalars.dropFirst()
            try reader.read(line)
        }
        var profiles: [[UInt8]: [[UInt8]: Value]] = [:]
        for (name, section) in reader.sections where !name.elementsEqual("DEFAULT".utf8) {
            let merged = (reader.sections[Array("DEFAULT".utf8)] ?? [:]).merging(section) { $1 }
            var values: [[UInt8]: Value] = [:]
            for (key, lines) in merged { values[key] = try Self.value(of: lines) }
            profiles[name] = values
        }
        self.profiles = profiles
    }

    private static func value(of lines: [String]) throws(CurlewError) -> Value {
        let text = trimmedEnd(lines.joined(separator: "\n").unicodeScalars)
        guard text.unicodeScalars.first == "\n" else { return .text(text) }
        var nested: [[UInt8]: String] = [:]
        for line in text.unicodeScalars.split(whereSeparator: \.isLineEnd) where !line.allSatisfy(\.isBlankOfPython) {
            guard let equals = line.firstIndex(of: "=") else {
                throw CurlewError(.invalidCredential, "an indented line of an AWS credentials file has no equals sign")
            }
            nested[Array(trimmed(line[..<equals]).utf8)] = trimmed(line[line.index(after: equals)...])
        }
        return .nested(nested)
    }

    /// The value of a name in a profile; nil if either is missing.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for a nested value.
    func text(of name: String, in profile: String) throws(CurlewError) -> String? {
        switch profiles[Array(profile.utf8)]?[Array(name.utf8)] {
        case nil: return nil
        case .text(let text): return text
        case .nested: throw CurlewError(.invalidCredential, "\(name) of the AWS credentials file has no simple value")
        }
    }

    fileprivate static func trimmed(_ text: some BidirectionalCollection<Unicode.Scalar>) -> String {
        trimmedEnd(text.drop(while: \.isBlankOfPython))
    }

    fileprivate static func trimmedEnd(_ text: some BidirectionalCollection<Unicode.Scalar>) -> String {
        let end = text.lastIndex { !$0.isBlankOfPython }.map(text.index(after:)) ?? text.startIndex
        return String(String.UnicodeScalarView(text[..<end]))
    }
}

extension AWSProfileFile {
    /// The state between two lines.
    private struct Reader {
        var sections: [[UInt8]: Section] = [:]
        private var section: [UInt8]?
        private var key: [UInt8]?
        private var indentation = 0

        mutating func read(_ line: ArraySlice<Unicode.Scalar>) throws(CurlewError) {
            let text = AWSProfileFile.trimmed(line).unicodeScalars
            guard let first = text.first else {
                if let section, let key { sections[section]?[key]?.append("") }
                return
            }
            guard first != "#", first != ";" else { return }
            let column = line.prefix(while: \.isBlankOfPython).count
            if let section, let key, column > indentation {
                sections[section]?[key]?.append(String(text))
                return
            }
            indentation = column
            if first == "[", let end = text.lastIndex(of: "]"), text.distance(from: text.startIndex, to: end) > 1 {
                try begin(Array(String(text[text.index(after: text.startIndex)..<end]).utf8))
            } else {
                try addValue(text)
            }
        }

        private mutating func begin(_ name: [UInt8]) throws(CurlewError) {
            guard sections[name] == nil || name.elementsEqual("DEFAULT".utf8) else {
                throw CurlewError(.invalidCredential, "an AWS credentials file has a profile twice")
            }
            if sections[name] == nil { sections[name] = [:] }
            section = name
            key = nil
        }

        private mutating func addValue(_ text: String.UnicodeScalarView) throws(CurlewError) {
            guard let section else {
                throw CurlewError(.invalidCredential, "an AWS credentials file has a line before its first profile")
            }
            guard let delimiter = text.firstIndex(where: { $0 == "=" || $0 == ":" }), delimiter != text.startIndex
            else {
                throw CurlewError(.invalidCredential, "an AWS credentials file has a line without a name and a value")
            }
            let key = Array(AWSProfileFile.trimmed(text[..<delimiter]).lowercased().utf8)
            guard sections[section]?[key] == nil else {
                throw CurlewError(.invalidCredential, "an AWS credentials file has a name twice in a profile")
            }
            sections[section]?[key] = [AWSProfileFile.trimmed(text[text.index(after: delimiter)...])]
            self.key = key
        }
    }
}

extension Unicode.Scalar {
    /// True for white space by the rules of Python, the language of botocore.
    fileprivate var isBlankOfPython: Bool { properties.isWhitespace || (0x1C...0x1F).contains(value) }

    /// True for a line end by the rules of Python.
    fileprivate var isLineEnd: Bool {
        switch value {
        case 0x0A...0x0D, 0x1C...0x1E, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }
}
