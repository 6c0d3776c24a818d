internal import HTTPTypes

/// The state of a download and its next step: a value that does no I/O. ``DownloadOperation`` does what it says.
///
/// It knows the ranges that have been received and the representation that they belong to. Ranges are known by their number,
/// from 0 in the order in which they were opened, until ``forget()`` or ``restart()``.
struct DownloadPlan: Sendable {
    /// The next thing to do.
    enum Step: Sendable, Hashable {
        /// Ask for the whole, without a range.
        case askForWhole
        /// Ask for these segments, so many at a time.
        case askForRanges([Range<Int64>], atATime: Int)
        /// Ask for the last byte: all bytes are there from an earlier time, and the server may have others by now.
        case verify(RangeRequest)
        /// Discard what has been received, and call ``DownloadPlan/restart()``.
        case restart
        /// Check the file and give it its name: all of its bytes are there, so many.
        case finish(Int64)
        /// Give up, for this reason: ``ErrorCode/rangesFailed``.
        case fail(String)
    }

    /// The reason why the bytes that have been received are of no use any more.
    enum Restart: Sendable, Hashable {
        /// An answer to a range did not fit.
        case mismatch(RangeRequest.Mismatch)
        /// The server answered with the whole, and that answer is read.
        case whole
        /// A body had more bytes than its head said.
        case overlong
        /// There is no validator, so that a range might be of another representation.
        case unverifiable

        var reason: String {
            switch self {
            case .mismatch(let mismatch): mismatch.rawValue
            case .whole: "the server sent the whole"
            case .overlong: "a body was longer than it said"
            case .unverifiable: "nothing tells whether it is the same"
            }
        }

        /// True if ranges are better not asked for again: the server does them wrong, and has no other representation.
        fileprivate var avoidsRanges: Bool {
            switch self {
            case .mismatch(.otherTotal), .mismatch(.otherRepresentation), .mismatch(.unsatisfied): false
            case .mismatch, .overlong: true
            case .whole, .unverifiable: false
            }
        }
    }

    /// The verdict on the head of an answer to a range.
    enum RangeVerdict: Sendable, Hashable {
        /// Its body is written, and has to end where the part does. One that is too small counts as a failure afterwards.
        case write(upTo: Int64, isTooSmall: Bool)
        /// There is nothing left to ask for.
        case complete
        /// Nothing of it may be written.
        case restart(Restart)
        /// It brings no bytes but an error.
        case refused
    }

    /// The verdict on the head of an answer to a request for the whole.
    enum WholeVerdict: Sendable, Hashable {
        case accepted
        /// It is a part, which nobody asked for.
        case part
        /// It has no content.
        case empty
        /// It brings no bytes but an error.
        case refused
    }

    /// The most restarts of a download because an answer to a range did not fit.
    static let restartLimit = 3
    /// A shorter part than was asked for is allowed; one that is not even this long counts as a failure.
    private static let smallestPart: Int64 = 64 << 10

    private let segmentCount: Int
    private let smallestSegment: ByteSize
    /// The ranges that have been received, by their numbers. A new one is empty.
    private(set) var ranges: [Range<Int64>] = []
    private(set) var representation: Representation?
    /// True if the server has answered: what an earlier process received may be of another representation.
    private(set) var isConfirmed = false
    private var avoidsRanges = false
    private var avoidsSegments = false
    private var restarts = 0
    private var pendingRestart: Restart?

    /// - Parameters:
    ///   - segments: How many segments are asked for at a time where the server is fit for it.
    ///   - smallestSegment: The least that a segment has.
    init(segments: Int, smallestSegment: ByteSize) {
        segmentCount = segments
        self.smallestSegment = smallestSegment
    }

    // MARK: The next step

    /// The bytes that have been received.
    var received: ByteRanges { ByteRanges(ranges) }

