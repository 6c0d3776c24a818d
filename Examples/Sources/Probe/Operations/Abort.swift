extension Operation {
    /// Cancels the running requests with an id. They answer with their own errors; the answer to this line reports if
    /// there was any. Ids belong to the probe, not to a session.
    static let abort = Operation(
        name: "abort",
        rules: [.session, FieldRule("target", takesNull: true) { field, order in order.target = field.value }]
    ) { order, probe in
        guard let target = order.target else { throw LineProblem.unusable("target is missing") }
        let isFound = probe.cancel(target)
        return { await $0.write([.init("aborted", .bool(isFound))]) }
    }
}
