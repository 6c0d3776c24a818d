internal import HTTPTypes

/// The lists of fields that requests of a session have had lately: most requests have the same few.
///
/// Kept are lists of the ``names`` alone, which hold nothing secret and do not change how a request is sent.
final class FieldListCache: Sendable {
    private struct Entry {
        let fields: [HTTPField]
        let list: FieldList
    }

    private static let limit = 4
    private static let names: Set<HTTPField.Name> = [.accept, .acceptEncoding, .acceptLanguage, .userAgent]
    private let entries = Guarded<[Entry]>([])

    /// The list of the same fields, byte for byte.
    func list(of fields: HTTPFields) -> FieldList? {
        entries.withLock { entries in
            for entry in entries where Self.areSame(entry.fields, fields) { return entry.list }
            return nil
        }
    }

    private static func areSame(_ known: [HTTPField], _ fields: HTTPFields) -> Bool {
        guard known.count == fields.count else { return false }
        var index = 0
        for field in fields {
            guard known[index].name.rawName.hasSameBytes(as: field.name.rawName),
                known[index].hasSameBytes(as: field)
            else { return false }
            index += 1
        }
        return true
    }

    /// Keeps a list, in the place of the oldest if there are enough.
    func insert(_ list: FieldList, of fields: HTTPFields) {
        guard fields.allSatisfy({ Self.names.contains($0.name) }) else { return }
        let entry = Entry(fields: Array(fields), list: list)
        entries.withLock { entries in
            // Another thread may have been first.
            guard !entries.contains(where: { Self.areSame($0.fields, fields) }) else { return }
            if entries.count == Self.limit { entries.removeFirst() }
            entries.append(entry)
        }
    }
}
