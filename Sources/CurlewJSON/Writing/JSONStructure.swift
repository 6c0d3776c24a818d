internal import CurlewSupport

/// The brackets, commas and names of JSON text that is written from the outside in, and who may write next.
///
/// A buffer has no way back: what comes out of order cannot be put in its place. Each open list or object has a frame with a
/// number of its own, the number is what a container knows, and a write with any other number than that of the innermost frame
/// is looked at more closely. What cannot be written in order is given up for good: see ``giveUp()``.
struct JSONStructure {
    var output: JSONOutput
    private var escapesSlashes = true
    /// True if keys are names as they are.
    private var keepsKeys = true
    private var keyNames = JSONKeyNames()
    /// The frames from the outside in. Raw memory, because an array checks its uniqueness at every write; how many there can be
    /// is bounded, see ``open(_:isValue:keepsKeys:)``.
    private let frames: UnsafeMutablePointer<Frame>
    private var top: UnsafeMutablePointer<Frame>
    private var names = JSONNames()
    /// The keys of the path, for frames that lie in objects.
    private var keys: [any CodingKey] = []
    private var lastSerial = 0
    /// The brackets that are open.
    private(set) var depth = 0
    /// The number of values that are being encoded, each inside the former.
    private(set) var nesting = 0
    /// True once the text cannot be what it should be.
    private(set) var isGivenUp = false

    /// A list, an object, or a value that is to become something.
    struct Frame {
        enum Kind { case nothing, single, list, object }

        let serial: Int
        var kind: Kind
        let place: JSONPlace
        /// True if a value's own code is under way, which frames further out have to wait for.
        let isValue: Bool
        /// True if keys are data, as those of a dictionary are, and not names.
        let keepsKeys: Bool
        /// The members so far.
        var count = 0
        var names = JSONNames.Scope()
    }

    /// Leaves room for the few levels that are not counted here one by one, as those of an enumeration's raw value.
    private static let nestingLimit = ParameterEncoder.nestingLimit - 16
    private static let frameLimit = nestingLimit + ParameterValue.depthLimit + 8

    init() {
        output = JSONOutput(capacity: 4096)
        frames = .allocate(capacity: Self.frameLimit)
        top = frames
        top.initialize(to: Self.outermost)
    }

    private static let outermost = Frame(serial: 0, kind: .single, place: .same, isValue: true, keepsKeys: true)
    /// The size of buffer that is kept for the next text.
    private static let keptCapacity = 64 << 10

    /// Begins a text. The last one has ended.
    mutating func begin(naming: ParameterEncoder.KeyNaming, escapesSlashes: Bool) {
        self.escapesSlashes = escapesSlashes
        keepsKeys = naming.isAsWritten
        keyNames.naming = naming
    }

    /// Drops the text, and most of what memory a large one took.
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

    /// Says that the text is not what it should be. Nothing throws then, for a value's own code may trust that nothing does:
    /// writing goes on without effect until all have returned.
    @inline(never)
    mutating func giveUp() {
        guard !isGivenUp else { return }
        isGivenUp = true
        top += 1
        top.initialize(to: Frame(serial: -1, kind: .single, place: .same, isValue: true, keepsKeys: true))
    }
}

/// The place of a frame in the one around it.
enum JSONPlace {
    /// The very same: what a value encodes in place of itself.
    case same
    /// The key that was last ``JSONStructure/push(_:)``ed.
    case key
    /// The end of a list.
    case index
}

// MARK: - Frames

extension JSONStructure {
    /// Opens a frame inside the innermost one: a value's own if its code is to run, or that of a nested container.
    ///
    /// Values are bounded by ``nestingLimit`` and brackets by the depth of JSON, and an encoder that a nested container gave
    /// away opens either before another frame can: together they bound the frames.
    /// - Returns: Its number; nil if there is none, as nothing can be written any more.
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

    /// Closes the innermost value, and what is open in it.
    mutating func closeValue() {
        guard !isGivenUp else { return }
        while !top.pointee.isValue { close() }
        // Closing may have given up, on a bracket too many.
        guard !isGivenUp else { return }
        nesting &-= 1
        // At the top a value has to be something.
        if top == frames + 1, top.pointee.kind == .nothing { return giveUp() }
        close()
    }

    private mutating func close() {
        switch top.pointee.kind {
        case .nothing:
            // What encoded nothing is an empty object.
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

    /// True if a frame may be written to: it is the innermost one, or only nested containers are open in it, which end then.
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

    /// Makes a frame that is nothing yet that kind, and opens its bracket; false if it is another kind already.
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
    /// Writes what goes before the next element of a list; false if nothing can be written there.
    @inline(__always)
    mutating func beginElement(_ serial: Int) -> Bool {
        guard isReady(serial) else { return false }
        if top.pointee.count > 0 { output.append(.comma) }
        top.pointee.count &+= 1
        return true
    }

    /// Writes the name of the next member of an object; false if nothing can be written there.
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

    /// Writes a list of what needs no more than that, one by one.
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
    /// Remembers the key of what will be opened next at ``JSONPlace/key``.
    mutating func push(_ key: any CodingKey) {
        // Frames that are given up for are not closed either.
        if !isGivenUp { keys.append(key) }
    }

    /// Forgets the key, of what was not opened in the end.
    mutating func popKey() {
        if !isGivenUp { keys.removeLast() }
    }

    /// The path of a frame that a value's code asks for. If that is closed, this gives up, and the answer is the innermost path.
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

    /// The path of what is about to be written.
    func path(at place: JSONPlace) -> [any CodingKey] {
        let path = path(to: top)
        switch place {
        case .same: return path
        case .index: return path + [IndexKey(top.pointee.count - 1)]
        case .key: return path + keys.suffix(1)
        }
    }

    /// The number of members of a frame. If that is closed, this gives up, and the answer is none.
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
