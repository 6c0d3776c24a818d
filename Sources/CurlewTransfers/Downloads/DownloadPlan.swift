internal import HTTPTypes

/// The state of a download and its next step: a value without I/O. ``DownloadOperation`` performs the steps.
///
/// The plan contains the received ranges and their representation. Ranges are numbered from 0 in the order in which
/// they were opened, until ``forget()`` or ``restart()``.
struct DownloadPlan: Sendable {
    /// The next step.
    enum Step: Sendable, Hashable {
        /// Request the complete file, without a range.
        case askForWhole
        /// Request these segments, at most `atATime` at once.
        case askForRanges([Range<Int64>], atATime: Int)
        /// Request the last byte: an earlier run has received all bytes, but the server may have another file now.
        case verify(RangeRequest)
        /// Discard the received bytes, and call ``DownloadPlan/restart()``.
        case restart
        /// Check the file and name it: all of its bytes are there. The value is their number.
        case finish(Int64)
        /// Fail with ``ErrorCode/rangesFailed``, for this reason.
        case fail(String)
    }

    /// The reason why the received bytes are useless.
    enum Restart: Sendable, Hashable {
        /// A response to a range did not match.
        case mismatch(RangeRequest.Mismatch)
        /// The server sent the complete file, and this response is read.
        case whole
        /// A body had more bytes than its head declared.
        case overlong
        /// The representation has no validator, so a range might belong to another one.
        case unverifiable

        var reason: String {
            switch self {
            case .mismatch(let mismatch): mismatch.rawValue
            case .whole: "the server sent the complete file"
            case .overlong: "a body was longer than declared"
            case .unverifiable: "the server sends no validator to resume by"
            }
        }

        /// True if the next attempts avoid ranges, because the server handles ranges wrongly although the
        /// representation is the same.
        fileprivate var avoidsRanges: Bool {
            switch self {
            case .mismatch(.otherTotal), .mismatch(.otherRepresentation), .mismatch(.unsatisfied): false
            case .mismatch, .overlong: true
            case .whole, .unverifiable: false
            }
        }
    }

    /// The verdict on the head of a response to a range.
    enum RangeVerdict: Sendable, Hashable {
        /// The body is written, and must end at this offset. A part that is too small then counts as a failure.
        case write(upTo: Int64, isTooSmall: Bool)
        /// No bytes are missing.
        case complete
        /// The response must not be written.
        case restart(Restart)
        /// The response is an error without bytes of the file.
        case refused
    }

    /// The verdict on the head of a response to a request for the complete file.
    enum WholeVerdict: Sendable, Hashable {
        case accepted
        /// The response is a part, which was not requested.
        case part
        /// The response has no content.
        case empty
        /// The response is an error without bytes of the file.
        case refused
    }

    /// The greatest number of restarts of a download after responses to ranges that did not match.
    static let restartLimit = 3
    /// The smallest accepted part. A part may be shorter than requested; a part below this size counts as a failure.
    private static let smallestPart: Int64 = 64 << 10

    private let segmentCount: Int
    private let smallestSegment: ByteSize
    /// The received ranges, by their numbers. A new range is empty.
    private(set) var ranges: [Range<Int64>] = []
    private(set) var representation: Representation?
    /// True if the server has answered. Before that, the bytes of an earlier process may belong to another
    /// representation.
    private(set) var isConfirmed = false
    private var avoidsRanges = false
    private var avoidsSegments = false
    private var restarts = 0
    private var pendingRestart: Restart?

    /// - Parameters:
    ///   - segments: The number of segments that are fetched at a time if the server supports them.
    ///   - smallestSegment: The smallest size of a segment.
    init(segments: Int, smallestSegment: ByteSize) {
        segmentCount = segments
        self.smallestSegment = smallestSegment
    }

    // MARK: Next step

    /// The received bytes.
    var received: ByteRanges { ByteRanges(ranges) }

    /// The number of received bytes.
    var receivedCount: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// The next step.
    var next: Step {
        if let pendingRestart {
            // A full response only follows a failed attempt, which ``DownloadAttempts`` counts. It does not use up a
            // restart.
            guard pendingRestart == .whole || restarts < Self.restartLimit else {
                return .fail(
                    "the download restarted \(restarts) times, and the last response cannot be used: "
                        + pendingRestart.reason)
            }
            return .restart
        }
        let total = representation?.total
        if isConfirmed, let total, received.isWhole(of: total) { return .finish(total) }
        guard !avoidsRanges, ranges.contains(where: { !$0.isEmpty }), let representation,
            let validator = representation.rangeValidator
        else { return .askForWhole }
        let gaps = received.missing(of: total)
        if gaps.isEmpty, let total {
            return .verify(
                RangeRequest(
                    wanted: (total - 1)..<total, total: total, validator: validator, codings: representation.codings))
        }
        return .askForRanges(segments(of: gaps, representation), atATime: segmentLimit)
    }

    /// The number of segments that are fetched at a time.
    var segmentLimit: Int { avoidsSegments ? 1 : min(max(segmentCount, 1), SegmentPlan.countLimit) }

    /// The segments of the complete file, the first of which has begun: one, unless the server supports several.
    var segmentsOfWhole: [Range<Int64>] {
        guard let representation else { return [] }
        return segments(of: [0..<(representation.total ?? .max)], representation)
    }

