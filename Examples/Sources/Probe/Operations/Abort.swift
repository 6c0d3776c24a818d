extension Operation {
    /// Cancels the requests under way that have an id. They answer themselves, with their own error; this line says
    /// whether there was any. Ids are the probe's, not a session's.
    static let abort = Operation(
        name: "abort",
        rules: [.session, FieldRule("target", takesNull: true) { field, order in order.target = field.value }]
    ) { order, probe in
        guard let target = order.target else { throw LineProblem.unusable("target is missing") }
        let isFound = probe.cancel(target)
        return { await $0.write([.init("aborted", .bool(isFound))]) }
    }
}
