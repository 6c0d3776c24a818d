#if TestKit
internal import Curlew
internal import HTTPTypes
internal import NIOConcurrencyHelpers

/// The exchanges of a ``RecordingTransport``, with their secrets; a recording masks them.
final class RecordedExchanges: Sendable {
    private struct State: Sendable {
        /// The exchanges by the number of their request; omitted exchanges have no entry.
        var exchanges: [Int: RecordedExchange] = [:]
        var count = 0
        /// The bytes of all exchanges.
        var size = 0
        /// The message about the first exchange that was too large.
        var complaint: String?
    }

    /// The size of an exchange besides its bytes, so that the number of empty exchanges is bounded.
    private static let exchangeSize = 512

    private let state = NIOLockedValueBox(State())
    private let bodyLimit: Int
    private let sizeLimit: Int

    init(bodyLimit: Int, sizeLimit: Int) {
        self.bodyLimit = bodyLimit
        self.sizeLimit = sizeLimit
    }

    /// Adds a request that is about to be sent; returns its number.
    func begin(_ request: CurlewRequest) throws -> Int {
        try self.state.withLockedValue { state in
            let index = state.count
            state.count += 1
            state.exchanges[index] = RecordedExchange(request)
            let size = request.uri.description.utf8.count + request.fields.size + request.trailers.size
            try self.grow(&state, index, by: size + Self.exchangeSize)
            return index
        }
    }

    /// Adds a part of a request's body.
    func take(_ piece: RecordedPiece, ofRequest index: Int) throws {
        try self.state.withLockedValue { state in
            guard let count = state.exchanges[index]?.request.body.bytes.count else { return }
            switch piece {
            case .chunk(let chunk, let offset):
                if offset == 0, count > 0 {
                    // A chunk at offset 0 after other chunks means that the body is sent again. The last sent body is
                    // recorded.
                    state.size -= count
                    state.exchanges[index]?.request.body = Recording.Body(isComplete: false)
                }
                // A reading of the body may repeat bytes that another reading has already recorded.
                let known = state.exchanges[index]?.request.body.bytes.count ?? 0
                guard offset <= known else { return }
                let rest = chunk.dropFirst(known - offset)
                try self.check(&state, index, \.request.body, adding: rest.count)
                state.exchanges[index]?.add(rest)
            case .end: state.exchanges[index]?.request.body.isComplete = true
            case .failure: break
            }
        }
    }

    /// Adds the head of a response.
    func take(_ response: CurlewResponse, to index: Int) throws {
        try self.state.withLockedValue { state in
            state.exchanges[index]?.take(response)
            let size = response.interim.reduce(response.fields.size) { $0 + $1.headerFields.size }
            try self.grow(&state, index, by: size)
        }
    }

    /// Adds a part of a response's body.
    func take(_ piece: RecordedPiece, ofResponse index: Int) throws {
        try self.state.withLockedValue { state in
            switch piece {
            case .chunk(let chunk, _):
                try self.check(&state, index, \.responseBody, adding: chunk.count)
                state.exchanges[index]?.take(chunk)
            case .end(let trailers):
                state.exchanges[index]?.end(trailers)
                try self.grow(&state, index, by: trailers.size)
            case .failure(let error): state.exchanges[index]?.failure = Recording.Failure(error, stage: .receiving)
            }
        }
    }

    /// Adds the failure of an exchange without a response.
    ///
    /// - Throws: The recording's own error, if it caused the failure.
    func fail(_ index: Int, _ error: any Error) throws {
        try self.state.withLockedValue { state in
            if let complaint = state.exchanges[index]?.complaint { throw CurlewError(.recordingFailed, complaint) }
            if let failure = Recording.Failure(error, stage: .exchanging) {
                state.exchanges[index]?.failure = failure
            } else {
                state.exchanges[index] = nil
            }
        }
    }

    /// The exchanges that have a response or a failure, in the order of their requests.
    func snapshot() throws -> [RecordedExchange] {
        try self.state.withLockedValue { state in
            if let complaint = state.complaint { throw CurlewError(.recordingFailed, complaint) }
            return state.exchanges.filter { $0.value.head != nil || $0.value.failure != nil }
                .sorted { $0.key < $1.key }.map(\.value)
        }
    }

    // MARK: Bounds

    private func check(
        _ state: inout State, _ index: Int, _ body: KeyPath<RecordedExchange, Recording.Body>, adding count: Int
    ) throws {
        let size = (state.exchanges[index]?[keyPath: body].bytes.count ?? 0) + count
        guard size <= self.bodyLimit else {
            throw self.refuse(&state, index, "a body is larger than \(self.bodyLimit) bytes")
        }
        try self.grow(&state, index, by: count)
    }

    private func grow(_ state: inout State, _ index: Int, by count: Int) throws {
        state.size += count
        guard state.size <= self.sizeLimit else {
            throw self.refuse(&state, index, "all exchanges together are larger than \(self.sizeLimit) bytes")
        }
    }

    private func refuse(_ state: inout State, _ index: Int, _ reason: String) -> CurlewError {
        let request = state.exchanges[index].map { "\($0.request.method) \($0.request.url.prefix { $0 != "?" })" } ?? ""
        let complaint = "\(request) cannot be recorded: \(reason)"
        state.exchanges[index]?.complaint = complaint
        state.complaint = state.complaint ?? complaint
        // The bodies are no longer needed: the recording has failed.
        state.exchanges[index]?.request.body = Recording.Body(isComplete: false)
        state.exchanges[index]?.responseBody = Recording.Body(isComplete: false)
        return CurlewError(.recordingFailed, complaint)
    }
}

