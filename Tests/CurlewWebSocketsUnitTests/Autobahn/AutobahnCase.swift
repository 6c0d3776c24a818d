import TestHelpers
import Testing

@testable import CurlewWebSockets

/// A case of the Autobahn test suite: the frames of the peer, and the frames of the echo.
///
/// The suite's cases that differ only in the pieces of their frames are one case here. Each case is run in several
/// pieces.
struct AutobahnCase: CustomTestStringConvertible {
    /// The numbers of the cases in Autobahn's list.
    let ids: String
    let frames: [PlainFrame]
    var replies: [PlainFrame]
    /// The code of the close frame after the replies; nil without such a frame.
    var closeCode: UInt16?

    init(_ ids: String, _ frames: [PlainFrame], replies: [PlainFrame] = [], closeCode: UInt16? = nil) {
        self.ids = ids
        self.frames = frames
        self.replies = replies
        self.closeCode = closeCode
    }

    var testDescription: String { ids }

    /// A case whose frames are echoed, and that the peer closes with 1000.
    static func echo(_ ids: String, _ frames: [PlainFrame], _ replies: [PlainFrame]) -> AutobahnCase {
        AutobahnCase(ids, frames + [.close(1000)], replies: replies, closeCode: 1000)
    }

    /// A case whose last frames violate the protocol or follow a violation.
    static func fault(
        _ ids: String, _ frames: [PlainFrame], _ replies: [PlainFrame] = [], code: UInt16 = 1002
    ) -> AutobahnCase { AutobahnCase(ids, frames, replies: replies, closeCode: code) }
}

extension AutobahnCase {
    private static let hello = PlainFrame.text("Hello, world!")
    private static let ping = PlainFrame(9)
    private static let bytes: [UInt8] = [0x00, 0xFF, 0xFE, 0xFD, 0xFC, 0xFB, 0x00, 0xFF]

    /// Cases 1.*: framing.
    static let framing: [AutobahnCase] = [0, 125, 126, 127, 128, 65535, 65536].enumerated().flatMap { index, length in
        let number = length == 65536 ? "7, 1.1.8" : "\(index + 1)"
        let text = PlainFrame(1, [UInt8](repeating: UInt8(ascii: "*"), count: length))
        let binary = PlainFrame(2, [UInt8](repeating: 0xFE, count: length))
        return [
            echo("1.1.\(number)", [text], [text]),
            echo("1.2.\(number.replacing("1.1", with: "1.2"))", [binary], [binary]),
        ]
    }

    /// Cases 2.*: pings and pongs.
    static let pings: [AutobahnCase] =
        [[], Array("Hello, world!".utf8), bytes, [UInt8](repeating: 0xFE, count: 125)].enumerated().map {
            echo($0 == 3 ? "2.4, 2.6" : "2.\($0 + 1)", [PlainFrame(9, $1)], [PlainFrame(10, $1)])
        } + [
            fault("2.5", [PlainFrame(9, [UInt8](repeating: 0xFE, count: 126))]),
            echo("2.7", [PlainFrame(10)], []),
            echo("2.8", [PlainFrame(10, "unsolicited pong payload")], []),
            echo(
                "2.9", [PlainFrame(10, "unsolicited pong payload"), PlainFrame(9, "ping payload")],
                [PlainFrame(10, "ping payload")]),
            echo(
                "2.10, 2.11", (0..<10).map { PlainFrame(9, "payload-\($0)") },
                (0..<10).map { PlainFrame(10, "payload-\($0)") }),
        ]

    /// Cases 3.*: reserved bits.
    static let reservedBits: [AutobahnCase] =
        [fault("3.1", [PlainFrame(1, "Hello, world!", reserved: 1)])]
        + (2...4).map {
            fault("3.\($0)", [hello, PlainFrame(1, "Hello, world!", reserved: UInt8($0)), ping], [hello])
        } + [
            fault("3.5", [PlainFrame(2, bytes, reserved: 5)]),
            fault("3.6", [PlainFrame(9, "Hello, world!", reserved: 6)]),
            fault("3.7", [PlainFrame(8, [], reserved: 7)]),
        ]

    /// Cases 4.*: opcodes.
    static let opcodes: [AutobahnCase] =
        (3...7).map { opcode -> AutobahnCase in
            let frame = PlainFrame(UInt8(opcode), opcode.isMultiple(of: 2) ? "reserved opcode payload" : "")
            let id = "4.1.\(opcode - 2)"
            return opcode < 5 ? fault(id, [frame]) : fault(id, [hello, frame, ping], [hello])
        }
        + (11...15).map { opcode -> AutobahnCase in
            let frame = PlainFrame(UInt8(opcode), opcode.isMultiple(of: 2) ? "reserved opcode payload" : "")
            let id = "4.2.\(opcode - 10)"
            return opcode < 13 ? fault(id, [frame]) : fault(id, [hello, frame, ping], [hello])
        }

    private static func part(_ number: Int, isFinal: Bool, opcode: UInt8 = 0) -> PlainFrame {
        PlainFrame(opcode, "fragment\(number)", isFinal: isFinal)
    }

    private static let twoParts = [part(1, isFinal: false, opcode: 1), part(2, isFinal: true)]
    private static let twoPartsWhole = PlainFrame.text("fragment1fragment2")

