internal import HTTPTypes

/// The Cookie field of a request (RFC 6265bis §5.8.3): one, made of the caller's and of the jar's cookies.
struct CookieField {
    private var bytes: [UInt8]
    private let limit: Int
    /// How many Cookie fields the caller has set. Setting one by name makes a field of every cookie in it.
    private let given: Int

    /// Begins with what the caller has set, which stays as it is.
    init(_ fields: HTTPFields, limit: ByteCount) {
        self.limit = limit.bytes
        let values = fields.filter { $0.name == .cookie }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        given = values.count
        bytes = Array(values.joined(separator: Self.separator))
    }

    /// Adds what fits, up to the first that does not. A name that the caller has set is the caller's.
    mutating func append(_ cookies: [Cookie]) {
        let names = given > 0 ? Self.names(in: bytes) : []
        for cookie in cookies where !names.contains(cookie.nameBytes) {
            let hasName = !cookie.nameBytes.isEmpty
            let size = cookie.nameBytes.count + cookie.valueBytes.count + (hasName ? 1 : 0)
            guard bytes.count + size + (bytes.isEmpty ? 0 : 2) <= limit else { return }
            if !bytes.isEmpty { bytes += Self.separator }
            bytes += cookie.nameBytes
            if hasName { bytes.append(.equals) }
            bytes += cookie.valueBytes
        }
    }

    /// Puts the field into a request.
    func set(in fields: inout HTTPFields) {
        guard !bytes.isEmpty else { return }
        // What is in the jar has been checked; what the caller has set is checked before it leaves.
        let field = HTTPField(name: .cookie, lenientValue: bytes)
        if given == 0 { fields.append(field) } else { fields[fields: .cookie] = [field] }
    }

    private static let separator = Array("; ".utf8)

    private static func names(in bytes: [UInt8]) -> Set<[UInt8]> {
        Set(
            bytes.split(separator: .semicolon).map { pair in
                Array((pair.firstIndex(of: .equals).map { pair[..<$0] } ?? []).trimmingBlanks)
            })
    }
}
