internal import CurlewSupport

/// The reusable parts of an encoding: its memory, and information about types.
///
/// Creating them would take a considerable part of the time of a small document. A few workspaces of limited size are
/// kept.
final class JSONWorkspace {
    /// The text. It is behind a pointer, because every access to a property of an object is checked for exclusivity.
    /// The text and the tables exist as long as this object.
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

    /// A workspace for exclusive use.
    static func take() -> JSONWorkspace { pool.withLock { $0.popLast() } ?? JSONWorkspace() }

    /// Returns a workspace to the pool after its last use.
    static func giveBack(_ workspace: JSONWorkspace) {
        workspace.text.pointee.end()
        guard workspace.types.pointee.count + workspace.containers.pointee.count < typeLimit else { return }
        pool.withLock { pool in
            if pool.count < poolLimit { pool.append(workspace) }
        }
    }
}
