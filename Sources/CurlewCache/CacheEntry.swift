public import HTTPTypes
internal import Synchronization

extension HTTPCache {
    /// A stored response without its body: its key, its head, and the times for computing its age.
    ///
    /// A ``HTTPCache/Store`` keeps entries together with bodies. An entry is a value with a single reference; its
    /// directives are parsed once.
    public struct Entry: Sendable, Identifiable {
        /// The identifier of an entry: 32 hexadecimal digits, random, so that two processes can share a store.
        public struct ID: Sendable, Hashable, CustomStringConvertible {
            public let description: String

            /// Parses an identifier; nil unless it has 32 lower-case hexadecimal digits.
            public init?(_ text: String) {
                guard text.utf8.count == 32, text.utf8.allSatisfy({ $0.isDigit || (0x61...0x66).contains($0) }) else {
                    return nil
                }
                description = text
            }

            /// Makes a new identifier. The process draws 128 random bits once and counts up from them, because the
            /// kernel's random numbers are slow.
            init() {
                let number = Self.first.low &+ Self.count.wrappingAdd(1, ordering: .relaxed).newValue
                description = String(unsafeUninitializedCapacity: 32) { digits in
                    for index in 0..<16 {
                        digits[index] = Self.digit(Self.first.high >> UInt64(60 - 4 * index))
                        digits[16 + index] = Self.digit(number >> UInt64(60 - 4 * index))
                    }
                    return 32
                }
            }

            private static let first = (high: UInt64.random(in: .min ... .max), low: UInt64.random(in: .min ... .max))
            private static let count = Atomic<UInt64>(0)

            private static func digit(_ number: UInt64) -> UInt8 {
                let value = UInt8(truncatingIfNeeded: number & 15)
                return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
            }
        }

        /// The key of stored responses (RFC 9111 §2): the requested URI and the partition. Keys are compared byte by
        /// byte.
        public struct Key: Sendable, Hashable {
            /// Scheme, host in lower case, port, path and query in the form in which they are sent, without fragment
            /// and user information.
            public let uri: String
            /// The caller's ``RequestOptions/cachePartition``; nil without one.
            ///
            /// A prefix is added for a QUERY, and for a connection that a route, a proxy, an address policy, a security
            /// policy or a Host field determines. It consists of `via:` and the SHA-256 of these settings and of the
            /// QUERY's content.
            public let partition: String?

            public init(uri: String, partition: String? = nil) {
                self.uri = uri
                self.partition = partition
            }

            public static func == (one: Key, other: Key) -> Bool {
                one.uri.hasSameBytes(as: other.uri) && one.partition.hasSameBytes(as: other.partition)
            }

            public func hash(into hasher: inout Hasher) {
                uri.hashBytes(into: &hasher)
                partition?.hashBytes(into: &hasher)
            }
        }

        /// A request field in Vary, by which the response is selected (RFC 9111 §4.1).
        public struct Selector: Sendable, Hashable {
            /// The name of the field in lower case.
            public let name: String
            /// The normalized value of the field, or its SHA-256 if the field is secret; nil if the request did not
            /// have the field.
            public let value: String?

            public init(name: String, value: String?) {
                self.name = name
                self.value = value
            }

            public static func == (one: Selector, other: Selector) -> Bool {
                one.name.hasSameBytes(as: other.name) && one.value.hasSameBytes(as: other.value)
            }

            public func hash(into hasher: inout Hasher) {
                name.hashBytes(into: &hasher)
                value?.hashBytes(into: &hasher)
            }
        }

        private final class Storage: Sendable {
            let id: ID
            let key: Key
            let uri: String
            let head: HTTPResponse
            let trailers: HTTPFields
            let version: HTTPProtocolVersion
            let selectors: [Selector]
            let requestTime: Int64
            let responseTime: Int64
            let range: Range<Int64>?
            let bodySize: Int64
            let rules: CacheRules

            init(
                id: ID, key: Key, uri: String, head: HTTPResponse, trailers: HTTPFields, version: HTTPProtocolVersion,
                selectors: [Selector], requestTime: Int64, responseTime: Int64, range: Range<Int64>?, bodySize: Int64,
                rules: CacheRules
            ) {
                self.id = id
                self.key = key
                self.uri = uri
                self.head = head
                self.trailers = trailers
                self.version = version
                self.selectors = selectors
                self.requestTime = requestTime
                self.responseTime = responseTime
                self.range = range
                self.bodySize = bodySize
                self.rules = rules
            }
        }

        private let storage: Storage