/// An exchange with its secrets and its content codings.
struct RecordedExchange: Sendable {
    var request: Recording.Request
    /// The fields that the request's options mark as secret.
    private let marked: Set<HTTPField.Name>
    private(set) var head: HTTPResponse?
    private var interim: [HTTPResponse] = []
    private var version = HTTPProtocolVersion.http11
    private var length: Int64?
    private let requestLength: Int64?
    var responseBody = Recording.Body(isComplete: false)
    private var trailers = HTTPFields()
    var failure: Recording.Failure?
    /// The reason why the exchange cannot be recorded.
    var complaint: String?

    init(_ request: CurlewRequest) {
        self.request = Recording.Request(request, body: Recording.Body(isComplete: request.body.isNone))
        self.marked = request.options.secretFields
        self.requestLength = request.body.length
    }

    /// Adds bytes of the request's body. The body is complete at its known length, because its reader may not ask for
    /// more.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        self.request.body.bytes += bytes
        if let requestLength, Int64(self.request.body.bytes.count) == requestLength {
            self.request.body.isComplete = true
        }
    }

    mutating func take(_ response: CurlewResponse) {
        self.head = response.head
        self.interim = response.interim
        self.version = response.version
        self.length = response.body.length
        let isBodiless = self.request.method == .head || [204, 304].contains(response.status.code)
        self.responseBody = Recording.Body(isComplete: isBodiless || self.length == 0)
    }

    /// Adds bytes of the response's body.
    mutating func take(_ chunk: [UInt8]) {
        self.responseBody.bytes += chunk
        if let length, Int64(self.responseBody.bytes.count) == length { self.responseBody.isComplete = true }
    }

    mutating func end(_ trailers: HTTPFields) {
        self.responseBody.isComplete = true
        self.trailers = trailers
    }

    /// The exchange as a recording stores it: decoded and masked.
    func masked(by masking: Recording.Masking) async -> Recording.Exchange {
        let request = masking.masked(await self.request.decoded(), marked: self.marked)
        let failure = self.failure.map { masking.masked($0) }
        guard let head else {
            return Recording.Exchange(
                request: request, failure: failure ?? Recording.Failure(.foreignFailure, stage: .exchanging))
        }
        var response = Recording.Response(
            head.status, fields: head.headerFields, trailers: self.trailers, version: self.version,
            interim: self.interim)
        (response.fields, response.body) = await DecodedBody.decoding(
            self.responseBody, head.headerFields, status: head.status, method: request.method)
        return Recording.Exchange(
            request: request, response: masking.masked(response, marked: self.marked), failure: failure)
    }
}

extension Recording.Request {
    /// Makes a recorded request that keeps its secrets and its content codings.
    init(_ request: CurlewRequest, body: Recording.Body) {
        self.init(
            request.method, url: request.uri.description, fields: request.fields, body: body,
            trailers: request.trailers)
    }

    /// The same request without content codings.
    func decoded() async -> Recording.Request {
        var request = self
        (request.fields, request.body) = await DecodedBody.decoding(
            self.body, self.fields, status: .ok, method: self.method)
        return request
    }
}

extension Recording.Failure {
    /// Makes the failure of an error; nil for a cancellation, because the caller causes it and not the server.
    init?(_ error: any Error, stage: CurlewError.Stage) {
        if CurlewError.isCancellation(error) { return nil }
        if let error = error as? CurlewError {
            self.init(error.code, error.message, stage: error.stage)
        } else {
            self.init(.foreignFailure, "\(type(of: error))", stage: stage)
        }
    }
}

extension HTTPFields {
    /// The approximate size in bytes.
    fileprivate var size: Int { self.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 } }
}

/// A decoder of the content codings of recorded bodies.
enum DecodedBody {
    /// The fields and the body without content codings. Both are unchanged if a coding is unknown or the body is
    /// invalid or too large.
    static func decoding(
        _ body: Recording.Body, _ fields: HTTPFields, status: HTTPResponse.Status, method: HTTPRequest.Method
    ) async -> (HTTPFields, Recording.Body) {
        guard fields[.contentEncoding] != nil, !body.bytes.isEmpty, let uri = try? CurlewURI("http://recording/") else {
            return (fields, body)
        }
        let coded = CurlewResponse(status, fields: fields, body: .bytes(body.bytes), uri: uri)
        let request = CurlewRequest(method, uri)
        guard let decoded = try? await ContentDecoding().intercept(request, next: { _ in coded }),
            !decoded.contentCodings.isEmpty
        else { return (fields, body) }
        var bytes: [UInt8] = []
        do {
            for try await chunk in decoded.body {
                bytes += chunk
                if bytes.count > RecordingTransport.sizeLimit.bytes { return (fields, body) }
            }
        } catch {
            // The beginning of a truncated body is usable.
            if body.isComplete { return (fields, body) }
        }
        var decodedFields = decoded.fields
        if fields[.contentLength] != nil { decodedFields[.contentLength] = String(bytes.count) }
        return (decodedFields, Recording.Body(bytes, isComplete: body.isComplete))
    }
}
#endif
