internal import CurlewPlatform

/// The common format of the files of both stores, which is curl's: lines of words, with a time in quotes.
enum OriginFile {
    /// The most unreadable lines in a report.
    private static let skippedLimit = 100

    /// Writes the text of a store. The file is replaced in one step.
    /// - Throws: ``CurlewError`` with ``ErrorCode/originFileFailed``.
    static func save(_ text: String, to path: String, of contents: String) async throws {
        do {
            try await KeptFile(path: path).write(Array(text.utf8))
        } catch {
            throw CurlewError(.originFileFailed, "the \(contents) cannot be written", underlying: error)
        }
    }

    /// Reads the file of a store.
    /// - Throws: The errors of ``save(_:to:of:)``; also for a file that is larger than `limit`.
    static func bytes(of path: String, upTo limit: ByteSize, of contents: String) async throws -> [UInt8] {
        do {
            return try await KeptFile(path: path).read(upTo: limit, code: .originFileFailed)
        } catch {
            throw CurlewError(.originFileFailed, "the \(contents) cannot be read", underlying: error)
        }
    }

    /// The entries of a file, and the numbers of the first invalid lines. Empty lines and comments are skipped.
    static func read<Entry>(_ bytes: [UInt8], _ entry: ([String]) -> Entry?) -> (entries: [Entry], skipped: [Int]) {
        var entries: [Entry] = []
        var skipped: [Int] = []
        var rest = bytes[...]
        var number = 0
        while !rest.isEmpty {
            let end = rest.firstIndex(of: .lineFeed) ?? rest.endIndex
            let line = rest[..<end].trimmingBlanks
            rest = rest[end...].dropFirst()
            number += 1
            guard let first = line.first, first != .numberSign, first != .carriageReturn else { continue }
            if let words = words(of: line), let entry = entry(words) {
                entries.append(entry)
            } else if skipped.count < skippedLimit {
                skipped.append(number)
            }
        }
        return (entries, skipped)
    }

    /// The words of a line; a quoted text is one word. nil for a line that is not ASCII text, or is too long.
    private static func words(of line: ArraySlice<UInt8>) -> [String]? {
        guard line.count <= 2048, line.allSatisfy({ $0 < 0x7F && ($0 >= 0x20 || $0 == .tab || $0 == .carriageReturn) })
        else { return nil }
        var scanner = ByteScanner(line)
        var words: [String] = []
        while true {
            scanner.skip { $0.isBlank || $0 == .carriageReturn }
            guard !scanner.isAtEnd else { return words }
            if scanner.next == .quote {
                words.append(String(decoding: scanner.takeQuotedString() ?? [], as: UTF8.self))
            } else {
                words.append(
                    String(decoding: scanner.take { !$0.isBlank && $0 != .carriageReturn }, as: UTF8.self))
            }
        }
    }

    // MARK: Times

    /// The time in the form `YYYYMMDD HH:MM:SS`, UTC.
    static func text(of seconds: Int64) -> String {
        var time = time_t(min(max(seconds, 0), latest))
        var parts = tm()
        gmtime_r(&time, &parts)
        func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)\(digits(parts.tm_mon + 1))\(digits(parts.tm_mday)) "
            + "\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))"
    }

    /// The last second of the year 9999.
    static let latest: Int64 = 253_402_300_799

    /// The seconds since 1970; nil for an invalid time. curl writes `unlimited` for the latest time.
    static func seconds(of text: String) -> Int64? {
        if text == "unlimited" { return latest }
        let bytes = Array(text.utf8)
        guard bytes.count == 17, bytes[8] == .space, bytes[11] == .colon, bytes[14] == .colon else { return nil }
        func number(_ range: Range<Int>) -> Int32? {
            guard bytes[range].allSatisfy(\.isDigit) else { return nil }
            return bytes[range].reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
        }
        guard let year = number(0..<4), year >= 1970, let month = number(4..<6), (1...12).contains(month),
            let day = number(6..<8), (1...31).contains(day), let hour = number(9..<11), hour < 24,
            let minute = number(12..<14), minute < 60, let second = number(15..<17), second <= 60
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
        return Int64(timegm(&parts))
    }
}
