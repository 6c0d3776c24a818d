internal import HTTPTypes

/// A request for a part of a representation, and the judgement on what came back (RFC 9110 §14, §15.3.7, §15.5.17).
struct RangeQuestion: Sendable, Hashable {
    /// The bytes that are wanted. An upper bound of `Int64.max` stands for "to the end".
    var wanted: Range<Int64>
    /// The length of the whole, if it is known.
    var total: Int64?
    /// What the bytes that are there already belong to.
    var validator: RepresentationValidator

    /// What an answer is good for.
    enum Verdict: Sendable, Hashable {
        /// The body is this part, wanted from its beginning, though perhaps shorter.
        case part(Range<Int64>, total: Int64?)
        /// The body is the whole: the server takes no ranges, or has another representation by now.
        case whole
        /// There is nothing left to ask for: what is there is the whole.
        case complete
        /// The answer fits in no way. Nothing of it may be written.
        case misfit(Misfit)
        /// It is no answer to a range but a refusal.
        case refused
    }

    /// Why an answer does not fit.
    enum Misfit: String, Sendable, Hashable {
        case unreadable = "its Content-Range cannot be read"
        case severalParts = "it has several parts"
        case coded = "it has a content coding"
        case otherRange = "it is not the range that was asked for"
        case otherTotal = "the length of the whole is another one"
        case otherRepresentation = "it is of another representation"
        case otherLength = "its length is not that of its range"
        case endless = "nobody says how long the whole is"
        case unsatisfied = "there is no such range"
    }

    /// Puts the question into a request's fields.
    func ask(in fields: inout HTTPFields) {
        let isToTheEnd = wanted.upperBound == .max || wanted.upperBound == total
        fields[.range] = "bytes=\(wanted.lowerBound)-\(isToTheEnd ? "" : String(wanted.upperBound - 1))"
        fields[.ifRange] = validator.value
    }

    /// Judges an answer by its head. The body's length is still to be watched.
    func judge(_ head: HTTPResponse) -> Verdict {
        switch head.status.code {
        case 206: judgePart(head.headerFields)
        case 200, 203: .whole
        case 416: judgeUnsatisfied(head.headerFields)
        default: .refused
        }
    }

    private func judgePart(_ fields: HTTPFields) -> Verdict {
        let mediaType = MediaType(contentTypeOf: fields)
        if mediaType?.type == "multipart" { return .misfit(.severalParts) }
        guard let content = try? ContentRange(fields), let range = content.range else { return .misfit(.unreadable) }
        if RangeQuestion.isCoded(fields) { return .misfit(.coded) }
        guard range.lowerBound == wanted.lowerBound, range.upperBound <= wanted.upperBound else {
            return .misfit(.otherRange)
        }
        if let total, let other = content.total, total != other { return .misfit(.otherTotal) }
        guard let length = total ?? content.total else { return .misfit(.endless) }
        guard range.upperBound <= length else { return .misfit(.otherTotal) }
        guard validator.fits(fields) else { return .misfit(.otherRepresentation) }
        if let text = fields[.contentLength], ContentLength.read(text.utf8) != range.upperBound - range.lowerBound {
            return .misfit(.otherLength)
        }
        return .part(range, total: length)
    }

    private func judgeUnsatisfied(_ fields: HTTPFields) -> Verdict {
        guard let content = try? ContentRange(fields), content.range == nil, content.total == wanted.lowerBound,
            total == nil || total == content.total, fields[values: .eTag].isEmpty || validator.fits(fields)
        else { return .misfit(.unsatisfied) }
        return .complete
    }

    /// Whether a body has a content coding that changes its bytes.
    static func isCoded(_ fields: HTTPFields) -> Bool {
        !ContentCodingList(fields).names.isEmpty
    }
}
