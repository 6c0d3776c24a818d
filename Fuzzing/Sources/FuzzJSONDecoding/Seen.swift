internal import FoundationEssentials

/// The record of a decoder that reads a shape: values and errors in the order of their occurrence.
struct Seen: Decodable {
    /// The shape of the next value. The fuzzer has one thread.
    nonisolated(unsafe) static var shape = Shape.allKeys

    /// The notes on the value that is being read.
    nonisolated(unsafe) private static var log: [String] = []

    let notes: [String]

    init(from decoder: any Decoder) throws {
        let (shape, log) = (Seen.shape, Seen.log)
        // The elements of an array are read one after another as the same shape.
        defer { (Seen.shape, Seen.log) = (shape, log) }
        Seen.log = ["at \(decoder.codingPath.text)"]
        try Seen.read(shape, from: decoder)
        notes = Seen.log
    }

    private static func note(_ value: some Any) { log.append("\(value)") }

    private static func add(_ seen: Seen) { log += seen.notes }

    private static func read(_ shape: Shape, from decoder: any Decoder) throws {
        switch shape {
        case .scalar(let scalar):
            let container = try decoder.singleValueContainer()
            // For a null, Foundation reports a wrong type where a Boolean is requested, and otherwise a missing value.
            let isNull = scalar == .bool && container.decodeNil()
            note(try isNull ? "nil" : container.text(of: scalar))
        case .optional(let inner):
            Seen.shape = inner
            try decoder.singleValueContainer().decode(Seen?.self).map { add($0) } ?? note("nil")
        case .array(let inner):
            Seen.shape = inner
            try decoder.singleValueContainer().decode([Seen].self).forEach { add($0) }
        case .dictionary(let inner):
            // The first reported error of several invalid members is random in Foundation.
            let names = try decoder.container(keyedBy: Name.self).allKeys
            guard names.count < 2 else { return note(names.map(\.stringValue).sorted()) }
            Seen.shape = inner
            let values = try decoder.singleValueContainer().decode([String: Seen].self)
            for (name, seen) in values.sorted(by: { $0.key < $1.key }) {
                note(name)
                add(seen)
            }
        case .integers: note(try decoder.singleValueContainer().decode([Int].self))
        case .strings: note(try decoder.singleValueContainer().decode([String].self))
        case .doubles: note(try decoder.singleValueContainer().decode([Double].self).map(\.bitPattern))
        case .members(let members): try read(members, from: decoder.container(keyedBy: Name.self))
        case .elements(let first, let second):
            var container = try decoder.unkeyedContainer()
            note("\(container.count ?? -1)")
            while !container.isAtEnd {
                if try container.decodeNil() {
                    note("nil")
                } else if !attempt({ add(try container.seen(first)) }), !attempt({ add(try container.seen(second)) }) {
                    // An element of neither shape is skipped.
                    if !attempt({ _ = try container.nestedUnkeyedContainer() }) { _ = try container.superDecoder() }
                }
            }
            attempt { note(try container.decodeNil()) }
            attempt { note(try container.decode(Int.self)) }
        case .nested(let members):
            let container = try decoder.container(keyedBy: Name.self)
            attempt { try read(members, from: container.nestedContainer(keyedBy: Name.self, forKey: Name("a"))) }
            attempt { note(try container.nestedUnkeyedContainer(forKey: Name("b")).count ?? -1) }
        case .allKeys: note(try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue).sorted())
        case .single(let inner):
            Seen.shape = inner
            add(try decoder.singleValueContainer().decode(Seen.self))
        }
    }

    private static func read(_ members: [Shape.Member], from container: KeyedDecodingContainer<Name>) throws {
        for member in members {
            let key = Name(member.name)
            Seen.shape = member.shape
            switch member.access {
            case .required: add(try container.decode(Seen.self, forKey: key))
            case .ifPresent: try container.decodeIfPresent(Seen.self, forKey: key).map { add($0) } ?? note("nil")
            case .afterNil:
                attempt { note(try container.decodeNil(forKey: key)) }
                attempt { add(try container.decode(Seen.self, forKey: key)) }
            case .afterContains: if container.contains(key) { add(try container.decode(Seen.self, forKey: key)) }
            // The path of a superclass without a member lacks the member's name.
            case .superDecoder where container.contains(key):
                attempt { add(try Seen(from: container.superDecoder(forKey: key))) }
            case .superDecoder: break
            case .twice:
                attempt { note(try container.decode(String.self, forKey: key)) }
                attempt { note(try container.decodeIfPresent(Int.self, forKey: key) ?? -1) }
            }
        }
    }

    /// Runs code and continues after an error, which is recorded.
    /// - Returns: True if there was no error.
    @discardableResult
    private static func attempt(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            note(error.kindAndPath)
            return false
        }
    }
}

/// A key with any name.
struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

extension UnkeyedDecodingContainer {
    fileprivate mutating func seen(_ shape: Shape) throws -> Seen {
        Seen.shape = shape
        return try decode(Seen.self)
    }
}

extension SingleValueDecodingContainer {
    fileprivate func text(of scalar: Shape.Scalar) throws -> String {
        switch scalar {
        case .bool: "\(try decode(Bool.self))"
        case .string: try decode(String.self)
        case .double: "\(try decode(Double.self).bitPattern)"
        case .float: "\(try decode(Float.self).bitPattern)"
        case .int: "\(try decode(Int.self))"
        case .int8: "\(try decode(Int8.self))"
        case .int16: "\(try decode(Int16.self))"
        case .int32: "\(try decode(Int32.self))"
        case .int64: "\(try decode(Int64.self))"
        case .uint: "\(try decode(UInt.self))"
        case .uint8: "\(try decode(UInt8.self))"
        case .uint16: "\(try decode(UInt16.self))"
        case .uint32: "\(try decode(UInt32.self))"
        case .uint64: "\(try decode(UInt64.self))"
        case .decimal: "\(try decode(Decimal.self))"
        case .data: "\(Array(try decode(Data.self)))"
        }
    }
}

extension [any CodingKey] {
    /// The path as text. Foundation names an element "Index 0", and also gives a number to a name of digits.
    fileprivate var text: String {
        map { key in
            let isElement = key.stringValue.hasPrefix("Index ")
            return ".\(isElement ? key.intValue.map(String.init) ?? key.stringValue : key.stringValue)"
        }.joined()
    }
}

extension Error {
    /// The kind of a decoding error and its path. Foundation gives no path for numbers that do not fit.
    var kindAndPath: String {
        switch self as? DecodingError {
        case .typeMismatch(_, let context): "mismatch at \(context.codingPath.text)"
        case .valueNotFound(_, let context): "no value at \(context.codingPath.text)"
        case .keyNotFound(let key, let context): "no \(key.stringValue) at \(context.codingPath.text)"
        // Foundation has its own error for numbers that do not fit.
        case .dataCorrupted, nil: "corrupted"
        @unknown default: "another error: \(self)"
        }
    }
}
