internal import HTTPTypes

extension HTTPCache.Entry {
    /// The most bytes of an encoded entry: 1 MiB.
    public static let encodedLimit = 1 << 20

    /// The entry as bytes, for stores that outlive the process. The first byte is the version of the format, 1; the
    /// last four are a CRC-32 of the others.
    public var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.bytes = [Self.form]
        writer.put(id.description)
        writer.put(key.uri)
        writer.put(key.partition)
        writer.put(uri)
        writer.put(Int64(head.status.code))
        writer.put(head.status.reasonPhrase)
        writer.put(head.headerFields)
        writer.put(trailers)
        writer.put(Int64(version.major))
        writer.put(Int64(version.minor))
        writer.put(Int64(selectors.count))
        for selector in selectors {
            writer.put(selector.name)
            writer.put(selector.value)
        }
        writer.put(requestTime)
        writer.put(responseTime)
        writer.put(range?.lowerBound ?? -1)
        writer.put(range?.upperBound ?? -1)
        writer.put(bodySize)
        return writer.bytes + Checksum.bytes(of: writer.bytes[...])
    }

    /// Decodes an entry that ``encoded`` has written.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cacheFailed`` for other bytes.
    public init(encoded bytes: [UInt8]) throws {
        guard let entry = HTTPCache.Entry(decoding: bytes) else {
            throw CurlewError(.cacheFailed, "an entry of the cache cannot be read")
        }
        self = entry
    }

    private static let form: UInt8 = 1

    private init?(decoding bytes: [UInt8]) {
        guard bytes.count > 5, bytes.count <= Self.encodedLimit, bytes[0] == Self.form else { return nil }
        let contents = bytes.dropLast(4)
        guard Checksum.bytes(of: contents)[...] == bytes.suffix(4) else { return nil }
        var reader = EntryReader(rest: contents.dropFirst())
        guard let id = reader.text().flatMap({ ID($0) }), let uri = reader.text(),
            let partition = reader.optionalText(),
            let origin = reader.text(), let code = reader.number(), (100...999).contains(code),
            let reason = reader.text(), reason.utf8.allSatisfy(\.isReceivedValueByte),
            let fields = reader.fields(), let trailers = reader.fields(),
            let major = reader.number(), let minor = reader.number(), (0...9).contains(major), (0...9).contains(minor),
            let selectors = reader.selectors(), let requestTime = reader.number(), let responseTime = reader.number(),
            let lower = reader.number(), let upper = reader.number(), let bodySize = reader.number(), bodySize >= 0,
            reader.rest.isEmpty
        else { return nil }
        var range: Range<Int64>?
        if lower != -1 || upper != -1 {
            guard 0 <= lower, lower < upper, upper - lower == bodySize else { return nil }
            range = lower..<upper
        }
        let status = HTTPResponse.Status(code: Int(code), reasonPhrase: reason)
        self.init(
            id: id, key: Key(uri: uri, partition: partition.value), uri: origin,
            head: HTTPResponse(status: status, headerFields: fields), trailers: trailers,
            version: HTTPProtocolVersion(major: Int(major), minor: Int(minor)), selectors: selectors,
            requestTime: requestTime, responseTime: responseTime, range: range, bodySize: bodySize)
    }
}

/// A writer for entries: numbers have eight bytes, the lowest first, and texts follow their lengths.
private struct EntryWriter {
    var bytes: [UInt8] = []

    mutating func put(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func put(_ text: String) { put(Array(text.utf8)) }

    mutating func put(_ text: String?) {
        put(Int64(text == nil ? 0 : 1))
        if let text { put(text) }
    }

    mutating func put(_ text: [UInt8]) {
        put(Int64(text.count))
        bytes += text
    }

    mutating func put(_ fields: HTTPFields) {
        put(Int64(fields.count))
        for field in fields {
            put(field.name.rawName)
            put(field.withUnsafeBytesOfValue { Array($0) })
        }
    }
}

/// A reader for entries. It returns nil for bytes that do not match the format.
private struct EntryReader {
    struct Optional {
        let value: String?
    }

    var rest: ArraySlice<UInt8>

    mutating func number() -> Int64? {
        guard rest.count >= 8 else { return nil }
        let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        return Int64(bitPattern: number)
    }

    mutating func data() -> ArraySlice<UInt8>? {
        guard let count = number(), count >= 0, count <= Int64(rest.count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    mutating func text() -> String? { data().flatMap { String(validating: $0, as: UTF8.self) } }

    mutating func optionalText() -> Optional? {
        switch number() {
        case 0: return Optional(value: nil)
        case 1: return text().map { Optional(value: $0) }
        default: return nil
        }
    }

    /// The number of elements that follow, each of which has at least 16 bytes.
    private mutating func count() -> Int? {
        guard let count = number(), count >= 0, count <= Int64(rest.count / 16) else { return nil }
        return Int(count)
    }

    mutating func fields() -> HTTPFields? {
        guard let count = count() else { return nil }
        var fields = HTTPFields()
        for _ in 0..<count {
            guard let name = text().flatMap({ HTTPField.Name($0) }), let value = data(),
                value.allSatisfy(\.isReceivedValueByte)
            else { return nil }
            fields.append(HTTPField(name: name, lenientValue: value))
        }
        return fields
    }

    mutating func selectors() -> [HTTPCache.Entry.Selector]? {
        guard let count = count() else { return nil }
        var selectors: [HTTPCache.Entry.Selector] = []
        for _ in 0..<count {
            guard let name = text(), let value = optionalText() else { return nil }
            selectors.append(HTTPCache.Entry.Selector(name: name, value: value.value))
        }
        return selectors
    }
}
