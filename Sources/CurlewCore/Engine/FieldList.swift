internal import CLibcurl
internal import HTTPTypes

/// A `curl_slist` of field lines. It is built before it is shared, then only read, and freed at the end.
///
/// `@unchecked Sendable`: no code changes it after it was built.
final class FieldList: @unchecked Sendable {
    @exclusivity(unchecked) private(set) var head: UnsafeMutablePointer<curl_slist>?
    @exclusivity(unchecked) private var last: UnsafeMutablePointer<curl_slist>?
    @exclusivity(unchecked) private var scratch: [CChar] = []

    deinit { curl_slist_free_all(head) }

    /// Adds a line of text that was already checked.
    func append(line: String) throws {
        try line.withCString { try append(pointer: $0) }
    }

    /// Adds a field. Whitespace around its value is removed: HTTP/2 forbids it (RFC 9113 §8.2.1), and in HTTP/1.1 it is
    /// not part of the value (RFC 9110 §5.5). An empty value has libcurl's form (`Name;`); otherwise libcurl would drop
    /// the field. libcurl has another parser for trailers, which requires a colon and a space.
    func append(_ field: HTTPField, isTrailer: Bool = false) throws {
        scratch.removeAll(keepingCapacity: true)
        var name = field.name.rawName
        name.withUTF8 { name in
            scratch.reserveCapacity(name.count + 64)
            name.withMemoryRebound(to: CChar.self) { scratch.append(contentsOf: $0) }
        }
        field.withTrimmedValue { value in
            if value.isEmpty, !isTrailer {
                scratch.append(CChar(bitPattern: UInt8(ascii: ";")))
            } else {
                scratch.append(CChar(bitPattern: UInt8.colon))
                scratch.append(CChar(bitPattern: UInt8.space))
                value.withMemoryRebound(to: CChar.self) { scratch.append(contentsOf: $0) }
            }
        }
        scratch.append(0)
        try scratch.withUnsafeBufferPointer { try append(pointer: $0.baseAddress) }
    }

    private func append(pointer: UnsafePointer<CChar>?) throws {
        // Appending to the last node saves libcurl a walk through the list.
        guard let node = curl_slist_append(nil, pointer) else {
            throw CurlewError(.resourcesExhausted, "no memory for a field")
        }
        if let last { last.pointee.next = node } else { head = node }
        last = node
    }
}
