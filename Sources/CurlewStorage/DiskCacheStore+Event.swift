#if Storage
public import Curlew

extension DiskCacheStore {
    /// An incident that the store has dealt with by giving something up: nothing that it hands out is wrong for it.
    ///
    /// Each is reported once, by the store that has found it, although several may have one folder open.
    public struct Event: Sendable, Hashable {
        /// The class of an incident.
        public struct Kind: Sendable, Hashable, RawRepresentable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// The index was damaged, of a newer schema, or no index of ours. It is discarded with all entries, and a new one begun.
            public static let indexDiscarded = Kind(rawValue: "index-discarded")
            /// An entry was damaged: its fields, or a body that is missing, short or of another checksum. It is discarded.
            public static let entryDiscarded = Kind(rawValue: "entry-discarded")
            /// Files without an entry were removed when the store was opened: what processes that were killed have left.
            public static let leftoversRemoved = Kind(rawValue: "leftovers-removed")
        }

        /// The class of the incident.
        public let kind: Kind
        /// The incident in words, without field values and URIs.
        public let message: String
        /// The entry that was discarded; nil if it is about others, or its name cannot be read.
        public let entry: HTTPCache.Entry.ID?

        init(_ kind: Kind, _ message: String, entry: HTTPCache.Entry.ID? = nil) {
            self.kind = kind
            self.message = message
            self.entry = entry
        }
    }
}
#endif
