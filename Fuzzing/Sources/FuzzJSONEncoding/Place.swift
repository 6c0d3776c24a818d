/// The open containers of a value, and the steps on them.
struct Place {
    private struct Failure: Error {}

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private enum Container {
        case encoder(any Encoder)
        case object(KeyedEncodingContainer<Name>)
        case list(any UnkeyedEncodingContainer)
    }

    /// The containers, outermost first.
    private var containers: [Container]
    private var innermost: Int { containers.count - 1 }

    init(encoder: any Encoder) { containers = [.encoder(encoder)] }

    mutating func take(_ step: Step) throws {
        switch step.action {
        case .member, .null, .nestedObject: try takeAsObject(step)
        case .element, .nestedList, .superEncoder: try takeAsList(step)
        case .attempt: try? takeAsObject(step)
        case .single:
            guard case .encoder(let encoder) = containers[innermost] else { return }
            var single = encoder.singleValueContainer()
            try single.encode(step.value)
        // The outward step leaves the innermost container, but never the initial encoder.
        case .outward:
            if containers.count > 1 { containers.removeLast() }
        case .failure: if step.name.isEmpty { throw Failure() }
        }
    }

    private mutating func takeAsObject(_ step: Step) throws {
        if case .encoder(let encoder) = containers[innermost] {
            containers.append(.object(encoder.container(keyedBy: Name.self)))
        }
        guard case .object(var object) = containers[innermost] else { return try takeAsList(step) }
        let key = Name(step.name)
        switch step.action {
        case .nestedObject: containers.append(.object(object.nestedContainer(keyedBy: Name.self, forKey: key)))
        case .nestedList: containers.append(.list(object.nestedUnkeyedContainer(forKey: key)))
        case .superEncoder: containers.append(.encoder(object.superEncoder(forKey: key)))
        case .null: try object.encodeNil(forKey: key)
        default: try object.encode(step.value, forKey: key)
        }
    }

    private mutating func takeAsList(_ step: Step) throws {
        if case .encoder(let encoder) = containers[innermost] {
            containers.append(.list(encoder.unkeyedContainer()))
        }
        guard case .list(var list) = containers[innermost] else { return try takeAsObject(step) }
        let place = innermost
        defer { containers[place] = .list(list) }
        switch step.action {
        case .nestedObject: containers.append(.object(list.nestedContainer(keyedBy: Name.self)))
        case .nestedList: containers.append(.list(list.nestedUnkeyedContainer()))
        case .superEncoder: containers.append(.encoder(list.superEncoder()))
        case .null: try list.encodeNil()
        default: try list.encode(step.value)
        }
    }
}
