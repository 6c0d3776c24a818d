internal import CurlewSupport

/// The brackets, commas and names of JSON text that is written from the outside in, and the order of its writers.
///
/// A buffer only grows at its end, so members cannot be inserted out of order. Each open list or object has a frame
/// with a serial number, which its container stores. A write with another number than that of the innermost frame is
/// checked more closely. A text that cannot be written in order is abandoned: see ``giveUp()``.
struct JSONStructure {
    var output: JSONOutput
    private var escapesSlashes = true
    /// True if keys are written unchanged.
    private var keepsKeys = true
    private var keyNames = JSONKeyNames()
    /// The frames from the outside in. They are in raw memory, because an array checks its uniqueness at every write.
    /// For the limit of their number see ``open(_:isValue:keepsKeys:)``.
    private let frames: UnsafeMutablePointer<Frame>
    private var top: UnsafeMutablePointer<Frame>
    private var names = JSONNames()
    /// The keys of the path, for frames inside objects.
    private var keys: [any CodingKey] = []
    private var lastSerial = 0
    /// The number of open brackets.
    private(set) var depth = 0
    /// The number of nested values that are being encoded.
    private(set) var nesting = 0
    /// True if the text has been abandoned.
    private(set) var isGivenUp = false

    /// A list, an object, or a value whose kind is not known yet.
    struct Frame {
        enum Kind { case nothing, single, list, object }

        let serial: Int
        var kind: Kind
        let place: JSONPlace
        /// True if a value's own code is running. Outer frames cannot be written until it returns.
        let isValue: Bool
        /// True if keys are data, as in a dictionary, and not names.
        let keepsKeys: Bool
        /// The number of members so far.
        var count = 0
        var names = JSONNames.Scope()
    }

    /// The limit of nested values. It leaves room for the few levels that are not counted here, such as raw values of
    /// enumerations.
    private static let nestingLimit = ParameterEncoder.nestingLimit - 16
    private static let frameLimit = nestingLimit + ParameterValue.depthLimit + 8

    init() {
        output = JSONOutput(capacity: 4096)
        frames = .allocate(capacity: Self.frameLimit)
        top = frames
        top.initialize(to: Self.outermost)
    }

    private static let outermost = Frame(serial: 0, kind: .single, place: .same, isValue: true, keepsKeys: true)
    /// The largest capacity of the buffer that is kept for the next text.
    private static let keptCapacity = 64 << 10

    /// Begins a text, after the end of the former one.
    mutating func begin(naming: ParameterEncoder.KeyNaming, escapesSlashes: Bool) {
        self.escapesSlashes = escapesSlashes
        keepsKeys = naming.isAsWritten
        keyNames.naming = naming
    }

    /// Discards the text, and most memory of a large text.
    mutating func end() {
        output.removeAll(keeping: Self.keptCapacity)
        names.removeAll()
        keys.removeAll(keepingCapacity: true)
        keyNames.naming = .asWritten
        top = frames
        lastSerial = 0
        depth = 0
        nesting = 0
        isGivenUp = false
    }

    func deallocate() {
        output.deallocate()
        frames.deallocate()
        names.deallocate()
    }

    /// Abandons the text.
    ///
    /// No error is thrown, because a value's own code may rely on calls that do not throw. Further writes have no
    /// effect until all code has returned.
    @inline(never)
    mutating func giveUp() {
        guard !isGivenUp else { return }
        isGivenUp = true
        top += 1
        top.initialize(to: Frame(serial: -1, kind: .single, place: .same, isValue: true, keepsKeys: true))
    }
}

/// The position of a frame in the enclosing frame.
enum JSONPlace {
    /// The position of the enclosing frame itself, for a value that is encoded instead of another.
    case same
    /// The key of the last call of ``JSONStructure/push(_:)``.
    case key
    /// The end of a list.
    case index
}

// MARK: - Frames

extension JSONStructure {
    /// Opens a frame inside the innermost one, for a value whose own code will run, or for a nested container.
    ///
    /// ``nestingLimit`` limits the values, and the depth of JSON limits the brackets. An encoder from a nested
    /// container opens one of them before another frame can be opened. So both limits together limit the frames.
    /// - Returns: The number of the frame; nil if the text is abandoned.
    mutating func open(_ place: JSONPlace, isValue: Bool, keepsKeys: Bool) -> Int? {
        guard nesting < Self.nestingLimit, top - frames < Self.frameLimit - 2, !isGivenUp else {
            giveUp()
            return nil
        }
        if isValue { nesting &+= 1 }
        lastSerial &+= 1
        let scope = names.scope()
        top += 1
        top.initialize(
            to: Frame(
                serial: lastSerial, kind: .nothing, place: place, isValue: isValue, keepsKeys: keepsKeys, names: scope))
        return lastSerial
    }

    /// Closes the innermost value, and the open frames in it.
    mutating func closeValue() {
        guard !isGivenUp else { return }
        while !top.pointee.isValue { close() }
        // The text may have been abandoned because of too many brackets.
        guard !isGivenUp else { return }
        nesting &-= 1
        // The value at the top must have encoded something.
        if top == frames + 1, top.pointee.kind == .nothing { return giveUp() }
        close()
    }