    /// Cases 5.*: fragments.
    static let fragments: [AutobahnCase] = [
        fault("5.1", [part(1, isFinal: false, opcode: 9), part(2, isFinal: true)]),
        fault("5.2", [part(1, isFinal: false, opcode: 10), part(2, isFinal: true)]),
        echo("5.3, 5.4, 5.5", twoParts, [twoPartsWhole]),
        echo(
            "5.6, 5.7, 5.8", [twoParts[0], PlainFrame(9, "ping payload"), twoParts[1]],
            [PlainFrame(10, "ping payload"), twoPartsWhole]),
        fault("5.9, 5.10, 5.11", [PlainFrame(0, "non-continuation payload"), hello]),
        fault("5.12, 5.13, 5.14", [PlainFrame(0, "non-continuation payload", isFinal: false), hello]),
        fault("5.15", twoParts + [part(3, isFinal: false), part(4, isFinal: true, opcode: 1)], [twoPartsWhole]),
        fault(
            "5.16", [part(1, isFinal: false), part(2, isFinal: false, opcode: 1), part(3, isFinal: true)]),
        fault("5.17", [part(1, isFinal: true), part(2, isFinal: false, opcode: 1), part(3, isFinal: true)]),
        fault("5.18", [part(1, isFinal: false, opcode: 1), part(2, isFinal: true, opcode: 1)]),
        echo(
            "5.19, 5.20",
            [
                part(1, isFinal: false, opcode: 1), part(2, isFinal: false), PlainFrame(9, "pongme 1!"),
                part(3, isFinal: false), part(4, isFinal: false), PlainFrame(9, "pongme 2!"),
                part(5, isFinal: true),
            ],
            [
                PlainFrame(10, "pongme 1!"), PlainFrame(10, "pongme 2!"),
                .text("fragment1fragment2fragment3fragment4fragment5"),
            ]),
    ]

    private static let valid = Array("Hello-µ@ßöäüàá-UTF-8!!".utf8)
    private static let surrogate: [UInt8] = UTF8Case.kosme + [0xED, 0xA0, 0x80] + Array("edited".utf8)
    private static let outOfRange: [UInt8] =
        UTF8Case.kosme + [0xF4, 0x90, 0x80, 0x80] + Array("edited".utf8)

    private static func single(_ bytes: [UInt8]) -> [PlainFrame] {
        bytes.enumerated().map { PlainFrame($0 == 0 ? 1 : 0, [$1], isFinal: $0 == bytes.count - 1) }
    }

    /// Cases 6.1 to 6.4: text. The cases 6.5 to 6.23 are in ``UTF8Case``.
    static let text: [AutobahnCase] = [
        echo("6.1.1", [PlainFrame(1)], [PlainFrame(1)]),
        echo(
            "6.1.2", [PlainFrame(1, isFinal: false), PlainFrame(0, isFinal: false), PlainFrame(0)], [PlainFrame(1)]),
        echo(
            "6.1.3", [PlainFrame(1, isFinal: false), PlainFrame(0, "middle", isFinal: false), PlainFrame(0)],
            [.text("middle")]),
        echo("6.2.1", [PlainFrame(1, valid)], [PlainFrame(1, valid)]),
        echo(
            "6.2.2", [PlainFrame(1, "Hello-µ@ßöä", isFinal: false), PlainFrame(0, "üàá-UTF-8!!")],
            [PlainFrame(1, valid)]),
        echo("6.2.3", single(valid), [PlainFrame(1, valid)]),
        echo("6.2.4", single(UTF8Case.kosme), [.text("κ\u{1F79}σμε")]),
        fault("6.3.1", [PlainFrame(1, surrogate)], code: 1007),
        fault("6.3.2", single(surrogate), code: 1007),
        // The violation is found before the end of the message.
        fault(
            "6.4.1",
            [PlainFrame(1, "κ\u{1F79}σμε", isFinal: false), PlainFrame(0, [0xF4, 0x90, 0x80, 0x80], isFinal: false)],
            code: 1007),
        fault(
            "6.4.2", [PlainFrame(1, Array(outOfRange[..<12]), isFinal: false), PlainFrame(0, [0x90], isFinal: false)],
            code: 1007),
    ]

    /// Cases 7.*: the closing handshake.
    static let closing: [AutobahnCase] =
        [
            echo("7.1.1", [.text("Hello World!")], [.text("Hello World!")]),
            AutobahnCase("7.1.2", [.close(1000), PlainFrame(8)], closeCode: 1000),
            AutobahnCase("7.1.3", [.close(1000), ping], closeCode: 1000),
            AutobahnCase("7.1.4", [.close(1000), hello], closeCode: 1000),
            AutobahnCase("7.1.5", [twoParts[0], .close(1000), twoParts[1]], closeCode: 1000),
            AutobahnCase(
                "7.1.6", [PlainFrame(1, [UInt8](repeating: 0x42, count: 1 << 18)), hello, .close(1000), ping],
                replies: [PlainFrame(1, [UInt8](repeating: 0x42, count: 1 << 18)), hello], closeCode: 1000),
            AutobahnCase("7.3.1", [PlainFrame(8)], replies: [PlainFrame(8)]),
            fault("7.3.2", [PlainFrame(8, "a")]),
            AutobahnCase("7.3.3", [.close(1000)], closeCode: 1000),
            AutobahnCase("7.3.4", [.close(1000, "Hello World!")], closeCode: 1000),
            AutobahnCase("7.3.5", [.close(1000, String(repeating: "*", count: 123))], closeCode: 1000),
            fault("7.3.6", [.close(1000, String(repeating: "*", count: 124))]),
            fault("7.5.1", [PlainFrame(8, [0x03, 0xE8] + surrogate)], code: 1007),
        ]
        + [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].enumerated().map {
            AutobahnCase("7.7.\($0 + 1)", [.close($1)], closeCode: $1)
        }
        + [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999].enumerated().map {
            fault("7.9.\($0 + 1)", [.close($1)])
        } + [fault("7.13.1", [.close(5000)]), fault("7.13.2", [.close(65535)])]

    static let all = framing + pings + reservedBits + opcodes + fragments + text + closing
}