    /// The number of bytes that have been received.
    var receivedCount: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// The next thing to do.
    var next: Step {
        if let pendingRestart {
            // The whole comes after a failure alone, and those are counted elsewhere.
            guard pendingRestart == .whole || restarts < Self.restartLimit else {
                return .fail("the download began anew \(restarts) times, and again \(pendingRestart.reason)")
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

    /// The segments of the whole, whose first bytes are there already: one, unless the server is fit for several.
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

    /// What a segment still lacks; nil if that is nothing.
    /// - Parameter number: The range that the segment is received into.
    func missing(of segment: Range<Int64>, in number: Int) -> Range<Int64>? {
        let end = ranges[number].upperBound
        guard end < min(segment.upperBound, representation?.total ?? .max) else { return nil }
        return end..<segment.upperBound
    }

    /// A request for some bytes; nil without a validator, for they might be of another representation.
    func request(for wanted: Range<Int64>) -> RangeRequest? {
        guard let representation, let validator = representation.rangeValidator else { return nil }
        return RangeRequest(
            wanted: wanted, total: representation.total, validator: validator, codings: representation.codings)
    }

    // MARK: Answers

    static func evaluate(whole status: HTTPResponse.Status) -> WholeVerdict {
        switch status.code {
        case 206: .part
        case 204, 205: .empty
        case 200...299: .accepted
        default: .refused
        }
    }

    /// Evaluates the head of an answer to a range, and learns the length of the whole from it.
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

    /// Takes over what an earlier download has left.
    mutating func restore(_ ranges: [Range<Int64>], of representation: Representation) {
        self.ranges = ranges
        self.representation = representation
    }

    /// The server has answered, and the answer fits.
    mutating func confirm() { isConfirmed = true }

    /// The head of the whole has come.
    mutating func begin(_ representation: Representation) { self.representation = representation }

    /// The number of the range that grows by bytes that begin here: one that ends here, or a new one.
    mutating func open(at start: Int64) -> (number: Int, isNew: Bool) {
        if let number = ranges.firstIndex(where: { $0.upperBound == start }) { return (number, false) }
        ranges.append(start..<start)
        return (ranges.count - 1, true)
    }

    /// So many bytes more are there.
    mutating func receive(_ count: Int, in number: Int) {
        ranges[number] = ranges[number].lowerBound..<(ranges[number].upperBound + Int64(count))
    }

    /// The body of the whole has ended, which gives its length if its head did not.
    mutating func end(at length: Int64) {
        if representation?.total == nil { representation?.total = length }
    }

    /// What has been received is of no use: ``next`` is to restart, or to give up.
    mutating func reject(_ restart: Restart) { pendingRestart = restart }

    /// Restarts, as ``Step/restart`` said.
    mutating func restart() {
        guard let restart = pendingRestart else { return }
        pendingRestart = nil
        if restart != .whole { restarts += 1 }
        avoidsRanges = avoidsRanges || restart.avoidsRanges
        avoidsSegments = true
        forget()
    }

    /// Forgets all that has been received, and what it belongs to.
    mutating func forget() {
        ranges = []
        representation = nil
        isConfirmed = false
    }
}

extension DownloadPlan {
    /// What is known of the representation that is being downloaded.
    struct Representation: Sendable {
        /// Its length, once it is known.
        fileprivate(set) var total: Int64?
        /// True if the server said that it takes ranges.
        let announcesRanges: Bool
        /// What ranges are asked for by; nil if they cannot be.
        let rangeValidator: ResumeToken.Validator?
        /// The content codings of the bytes that are in the file.
        let codings: [String]

        /// - Parameters:
        ///   - fields: Those of a response with the whole.
        ///   - length: The length of its body, if it is known.
        ///   - isDecoded: Whether a coding of its content was undone. Ranges are of the coded bytes, and those are not in the file.
        init(_ fields: HTTPFields, length: Int64?, isDecoded: Bool) {
            total = length
            let units: [String] = fields[values: .acceptRanges].joined(separator: ",").lowercased()
                .split(separator: ",").map { unit in unit.filter { $0 != " " && $0 != "\t" } }
            announcesRanges = units.contains("bytes")
            let list = ContentCodingList(fields)
            codings = list.names
            let isFit = !units.contains("none") && !isDecoded && list.isKeepable
            rangeValidator = isFit ? ResumeToken.Validator(fields) : nil
        }

        /// What a token knows.
        init(_ token: ResumeToken) {
            total = token.total
            announcesRanges = true
            rangeValidator = token.validator
            codings = token.codings
        }
    }
}
