internal import FoundationEssentials

/// The shared state of the encoder and the containers of one encoding.
final class JSONEncodingState {
    /// The text. It is valid as long as this object exists.
    let text: UnsafeMutablePointer<JSONStructure>
    private let workspace = JSONWorkspace.take()
    private let encoder: ParameterEncoder
    private let style: JSONCoding.Style

    init(_ encoder: ParameterEncoder, _ style: JSONCoding.Style) {
        self.encoder = encoder
        self.style = style
        text = workspace.text
        text.pointee.begin(
            naming: encoder.keyNaming, escapesSlashes: !style.options.contains(.withoutEscapingSlashes))
    }

    deinit { JSONWorkspace.giveBack(workspace) }

    var userInfo: [CodingUserInfoKey: Any] { encoder.userInfo }

    /// The way of writing values of a type.
    @inline(__always)
    func way(of type: Any.Type) -> JSONEncodedType {
        workspace.types.pointee.value(of: ObjectIdentifier(type)) ?? findWay(of: type)
    }

    @inline(never)
    private func findWay(of type: Any.Type) -> JSONEncodedType {
        let way = JSONEncodedType(type)
        workspace.types.pointee.add(way, for: ObjectIdentifier(type))
        return way
    }

    /// The type of containers for objects with keys of a type.
    @inline(__always)
    func containerType<Key: CodingKey>(for key: Key.Type) -> JSONContainerType<Key> {
        guard let type = workspace.containers.pointee.value(of: ObjectIdentifier(key)) else {
            return addContainerType(for: key)
        }
        // The container type was stored for this type of keys.
        return unsafeDowncast(type, to: JSONContainerType<Key>.self)
    }

    @inline(never)
    private func addContainerType<Key: CodingKey>(for key: Key.Type) -> JSONContainerType<Key> {
        let type = JSONContainerType<Key>()
        workspace.containers.pointee.add(type, for: ObjectIdentifier(key))
        return type
    }

    /// Writes a value at a position whose name or comma has been written.
    @inline(__always)
    func write<Value: Encodable>(_ value: Value, _ way: JSONEncodedType, _ place: JSONPlace) throws {
        switch way {
        case .custom(let keepsKeys): try writeCustom(value, place, keepsKeys)
        case .collection(let collection): try collection.write(value, to: self, place)
        case .tree: try writeTree(value, place)
        default: writeScalar(value, way)
        }
    }

    /// Writes a value with its own code.
    func writeCustom<Value: Encodable>(_ value: Value, _ place: JSONPlace, _ keepsKeys: Bool) throws {
        guard let serial = text.pointee.open(place, isValue: true, keepsKeys: keepsKeys) else { return }
        do {
            try value.encode(to: JSONTextEncoder(state: self, serial: serial))
        } catch {
            text.pointee.giveUp()
            throw error
        }
        text.pointee.closeValue()
    }

    /// Writes a value through the tree of parameters.
    private func writeTree<Value: Encodable>(_ value: Value, _ place: JSONPlace) throws {
        let state = EncodingState(encoder)
        state.nesting = text.pointee.nesting
        let path = text.pointee.path(at: place).reduce(CodingPath()) { $0.appending($1) }
        if place == .key { text.pointee.popKey() }
        guard !text.pointee.isGivenUp else { return }
        let tree: ParameterValue
        do {
            tree = try state.encode(value, at: path).resolved()
            try state.check()
        } catch {
            text.pointee.giveUp()
            throw error
        }
        write(tree)
    }

    private func writeScalar<Value>(_ value: Value, _ way: JSONEncodedType) {
        // The types are known from `way`. A checked cast would cost more than everything else.
        switch way {
        case .string: text.pointee.append(unsafeBitCast(value, to: String.self))
        case .boolean: text.pointee.output.append(unsafeBitCast(value, to: Bool.self))
        case .double: write(unsafeBitCast(value, to: Double.self))
        case .float: write(unsafeBitCast(value, to: Float.self))
        case .int: write(unsafeBitCast(value, to: Int.self))
        case .int8: write(unsafeBitCast(value, to: Int8.self))
        case .int16: write(unsafeBitCast(value, to: Int16.self))
        case .int32: write(unsafeBitCast(value, to: Int32.self))
        case .int64: write(unsafeBitCast(value, to: Int64.self))
        case .uint: write(unsafeBitCast(value, to: UInt.self))
        case .uint8: write(unsafeBitCast(value, to: UInt8.self))
        case .uint16: write(unsafeBitCast(value, to: UInt16.self))
        case .uint32: write(unsafeBitCast(value, to: UInt32.self))
        case .uint64: write(unsafeBitCast(value, to: UInt64.self))
        case .int128: write(ParameterValue.Number(unsafeBitCast(value, to: Int128.self)))
        case .uint128: write(ParameterValue.Number(unsafeBitCast(value, to: UInt128.self)))
        case .strings: text.pointee.appendList(unsafeBitCast(value, to: [String].self)) { $0.append($1) }
        case .integers: text.pointee.appendList(unsafeBitCast(value, to: [Int].self)) { $0.output.append(Int64($1)) }
        case .doubles: write(unsafeBitCast(value, to: [Double].self))
        case .date: write(unsafeBitCast(value, to: Date.self))
        case .data: write(.data(Array(unsafeBitCast(value, to: Data.self))))
        case .url: text.pointee.append(unsafeBitCast(value, to: URL.self).absoluteString)
        case .decimal: write(FoundationValue.number(unsafeBitCast(value, to: Decimal.self)))
        case .uuid: text.pointee.append(unsafeBitCast(value, to: UUID.self).uuidString)
        case .parameter: write(unsafeBitCast(value, to: ParameterValue.self))
        case .custom, .collection, .tree: break
        }
    }
}

// MARK: - Scalars

extension JSONEncodingState {
    @inline(__always)
    func write(_ value: some SignedInteger & FixedWidthInteger) {
        text.pointee.output.append(Int64(truncatingIfNeeded: value))
    }

    @inline(__always)
    func write(_ value: some UnsignedInteger & FixedWidthInteger) {
        text.pointee.output.append(UInt64(truncatingIfNeeded: value))
    }

    @inline(__always)
    func write(_ value: Double) {
        if value.isFinite { text.pointee.output.append(value) } else { write(ParameterValue.Number(value)) }
    }

    func write(_ value: Float) {
        if value.isFinite { text.pointee.output.append(value) } else { write(ParameterValue.Number(value)) }
    }

    private func write(_ values: [Double]) {
        guard values.allSatisfy(\.isFinite) else { return write(.array(values.map { ParameterValue($0) })) }
        text.pointee.appendList(values) { $0.output.append($1) }
    }

    func write(_ number: ParameterValue.Number) { write(.number(number)) }

    private func write(_ date: Date) {
        if case .iso8601 = style.dates.kind, let date = try? CalendarDate(date) {
            text.pointee.output.append(timestamp: date)
        } else {
            write(.date(date))
        }
    }

    /// Writes a tree with ``JSONWriter``.
    private func write(_ tree: ParameterValue) {
        do throws(ParameterFailure) {
            text.pointee.output.append(try JSONWriter.text(of: tree, style: style, depth: text.pointee.depth))
        } catch {
            text.pointee.giveUp()
        }
    }
}
