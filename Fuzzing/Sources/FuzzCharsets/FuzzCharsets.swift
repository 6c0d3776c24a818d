internal import FuzzingKit

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for text in legacy encodings. Repaired text must have a bounded size, and invalid bytes must not hide
/// quotation marks or angle brackets. Decoding without repairs must return the same text or an error.
///
/// The input is the bytes of a text; the choices of a label and an encoding come from its end.
@main
struct FuzzCharsets: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let encoding = choices.one(of: LegacyEncoding.allCases)
        checkLabel(choices.text(upTo: 40))
        let bytes = choices.rest
        guard let text = decoded(encoding, bytes, repairs: true) else {
            return require(false, "\(encoding) has no repaired text")
        }
        // The largest expansion is a letter and a mark for two bytes, and U+FFFD for one.
        require(text.utf8.count <= 3 * bytes.count, "\(encoding) makes more of a text than it can be")
        let strict = decoded(encoding, bytes, repairs: false)
        if let strict { requireEqual(strict, text, "\(encoding) repairs what is valid") }
        require(
            strict != nil || text.unicodeScalars.contains("\u{FFFD}"), "\(encoding) has an error that is not marked")
        checkMarks(encoding, bytes, text)
        checkJoining(encoding, bytes, text)
    }

    private static func decoded(_ encoding: LegacyEncoding, _ bytes: [UInt8], repairs: Bool) -> String? {
        do { return try encoding.decode(bytes[...], repairs: repairs) } catch {
            require(false, "\(encoding): \(error)")
            return nil
        }
    }

    /// Checks that ASCII marks are not hidden. In ISO-2022-JP these bytes are parts of characters.
    private static func checkMarks(_ encoding: LegacyEncoding, _ bytes: [UInt8], _ text: String) {
        guard encoding != .iso2022Japanese else { return }
        for mark in "\"<>&'".utf8 {
            requireEqual(
                bytes.count { $0 == mark }, text.utf8.count { $0 == mark }, "\(encoding) hides a mark of ASCII")
        }
    }

    /// Checks that separate lines are decoded like the complete text, because a line feed ends an incomplete character.
    /// In GB 18030 a digit of a truncated code is part of the error only at the end of a text.
    private static func checkJoining(_ encoding: LegacyEncoding, _ bytes: [UInt8], _ text: String) {
        guard ![.iso2022Japanese, .gb18030, .gbk].contains(encoding) else { return }
        let lines = bytes.split(separator: .lineFeed, omittingEmptySubsequences: false)
        let apart = lines.compactMap { decoded(encoding, Array($0), repairs: true) }.joined(separator: "\n")
        require(apart.hasSameBytes(as: text), "\(encoding) decodes lines otherwise than their text")
    }

    /// Checks that a label means an encoding whose name is a label of the same encoding.
    private static func checkLabel(_ label: String) {
        guard let encoding = ResponseSerializers.Text.Encoding(name: label) else {
            let message = CharsetLabels.unknown(label, of: "a text").message
            require(message.unicodeScalars.count < 100, "an error is as long as a label")
            return require(!message.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "an error holds a control character")
        }
        require(label.utf8.allSatisfy { $0 < 0x80 }, "a label is not ASCII")
        requireEqual(
            ResponseSerializers.Text.Encoding(name: encoding.description), encoding,
            "a name stands for another encoding")
    }
}
