internal import HTTPTypes

/// The recent field lists of a session's requests: most requests have the same few.
///
/// Only lists that consist of ``names`` are kept. These fields are not secret and do not change how a request is sent.
final class FieldListCache: Sendable {
    private struct Entry {
        let fields: [HTTPField]
        let list: FieldList
    }

    private static let limit = 4
    private static let names: Set<HTTPField.Name> = [.accept, .acceptEncoding, .acceptLanguage, .userAgent]
    private let entries = Guarded<[Entry]>([])

    /// The list with the same fields, byte for byte.
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

    /// Stores a list. In a full cache it replaces the oldest one.
    func insert(_ list: FieldList, of fields: HTTPFields) {
        guard fields.allSatisfy({ Self.names.contains($0.name) }) else { return }
        let entry = Entry(fields: Array(fields), list: list)
        entries.withLock { entries in
            // Another thread may have stored the list first.
            guard !entries.contains(where: { Self.areSame($0.fields, fields) }) else { return }
            if entries.count == Self.limit { entries.removeFirst() }
            entries.append(entry)
        }
    }
}
