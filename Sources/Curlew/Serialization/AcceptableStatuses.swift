public import HTTPTypes

/// Which statuses count as success.
public struct AcceptableStatuses: Sendable, Hashable {
    /// The codes, as ranges.
    public let ranges: [ClosedRange<Int>]

    /// The codes within one of the ranges.
    public static func ranges(_ ranges: ClosedRange<Int>...) -> AcceptableStatuses {
        AcceptableStatuses(ranges: ranges)
    }

    /// These codes.
    public static func codes(_ codes: Int...) -> AcceptableStatuses {
        AcceptableStatuses(ranges: codes.map { $0...$0 })
    }

    /// 200 to 299.
    public static let successful = AcceptableStatuses(ranges: [200...299])
    /// 204 (No Content) and 205 (Reset Content), which have no body.
    public static let withoutContent = AcceptableStatuses(ranges: [204...205])
    /// Every status.
    public static let any = AcceptableStatuses(ranges: [Int.min...Int.max])
    /// No status.
    public static let none = AcceptableStatuses(ranges: [])

    /// Whether a status is among them.
    public func contains(_ status: HTTPResponse.Status) -> Bool { ranges.contains { $0.contains(status.code) } }

    /// The ranges as text, such as `200 to 299`.
    var text: String {
        ranges.map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
            .joined(separator: ", ")
    }
}
