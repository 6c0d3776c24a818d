package import HTTPTypes

extension HTTPField {
    /// True if the names are equal except for case, and the values have the same bytes. `==` compares values by Unicode
    /// equivalence.
    package func hasSameBytes(as other: HTTPField) -> Bool {
        guard name == other.name else { return false }
        return withUnsafeBytesOfValue { own in other.withUnsafeBytesOfValue { own.hasSameBytes(as: $0) } }
    }
}

extension HTTPFields {
    /// True if both have the same fields in the same order, with values compared byte by byte.
    package func hasSameBytes(as other: HTTPFields) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}

/// Fields as part of a key, compared by their bytes.
package struct ExactFields: Sendable, Hashable {
    private let fields: [HTTPField]

    package init(_ fields: HTTPFields) { self.fields = Array(fields) }

    package static func == (one: ExactFields, other: ExactFields) -> Bool {
        one.fields.count == other.fields.count && zip(one.fields, other.fields).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    package func hash(into hasher: inout Hasher) {
        for field in fields {
            hasher.combine(field.name)
            field.withUnsafeBytesOfValue { bytes in
                hasher.combine(bytes.count)
                hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
            }
        }
    }
}