        /// - Parameters:
        ///   - id: The identifier.
        ///   - key: The key of the entry.
        ///   - uri: The URI that returned the response.
        ///   - head: Status and fields, without those that must not be stored.
        ///   - trailers: The fields that followed the body.
        ///   - version: The protocol version of the response.
        ///   - selectors: The request fields in Vary.
        ///   - requestTime: The time of the request, in seconds since 1970.
        ///   - responseTime: The time of the response or of its last validation, in seconds since 1970.
        ///   - range: The bytes of the representation that the body contains; nil if it is complete.
        ///   - bodySize: The number of bytes of the body.
        public init(
            id: ID, key: Key, uri: String, head: HTTPResponse, trailers: HTTPFields = HTTPFields(),
            version: HTTPProtocolVersion = .http11, selectors: [Selector] = [], requestTime: Int64, responseTime: Int64,
            range: Range<Int64>? = nil, bodySize: Int64
        ) {
            self.init(
                id: id, key: key, uri: uri, head: head, trailers: trailers, version: version, selectors: selectors,
                requestTime: requestTime, responseTime: responseTime, range: range, bodySize: bodySize,
                rules: CacheRules(head, responseTime: responseTime))
        }

        /// - Parameter rules: The rules, if they have already been read from the fields.
        init(
            id: ID, key: Key, uri: String, head: HTTPResponse, trailers: HTTPFields = HTTPFields(),
            version: HTTPProtocolVersion, selectors: [Selector], requestTime: Int64, responseTime: Int64,
            range: Range<Int64>?, bodySize: Int64, rules: CacheRules
        ) {
            storage = Storage(
                id: id, key: key, uri: uri, head: head, trailers: trailers, version: version, selectors: selectors,
                requestTime: requestTime, responseTime: responseTime, range: range, bodySize: bodySize, rules: rules)
        }

        /// The same entry with the trailers and the final number of bytes of its body.
        func completed(trailers: HTTPFields, bodySize: Int64) -> HTTPCache.Entry {
            if trailers.isEmpty, self.trailers.isEmpty, bodySize == self.bodySize { return self }
            return HTTPCache.Entry(
                id: id, key: key, uri: uri, head: head, trailers: trailers, version: version, selectors: selectors,
                requestTime: requestTime, responseTime: responseTime, range: range, bodySize: bodySize, rules: rules)
        }

        /// The identifier.
        public var id: ID { storage.id }
        /// The key of the entry.
        public var key: Key { storage.key }
        /// The URI that returned the response.
        public var uri: String { storage.uri }
        /// Status and fields in their stored form.
        public var head: HTTPResponse { storage.head }
        /// The fields that followed the body.
        public var trailers: HTTPFields { storage.trailers }
        /// The protocol version of the response.
        public var version: HTTPProtocolVersion { storage.version }
        /// The request fields that select the response, sorted by their names.
        public var selectors: [Selector] { storage.selectors }
        /// The time of the request, in seconds since 1970.
        public var requestTime: Int64 { storage.requestTime }
        /// The time of the response or of its last validation, in seconds since 1970.
        public var responseTime: Int64 { storage.responseTime }
        /// The bytes of the representation that the body contains; nil if it is complete.
        public var range: Range<Int64>? { storage.range }
        /// The number of bytes of the body.
        public var bodySize: Int64 { storage.bodySize }
        /// The caching rules in the response's fields.
        var rules: CacheRules { storage.rules }

        /// The same entry with other fields, times, trailers or selectors, and the same body.
        public func updating(
            head: HTTPResponse? = nil, trailers: HTTPFields? = nil, selectors: [Selector]? = nil,
            requestTime: Int64? = nil, responseTime: Int64? = nil, bodySize: Int64? = nil
        ) -> HTTPCache.Entry {
            HTTPCache.Entry(
                id: id, key: key, uri: uri, head: head ?? self.head, trailers: trailers ?? self.trailers,
                version: version,
                selectors: selectors ?? self.selectors, requestTime: requestTime ?? self.requestTime,
                responseTime: responseTime ?? self.responseTime, range: range, bodySize: bodySize ?? self.bodySize)
        }

        /// The same entry with another URI in its key.
        func moved(to uri: String) -> HTTPCache.Entry {
            HTTPCache.Entry(
                id: id, key: Key(uri: uri, partition: key.partition), uri: self.uri, head: head, trailers: trailers,
                version: version, selectors: selectors, requestTime: requestTime, responseTime: responseTime,
                range: range,
                bodySize: bodySize)
        }

        /// The approximate number of bytes of the entry in memory, without its body.
        var overhead: Int {
            let fields = (head.headerFields + trailers).reduce(0) {
                $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 96
            }
            let selectors = selectors.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) + 64 }
            return 512 + key.uri.utf8.count + uri.utf8.count + (key.partition?.utf8.count ?? 0) + fields + selectors
        }
    }
}

extension HTTPCache.Entry: Hashable {
    public static func == (one: HTTPCache.Entry, other: HTTPCache.Entry) -> Bool {
        one.storage === other.storage
            || one.id == other.id && one.key == other.key && one.uri.hasSameBytes(as: other.uri)
                && one.head.status == other.head.status
                && one.head.headerFields.hasSameBytes(as: other.head.headerFields)
                && one.trailers.hasSameBytes(as: other.trailers) && one.version == other.version
                && one.selectors == other.selectors
                && one.requestTime == other.requestTime && one.responseTime == other.responseTime
                && one.range == other.range && one.bodySize == other.bodySize
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
