internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore

/// A fuzz target for multipart bodies. The parts must not depend on the pieces, parsing must return the parts of a
/// form, and the buffer for incomplete data must be bounded.
@main
struct FuzzMultipart: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let seed = choices.byte()
        var limits = CurlewResponse.MultipartParts.Limits()
        limits.headSize = choices.one(of: [.kibibytes(16), 40])
        limits.fieldCount = choices.one(of: [100, 2])
        let boundary = choices.one(of: ["b", "--", " -", "aab", "0123456789abcdef"])
        let body = choices.rest
        guard let whole = Outcome(of: [body], boundary: boundary, limits: limits) else { return }
        for pieces in piecings(of: body, seed: seed) {
            requireEqual(
                Outcome(of: pieces, boundary: boundary, limits: limits), whole, "the parts depend on the pieces")
        }
        for lineEnd in ["\r\n", "\n"] { checkForm(of: body, boundary: "aab", lineEnd: lineEnd, seed: seed) }
    }

    /// Checks a form of three parts whose bodies are the bytes.
    private static func checkForm(of bytes: [UInt8], boundary: String, lineEnd: String, seed: UInt8) {
        let delimiter = Array("--\(boundary)".utf8)
        guard !bytes.indices.contains(where: { bytes[$0...].starts(with: delimiter) }) else { return }
        let bodies = [bytes, [], Array(bytes.reversed())]
        guard !bodies[2].indices.contains(where: { bodies[2][$0...].starts(with: delimiter) }) else { return }
        var form: [UInt8] = []
        for body in bodies {
            form += Array("--\(boundary)\(lineEnd)a: b\(lineEnd)\(lineEnd)".utf8) + body + Array(lineEnd.utf8)
        }
        form += Array("--\(boundary)--\(lineEnd)".utf8)
        for pieces in [[form]] + piecings(of: form, seed: seed) {
            let outcome = Outcome(of: pieces, boundary: boundary, limits: CurlewResponse.MultipartParts.Limits())
            requireEqual(outcome?.parts.map(\.body), bodies, "the parts are not those of the form")
            require(outcome?.hasEnd == true && outcome?.error == nil, "the form has no end")
        }
    }
}

/// The result of a body.
struct Outcome: Equatable {
    struct Part: Equatable {
        var fields: HTTPFields
        var body: [UInt8] = []
        var isWhole = false
    }

    var parts: [Part] = []
    var hasEnd = false
    var error: ErrorCode?

    init?(of pieces: [[UInt8]], boundary: String, limits: CurlewResponse.MultipartParts.Limits) {
        guard var parser = try? MultipartParser(boundary: boundary, limits: limits) else { return nil }
        do {
            for piece in pieces {
                parser.append(piece)
                try take(&parser)
                // The bound is a delimiter with all bytes that may follow it, or the head of a part.
                let bound = max(boundary.utf8.count + 4 + 2 + 256 + 2, limits.headSize.bytes)
                require(parser.buffer.count - parser.position <= bound, "too much waits for the next piece")
            }
            parser.finish()
            try take(&parser)
        } catch let error as CurlewError {
            self.error = error.code
        } catch {
            require(false, "an error of another kind: \(error)")
        }
    }

    private mutating func take(_ parser: inout MultipartParser) throws {
        while let event = try parser.next() {
            require(!hasEnd, "something comes after the end")
            switch event {
            case .head(let fields):
                require(parts.last?.isWhole != false, "a part begins in another")
                parts.append(Part(fields: fields))
            case .body(let bytes):
                require(!bytes.isEmpty && parts.last?.isWhole == false, "bytes belong to no part")
                parts[parts.count - 1].body += bytes
            case .partEnd:
                require(parts.last?.isWhole == false, "no part ends")
                parts[parts.count - 1].isWhole = true
            case .end:
                require(parts.last?.isWhole != false, "a part does not end")
                hasEnd = true
            }
        }
    }
}
