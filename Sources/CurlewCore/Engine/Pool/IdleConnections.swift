/// A linked list of the idle connections, the one that has been idle longest first. Each connection is a node of the
/// list.
struct IdleConnections {
    private(set) var oldest: Connection?
    private var newest: Connection?
    private(set) var count = 0

    mutating func insert(_ connection: Connection, at now: Instant) {
        connection.idleSince = now
        connection.isIdle = true
        connection.idleBefore = newest
        newest?.idleAfter = connection
        newest = connection
        if oldest == nil { oldest = connection }
        count += 1
    }

    mutating func remove(_ connection: Connection) {
        guard connection.isIdle else { return }
        connection.isIdle = false
        count -= 1
        if oldest === connection { oldest = connection.idleAfter }
        if newest === connection { newest = connection.idleBefore }
        connection.idleBefore?.idleAfter = connection.idleAfter
        connection.idleAfter?.idleBefore = connection.idleBefore
        connection.idleBefore = nil
        connection.idleAfter = nil
    }
}
