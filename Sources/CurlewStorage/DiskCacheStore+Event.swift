#if Storage
public import Curlew

extension DiskCacheStore {
    /// An incident in which the store discarded data; the responses that it returns remain correct.
    ///
    /// Each incident is reported once, by the store that detected it, even if several stores have the folder open.
    public struct Event: Sendable, Hashable {
        /// The class of an incident.
        public struct Kind: Sendable, Hashable, RawRepresentable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// The index was damaged, had a newer schema, or belonged to another program. It was discarded with all
            /// entries and replaced by a new one.
            public static let indexDiscarded = Kind(rawValue: "index-discarded")
            /// An entry was damaged and has been discarded: its fields were invalid, or its body was missing, short or
            /// had another checksum.
            public static let entryDiscarded = Kind(rawValue: "entry-discarded")
            /// Files without an entry were removed when the store was opened; killed processes leave such files.
            public static let leftoversRemoved = Kind(rawValue: "leftovers-removed")
        }

        /// The class of the incident.
        public let kind: Kind
        /// The description of the incident, without field values and URIs.
        public let message: String
        /// The discarded entry; nil if the incident concerns several entries, or the entry's name cannot be read.
        public let entry: HTTPCache.Entry.ID?

        init(_ kind: Kind, _ message: String, entry: HTTPCache.Entry.ID? = nil) {
            self.kind = kind
            self.message = message
            self.entry = entry
        }
    }
}
#endif
