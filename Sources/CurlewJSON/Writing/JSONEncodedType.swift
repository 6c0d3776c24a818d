internal import FoundationEssentials

/// The way of writing values of a type. It is determined once for each type instead of each value.
enum JSONEncodedType {
    /// The type's own code. The keys of a dictionary are data, not names.
    case custom(keepsKeys: Bool)
    /// The code of ``JSONCollection``.
    case collection(any JSONCollection.Type)
    /// The encoder of parameters, for values whose text depends on all of their members.
    case tree
    case boolean, string, double, float
    case int, int8, int16, int32, int64, int128
    case uint, uint8, uint16, uint32, uint64, uint128
    case strings, integers, doubles
    case date, data, url, decimal, uuid, parameter

    init(_ type: Any.Type) {
        if let scalar = Self.scalar(ObjectIdentifier(type)) {
            self = scalar
        } else if let collection = type as? any JSONCollection.Type {
            self = .collection(collection)
        } else if type is any EncodableSet.Type {
            self = .tree
        } else {
            self = .custom(keepsKeys: type is any DictionaryWithKeysOfItsOwn.Type)
        }
    }

    /// True if a value's own code may run, which may request its path.
    var runsCode: Bool {
        switch self {
        case .custom, .collection, .tree: true
        default: false
        }
    }

    private static func scalar(_ type: ObjectIdentifier) -> JSONEncodedType? {
        switch type {
        case ObjectIdentifier(Bool.self): .boolean
        case ObjectIdentifier(String.self): .string
        case ObjectIdentifier(Double.self): .double
        case ObjectIdentifier(Float.self): .float
        case ObjectIdentifier(Int.self): .int
        case ObjectIdentifier(Int8.self): .int8
        case ObjectIdentifier(Int16.self): .int16
        case ObjectIdentifier(Int32.self): .int32
        case ObjectIdentifier(Int64.self): .int64
        case ObjectIdentifier(Int128.self): .int128
        case ObjectIdentifier(UInt.self): .uint
        case ObjectIdentifier(UInt8.self): .uint8
        case ObjectIdentifier(UInt16.self): .uint16
        case ObjectIdentifier(UInt32.self): .uint32
        case ObjectIdentifier(UInt64.self): .uint64
        case ObjectIdentifier(UInt128.self): .uint128
        case ObjectIdentifier([String].self): .strings
        case ObjectIdentifier([Int].self): .integers
        case ObjectIdentifier([Double].self): .doubles
        case ObjectIdentifier(Date.self): .date
        case ObjectIdentifier(Data.self): .data
        case ObjectIdentifier(URL.self): .url
        case ObjectIdentifier(Decimal.self): .decimal
        case ObjectIdentifier(UUID.self): .uuid
        case ObjectIdentifier(ParameterValue.self): .parameter
        default: nil
        }
    }
}