    private mutating func close() {
        switch top.pointee.kind {
        case .nothing:
            // A value that encoded nothing is an empty object.
            guard bracket(.openBrace) else { return }
            closeBracket(.closeBrace)
        case .single: break
        case .list: closeBracket(.closeBracket)
        case .object: closeBracket(.closeBrace)
        }
        names.end(top.pointee.names)
        if top.pointee.place == .key { keys.removeLast() }
        top -= 1
    }

    /// True if a frame can be written: it is the innermost frame, or only nested containers are open in it. These are
    /// closed.
    @inline(__always)
    private mutating func isReady(_ serial: Int) -> Bool { top.pointee.serial == serial || reopen(serial) }

    @inline(never)
    private mutating func reopen(_ serial: Int) -> Bool {
        var frame = top
        while frame.pointee.serial != serial {
            guard !frame.pointee.isValue else {
                giveUp()
                return false
            }
            frame -= 1
        }
        while top != frame, !isGivenUp { close() }
        return !isGivenUp
    }

    /// Sets the kind of a frame that has none, and opens its bracket; false if the frame has another kind already.
    mutating func become(_ kind: Frame.Kind, _ serial: Int) -> Bool {
        guard isReady(serial) else { return false }
        if top.pointee.kind == kind, kind != .single { return true }
        guard top.pointee.kind == .nothing else {
            giveUp()
            return false
        }
        top.pointee.kind = kind
        switch kind {
        case .nothing, .single: return true
        case .list: return bracket(.openBracket)
        case .object: return bracket(.openBrace)
        }
    }

    @inline(__always)
    private mutating func bracket(_ byte: UInt8) -> Bool {
        depth &+= 1
        guard depth <= ParameterValue.depthLimit else {
            giveUp()
            return false
        }
        output.append(byte)
        return true
    }

    @inline(__always)
    private mutating func closeBracket(_ byte: UInt8) {
        depth &-= 1
        output.append(byte)
    }
}

// MARK: - Members

extension JSONStructure {
    /// Writes the comma before the next element of a list; false if the element cannot be written.
    @inline(__always)
    mutating func beginElement(_ serial: Int) -> Bool {
        guard isReady(serial) else { return false }
        if top.pointee.count > 0 { output.append(.comma) }
        top.pointee.count &+= 1
        return true
    }

    /// Writes the name of the next member of an object; false if the member cannot be written.
    mutating func beginMember(_ name: String, _ serial: Int) -> Bool {
        guard isReady(serial) else { return false }
        let name = keepsKeys || top.pointee.keepsKeys ? name : keyNames.name(of: name)
        let marks = appendName(name)
        guard names.insert(name, marks, count: top.pointee.count, into: &top.pointee.names, of: output) else {
            giveUp()
            return false
        }
        return true
    }

    /// Writes the name of the next member of a dictionary, whose names are all different.
    mutating func beginUniqueMember(_ name: String) { _ = appendName(name) }

    @inline(__always)
    private mutating func appendName(_ name: String) -> JSONOutput.Marks {
        if top.pointee.count > 0 { output.append(.comma) }
        top.pointee.count &+= 1
        let marks = output.append(name, escapingSlashes: escapesSlashes)
        output.append(.colon)
        return marks
    }

    /// Writes a string.
    @inline(__always)
    mutating func append(_ string: String) { output.append(string, escapingSlashes: escapesSlashes) }

    /// Writes a list of plain elements, one by one.
    @inline(__always)
    mutating func appendList<Element>(_ elements: [Element], _ append: (inout JSONStructure, Element) -> Void) {
        guard bracket(.openBracket) else { return }
        var isFirst = true
        for element in elements {
            if !isFirst { output.append(.comma) }
            isFirst = false
            append(&self, element)
        }
        closeBracket(.closeBracket)
    }
}

// MARK: - Paths

extension JSONStructure {
    /// Stores the key of the next frame at ``JSONPlace/key``.
    mutating func push(_ key: any CodingKey) {
        // Frames of an abandoned text are not closed, so their keys would remain.
        if !isGivenUp { keys.append(key) }
    }

    /// Removes the key of a frame that was not opened.
    mutating func popKey() {
        if !isGivenUp { keys.removeLast() }
    }

    /// The path of a frame, for a value's own code. If the frame is closed, the text is abandoned, and the result is
    /// the innermost path.
    mutating func path(of serial: Int) -> [any CodingKey] { path(to: frame(serial) ?? top) }

    private func path(to last: UnsafeMutablePointer<Frame>) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var used = 0
        var frame = frames
        while frame != last {
            let outer = frame
            frame += 1
            switch frame.pointee.place {
            case .same: break
            case .index: path.append(IndexKey(outer.pointee.count - 1))
            case .key:
                path.append(keys[used])
                used += 1
            }
        }
        return path
    }

    /// The path of the next value.
    func path(at place: JSONPlace) -> [any CodingKey] {
        let path = path(to: top)
        switch place {
        case .same: return path
        case .index: return path + [IndexKey(top.pointee.count - 1)]
        case .key: return path + keys.suffix(1)
        }
    }

    /// The number of members of a frame. If the frame is closed, the text is abandoned, and the result is 0.
    mutating func count(of serial: Int) -> Int { frame(serial)?.pointee.count ?? 0 }

    private mutating func frame(_ serial: Int) -> UnsafeMutablePointer<Frame>? {
        var frame = top
        while frame.pointee.serial != serial {
            guard frame != frames else {
                giveUp()
                return nil
            }
            frame -= 1
        }
        return frame
    }
}
