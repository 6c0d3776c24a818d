internal import FoundationEssentials

/// How bytes are written where only text can be.
public struct DataStyle: Sendable {
    enum Kind: Sendable {
        case base64
        case base64URL
        case hexadecimal
        case custom(@Sendable ([UInt8]) throws -> String)
    }

    let kind: Kind

    /// Base 64 with padding (RFC 4648 §4).
    public static let base64 = DataStyle(kind: .base64)

    /// Base 64 with `-` and `_`, without padding (RFC 4648 §5).
    public static let base64URL = DataStyle(kind: .base64URL)

    /// Two lower-case hexadecimal digits a byte.
    public static let hexadecimal = DataStyle(kind: .hexadecimal)

    /// Whatever the closure makes of the bytes.
    public static func custom(_ write: @escaping @Sendable ([UInt8]) throws -> String) -> DataStyle {
        DataStyle(kind: .custom(write))
    }

    func text(of bytes: [UInt8]) throws(ParameterFailure) -> String {
        switch kind {
        case .base64: return Data(bytes).base64EncodedString()
        case .base64URL: return Self.base64URL(bytes)
        case .hexadecimal: return Self.hexadecimal(bytes)
        case .custom(let write):
            do { return try write(bytes) } catch {
                throw ParameterFailure("is data that the custom style could not write", underlying: error)
            }
        }
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString().utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