    private func segments(of gaps: [Range<Int64>], _ representation: Representation) -> [Range<Int64>] {
        let isFit =
            !avoidsSegments && !avoidsRanges && representation.announcesRanges && representation.rangeValidator != nil
        let count = isFit ? segmentCount : 1
        return SegmentPlan(dividing: gaps, into: count, smallest: smallestSegment).segments
    }

    /// The missing bytes of a segment; nil if it is complete.
    /// - Parameter number: The range that the segment is received into.
    func missing(of segment: Range<Int64>, in number: Int) -> Range<Int64>? {
        let end = ranges[number].upperBound
        guard end < min(segment.upperBound, representation?.total ?? .max) else { return nil }
        return end..<segment.upperBound
    }

    /// A request for some bytes; nil without a validator, because the bytes might belong to another representation.
    func request(for wanted: Range<Int64>) -> RangeRequest? {
        guard let representation, let validator = representation.rangeValidator else { return nil }
        return RangeRequest(
            wanted: wanted, total: representation.total, validator: validator, codings: representation.codings)
    }

    // MARK: Responses

    static func evaluate(whole status: HTTPResponse.Status) -> WholeVerdict {
        switch status.code {
        case 206: .part
        case 204, 205: .empty
        case 200...299: .accepted
        default: .refused
        }
    }

    /// Evaluates the head of a response to a range, and takes the length of the complete file from it.
    mutating func evaluate(_ head: HTTPResponse, for request: RangeRequest) -> RangeVerdict {
        switch request.evaluate(head) {
        case .part(let range, let total):
            if representation?.total == nil { representation?.total = total }
            let isShort = range.upperBound < min(request.wanted.upperBound, total ?? .max)
            let isTooSmall = isShort && range.upperBound - range.lowerBound < Self.smallestPart
            return .write(upTo: range.upperBound, isTooSmall: isTooSmall)
        case .complete:
            representation?.total = request.wanted.lowerBound
            return .complete
        case .whole: return .restart(.whole)
        case .mismatch(let mismatch): return .restart(.mismatch(mismatch))
        case .refused: return .refused
        }
    }

    // MARK: Events

    /// Restores the state of an earlier download.
    mutating func restore(_ ranges: [Range<Int64>], of representation: Representation) {
        self.ranges = ranges
        self.representation = representation
    }

    /// Records that the server has answered with a matching response.
    mutating func confirm() { isConfirmed = true }

    /// Records the head of a response with the complete file.
    mutating func begin(_ representation: Representation) { self.representation = representation }

    /// The number of the range that grows by bytes from this offset: a range that ends there, or a new one.
    mutating func open(at start: Int64) -> (number: Int, isNew: Bool) {
        if let number = ranges.firstIndex(where: { $0.upperBound == start }) { return (number, false) }
        ranges.append(start..<start)
        return (ranges.count - 1, true)
    }

    /// Adds received bytes to a range.
    mutating func receive(_ count: Int, in number: Int) {
        ranges[number] = ranges[number].lowerBound..<(ranges[number].upperBound + Int64(count))
    }

    /// Records the end of the body of the complete file. Its length is then known even if the head did not declare it.
    mutating func end(at length: Int64) {
        if representation?.total == nil { representation?.total = length }
    }

    /// Discards the received bytes: the ``next`` step is a restart or a failure.
    mutating func reject(_ restart: Restart) { pendingRestart = restart }

    /// Performs the step ``Step/restart``.
    mutating func restart() {
        guard let restart = pendingRestart else { return }
        pendingRestart = nil
        if restart != .whole { restarts += 1 }
        avoidsRanges = avoidsRanges || restart.avoidsRanges
        avoidsSegments = true
        forget()
    }

    /// Forgets the received ranges and their representation.
    mutating func forget() {
        ranges = []
        representation = nil
        isConfirmed = false
    }
}

extension DownloadPlan {
    /// The known properties of the representation that is being downloaded.
    struct Representation: Sendable {
        /// Its length; nil if it is still unknown.
        fileprivate(set) var total: Int64?
        /// True if the server declared that it accepts ranges.
        let announcesRanges: Bool
        /// The validator for range requests; nil if ranges cannot be requested.
        let rangeValidator: ResumeToken.Validator?
        /// The content codings of the bytes that are in the file.
        let codings: [String]

        /// - Parameters:
        ///   - fields: The fields of a response with the complete file.
        ///   - length: The length of its body, if it is known.
        ///   - isDecoded: True if the content coding was removed. Ranges count coded bytes, which are not in the file
        ///     then.
        init(_ fields: HTTPFields, length: Int64?, isDecoded: Bool) {
            total = length
            let units: [String] = fields[values: .acceptRanges].joined(separator: ",").lowercased()
                .utf8.split(separator: .comma)
                .map { unit in String(decoding: unit.filter { !$0.isBlank }, as: UTF8.self) }
            announcesRanges = units.contains("bytes")
            let list = ContentCodingList(fields)
            codings = list.names
            let isFit = !units.contains("none") && !isDecoded && list.isKeepable
            rangeValidator = isFit ? ResumeToken.Validator(fields) : nil
        }

        /// Makes the representation of a token.
        init(_ token: ResumeToken) {
            total = token.total
            announcesRanges = true
            rangeValidator = token.validator
            codings = token.codings
        }
    }
}
