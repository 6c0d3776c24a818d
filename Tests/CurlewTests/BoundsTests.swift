import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("The documented table of limits")
struct BoundsTests {
    /// The expected beginning of the article's text on each named bound, from the code.
    private let code: [String: String] = {
        let timeouts = Timeouts()
        let configuration = SessionConfiguration()
        let connections = configuration.connections
        let response = CurlewResponse.Limits()
        let cookies = CookieJar.Limits()
        let coding = ContentDecoding.Limits()
        let part = CurlewResponse.MultipartParts.Limits()
        let event = ServerSentEvent.Limits()
        let download = DownloadTask.Options()
        let json = JSONCoding.ReadingOptions()
        let list = PropertyListReadingOptions()
        let hosts = StrictTransport.Store.Limits()
        let alternatives = AlternativeServices.Store.Limits()
        return [
            "Timeouts/connect": text(timeouts.connect),
            "Timeouts/connectionWait": text(timeouts.connectionWait),
            "Timeouts/head": text(timeouts.head),
            "Timeouts/idle": text(timeouts.idle),
            "Timeouts/total": text(timeouts.total),
            "RequestOptions/totalTimeout": text(RequestOptions().totalTimeout),
            "RequestOptions/expectContinue": text(RequestOptions().expectContinue),
            "Retry/Policy/totalTime": text(Retry().policy.totalTime),
            "Retry/Policy/retryAfterLimit": text(Retry().policy.retryAfterLimit),
            "Retry/Policy/attempts": text(Retry().policy.attempts),
            "Hedging/maximum": text(Hedging(after: .seconds(1)).maximum),
            "ConnectionLimits/perHost": text(connections.perHost),
            "ConnectionLimits/total": connections.total == 0 ? "none" : text(connections.total),
            "ConnectionLimits/idle": text(connections.idle),
            "ConnectionLimits/idleLifetime": text(connections.idleLifetime),
            "ConnectionLimits/maximumAge": text(connections.maximumAge),
            "ConnectionLimits/maximumUses": connections.maximumUses == 0 ? "none" : text(connections.maximumUses),
            "ConnectionLimits/silenceTimeout": text(connections.silenceTimeout),
            "ConnectionLimits/keepAliveInterval": text(connections.keepAliveInterval),
            "ConnectionLimits/nameLifetime": text(connections.nameLifetime),
            "ConnectionLimits/streamsPerConnection": connections.streamsPerConnection == 0
                ? "what the server allows" : text(connections.streamsPerConnection),
            "LoadQueue/capacity": text(LoadQueue().capacity),
            "LoadQueue/timeout": text(LoadQueue().timeout),
            "CircuitBreaker/Policy/longestWait": text(CircuitBreaker.Policy().longestWait),
            "LoadScope/groupLimit": text(LoadScope.groupLimit),
            "SessionConfiguration/tasksInFlight": text(configuration.tasksInFlight),
            "SessionConfiguration/progressInterval": text(configuration.progressInterval),
            "SessionConfiguration/connectivityTimeout": configuration.connectivityTimeout == nil ? "nothing" : "?",
            "SessionConfiguration/eventBufferSize": text(configuration.eventBufferSize),
            "SessionConfiguration/eventBodyLimit": text(configuration.eventBodyLimit),
            "SessionConfiguration/rateLimit": configuration.rateLimit == .none ? "none" : "?",
            "SessionConfiguration/bodyBufferSize": text(configuration.bodyBufferSize),
            "SessionConfiguration/readBufferSize": text(configuration.readBufferSize),
            "CurlewResponse/Limits/headSize": text(response.headSize),
            "CurlewResponse/Limits/fieldCount": text(response.fieldCount),
            "CurlewResponse/Limits/interimResponses": text(response.interimResponses),
            "CurlewResponse/Limits/collectedBody": text(response.collectedBody),
            "CurlewError/bodyPrefixLimit": text(CurlewError.bodyPrefixLimit),
            "ResponseAcceptance/bodyLimit": ResponseAcceptance(.any).bodyLimit == nil ? "that of the session" : "?",
            "ResponseAcceptance/errorBodyLimit": text(ResponseAcceptance(.any).errorBodyLimit),
            "ServerSentEvent/Limits/line": "\(text(event.line)), \(text(event.event))",
            "ContentType/parameterLimit": text(ContentType.parameterLimit),
            "CurlewResponse/MultipartParts/Limits/headSize":
                "\(text(part.headSize)) and \(text(part.fieldCount)) fields",
            "CurlewResponse/MultipartParts/Limits/epilogueSize": text(part.epilogueSize),
            "ParameterValue/depthLimit": text(ParameterValue.depthLimit),
            "CookieJar/Limits/perDomain": "\(text(cookies.perDomain)) and \(text(cookies.total)) cookies",
            "CookieJar/Limits/fieldSize": text(cookies.fieldSize),
            "CookieJar/Limits/fileSize": text(cookies.fileSize),
            "CookieJar/Limits/changeBufferSize": text(cookies.changeBufferSize),
            "HTTPCache/MemoryStore/capacity": text(HTTPCache.MemoryStore().capacity),
            "HTTPCache/MemoryStore/entryLimit":
                HTTPCache.MemoryStore().entryLimit.bytes == HTTPCache.MemoryStore().capacity.bytes / 20
                ? "a twentieth" : "?",
            "HTTPCache/MemoryStore/variantLimit": text(HTTPCache.MemoryStore().variantLimit),
            "HTTPCache/storeTimeout": text(HTTPCache().storeTimeout),
            "HTTPCache/removalTimeout": text(HTTPCache.removalTimeout),
            "Coalescing/bodyLimit": text(Coalescing().bodyLimit),
            "Coalescing/bodyTimeout": text(Coalescing().bodyTimeout),
            "ChallengeAuthentication/Challenge/limit": text(ChallengeAuthentication.Challenge.limit),
            "RequestCompression/wholeLimit": text(RequestCompression(.gzip).wholeLimit),
            "Redirects/Policy/follow(maximum:)":
                "\(text(Redirects.Policy.follow.maximum)); \(text(Redirects.Policy.upperLimit)) at most",
            "Redirects/locationLimit": text(Redirects.locationLimit),
            "Retry/Budget": "a fifth",
            "StrictTransport/Store/Limits/hosts": text(hosts.hosts),
            "StrictTransport/Store/Limits/age": text(hosts.age),
            "StrictTransport/Store/Limits/fileSize": text(hosts.fileSize),
            "AlternativeServices/Store/Limits/origins": text(alternatives.origins),
            "AlternativeServices/Store/Limits/perOrigin": text(alternatives.perOrigin),
            "AlternativeServices/Store/Limits/age": text(alternatives.age),
            "AlternativeServices/Store/Limits/fileSize": text(alternatives.fileSize),
            "AddressBalancing/lifetime": text(AddressBalancing().lifetime),
            "AddressBalancing/hostLimit": text(AddressBalancing.hostLimit),
            "AddressBalancing/addressLimit": text(AddressBalancing.addressLimit),
            "JSONCoding/ReadingOptions/maximumDepth": text(json.maximumDepth),
            "JSONCoding/ReadingOptions/combiningMarkLimit": text(JSONCoding.ReadingOptions.combiningMarkLimit),
            "PropertyListReadingOptions/maximumDepth": text(list.maximumDepth),
            "PropertyListReadingOptions/expandedSize": text(list.expandedSize),
            "ContentDecoding/Limits/codings": text(coding.codings),
            "ContentDecoding/Limits/ratio":
                "\(text(coding.ratio)) times what was received, beyond \(text(coding.ratioFreeSize))",
            "ContentDecoding/Limits/size": text(coding.size),
            "SecurityPolicy/Rotation/updateBufferSize": text(SecurityPolicy.Rotation.updateBufferSize),
            "SecurityPolicy/intermediateLimit": text(SecurityPolicy.system.intermediateLimit),
            "DownloadTask/Options/segments": text(download.segments),
            "DownloadTask/Options/checkpoint": text(download.checkpoint),
        ]
    }()

