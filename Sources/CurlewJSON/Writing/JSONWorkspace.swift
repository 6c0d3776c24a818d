internal import CurlewSupport

/// What an encoding needs and the next one can use again: its memory, and what was found out about types.
///
/// A small document would spend a good part of its time on making them. A few are kept, each with bounds.
final class JSONWorkspace {
    /// The text. Behind a pointer and not a property, because every access to a property of an object is checked for another
    /// that is under way. It lives as long as this object, and so do the tables.
    let text: UnsafeMutablePointer<JSONStructure>
    let types: UnsafeMutablePointer<JSONTypeTable<JSONEncodedType>>
    /// A ``JSONContainerType`` for each type of keys.
    let containers: UnsafeMutablePointer<JSONTypeTable<AnyObject>>

    private static let pool = Guarded<[JSONWorkspace]>([])
    private static let poolLimit = 8
    private static let typeLimit = 1000

    private init() {
        text = .allocate(capacity: 1)
        text.initialize(to: JSONStructure())
        types = .allocate(capacity: 1)
        types.initialize(to: JSONTypeTable())
        containers = .allocate(capacity: 1)
        containers.initialize(to: JSONTypeTable())
    }

    deinit {
        text.pointee.deallocate()
        text.deinitialize(count: 1)
        text.deallocate()
        types.pointee.deallocate()
        types.deallocate()
        containers.pointee.deallocate()
        containers.deallocate()
    }

    /// One that nobody else has.
    static func take() -> JSONWorkspace { pool.withLock { $0.popLast() } ?? JSONWorkspace() }

    /// Takes one back that nobody has any more.
    static func giveBack(_ workspace: JSONWorkspace) {
        workspace.text.pointee.end()
        guard workspace.types.pointee.count + workspace.containers.pointee.count < typeLimit else { return }
        pool.withLock { pool in
            if pool.count < poolLimit { pool.append(workspace) }
        }
    }
}