    @Test("every named limit of the table equals its value in the code")
    func rows() throws {
        var unseen = Set(code.keys)
        for row in try Repository.text(of: "DocC/Curlew.docc/Bounds.md").split(separator: "\n")
        where row.hasPrefix("| ``") {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false).map { $0.drop { $0 == " " } }
            try #require(cells.count >= 5, "\(row)")
            let name = String(cells[1].dropFirst(2).prefix { $0 != "`" })
            let expected = try #require(code[name], "the test does not know \(name)")
            // A number with further digits is another number.
            let rest = cells[2].dropFirst(expected.count).first
            let isSame = cells[2].hasPrefix(expected) && rest.map { !$0.isNumber && $0 != "." } ?? true
            #expect(isSame, "\(name): the code has \(expected), the article \(cells[2])")
            unseen.remove(name)
        }
        #expect(unseen.isEmpty)
    }

    private static func text(_ count: Int?) -> String {
        guard let count else { return "none" }
        var digits = String(count)
        if digits.count > 3 { digits.insert(",", at: digits.index(digits.endIndex, offsetBy: -3)) }
        return digits
    }

    private static func text(_ size: ByteSize?) -> String {
        guard let size else { return "none" }
        switch size.bytes {
        case let bytes where bytes >= 1 << 20 && bytes % (1 << 20) == 0: return "\(bytes >> 20) MiB"
        case let bytes where bytes >= 1 << 10 && bytes % (1 << 10) == 0: return "\(bytes >> 10) KiB"
        case let bytes: return "\(bytes) bytes"
        }
    }

    private static func text(_ time: Duration?) -> String {
        guard let time else { return "none" }
        switch time {
        case Timeouts.unlimited: return "none"
        case .seconds(120): return "2 minutes"
        case let time where time.components.attoseconds == 0: return "\(time.components.seconds) s"
        case let time: return "\(time.components.attoseconds / 1_000_000_000_000_000) ms"
        }
    }
}
