internal import CLibcurl
internal import COpenSSL
internal import HTTPTypes

/// An easy handle that serves one transfer after another.
///
/// An option is set only if it differs from the value that the handle carries: resetting a handle and setting all
/// options would be a third of a small request's cost. Therefore every option that is set after
/// ``setConstants(multi:)`` has a property `carried…`, and no other code sets it. `EasyHandle` is not `Sendable`: it
/// never leaves its loop's thread.
final class EasyHandle {
    private(set) var raw: UnsafeMutableRawPointer
    /// The multi handle, which owns this handle or its transfer.
    unowned let multi: MultiHandle
    /// The transfer that receives the callbacks.
    var transfer: Transfer?
    /// The socket that libcurl last named for this handle.
    var lastConnection: Connection?
    /// The TLS connection of the transfer's attempt; nil if none was begun.
    private(set) var handshake: Handshake?

    /// True if the handle must not be reused, because libcurl would keep state of earlier transfers:
    ///
    /// - errors of the system (``Engine/remembersErrors``), trailers, and a refused stream;
    /// - the count of repeated requests, which libcurl adds up over all requests of a handle;
    /// - a read buffer whose size can no longer be set (``Engine/allocatesReadBuffers``).
    var isSpent = false

    /// The size of its read buffer; nil before it is set.
    private(set) var readBufferSize: Int?

    /// The proxy whose challenges libcurl may have stored in the handle. libcurl would answer another proxy, or for
    /// another user, with them.
    private var challenger: Proxy?

    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var carriedOptions: ConnectionOptions?
    /// The name of the connection that the handle finds.
    private var carriedName: ConnectionName?
    private var carriedConnectTimeout = -1
    private var carriedMethod = ""
    private var carriedKind = Kind.none
    private var carriedVersion = -1
    private(set) var carriesForbidReuse = false
    private var carriesDebug = false
    /// True if libcurl shows the lines of a head as body bytes, before it joins folded lines.
    private(set) var showsHead = false
    private var carriesFields = false
    private var carriesProxyFields = false
    private var carriesCredential = false
    /// True if the handle has the target of its last request.
    private var carriesTarget = false
    private var carriedUploadBufferSize = EasyHandle.uploadBuffer

    /// libcurl's default size of the upload buffer, the size for large bodies, and the smallest large body.
    private static let uploadBuffer = 64 << 10
    private static let largeUploadBuffer = 256 << 10
    private static let largeUpload: Int64 = 1 << 20

    private enum Kind { case none, download, head, upload }

    /// - Throws: ``CurlewError`` if libcurl has no memory for a handle.
    init(multi: MultiHandle) throws {
        guard let raw = curl_easy_init() else {
            throw CurlewError(.resourcesExhausted, "no memory for an easy handle")
        }
        self.raw = raw
        self.multi = multi
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try setConstants(multi: multi)
    }

    deinit {
        curl_easy_cleanup(raw)
        errorBuffer.deallocate()
    }

    /// The object of a raw libcurl handle.
    static func of(_ raw: UnsafeMutableRawPointer?) -> EasyHandle? {
        var context: UnsafeMutableRawPointer?
        guard let raw, curlew_easy_get_private(raw, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    }

    /// libcurl's text for the last failure.
    var errorText: String { String(cString: errorBuffer) }

    /// Sets the options that are equal for all transfers.
    private func setConstants(multi: MultiHandle) throws {
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        try set(CURLOPT_ERRORBUFFER, pointer: errorBuffer)
        try set(CURLOPT_PRIVATE, pointer: pointer)
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_QUICK_EXIT, 1)  // Otherwise the removal of a handle waits for libcurl's resolver.
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // Curlew evaluates the exceptions; without this libcurl would read them from the environment.
        try set(CURLOPT_NOPROXY, "")
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        try set(CURLOPT_HTTP09_ALLOWED, 0)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // The pool limits the age of connections, and stores TLS sessions itself.
        try set(CURLOPT_MAXAGE_CONN, Int(Int32.max))
        try set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        try setCallbacks(own: pointer, multi: Unmanaged.passUnretained(multi).toOpaque())
    }

    private func setCallbacks(own: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer) throws {
        try check(curlew_easy_set_data(raw, CURLOPT_HEADERFUNCTION, EngineCallbacks.header), CURLOPT_HEADERFUNCTION)
        try set(CURLOPT_HEADERDATA, pointer: own)
        try check(curlew_easy_set_data(raw, CURLOPT_WRITEFUNCTION, EngineCallbacks.write), CURLOPT_WRITEFUNCTION)
        try set(CURLOPT_WRITEDATA, pointer: own)
        try check(curlew_easy_set_data(raw, CURLOPT_READFUNCTION, EngineCallbacks.read), CURLOPT_READFUNCTION)
        try set(CURLOPT_READDATA, pointer: own)
        try check(curlew_easy_set_seek(raw, EngineCallbacks.seek), CURLOPT_SEEKFUNCTION)
        try set(CURLOPT_SEEKDATA, pointer: own)
        try check(curlew_easy_set_prereq(raw, EngineCallbacks.ready), CURLOPT_PREREQFUNCTION)
        try set(CURLOPT_PREREQDATA, pointer: own)
        try check(curlew_easy_set_debug(raw, EngineCallbacks.debug), CURLOPT_DEBUGFUNCTION)
        try set(CURLOPT_DEBUGDATA, pointer: own)
        try check(curlew_easy_set_tls_context(raw, EngineCallbacks.tlsContext), CURLOPT_SSL_CTX_FUNCTION)
        try set(CURLOPT_SSL_CTX_DATA, pointer: own)
        // libcurl opens a socket for this handle's transfer: it gets the socket that the pool has connected.
        try check(curlew_easy_set_open_socket(raw, EngineCallbacks.openSocket), CURLOPT_OPENSOCKETFUNCTION)
        try set(CURLOPT_OPENSOCKETDATA, pointer: own)
        try check(curlew_easy_set_socket_option(raw, EngineCallbacks.socketOption), CURLOPT_SOCKOPTFUNCTION)
        try set(CURLOPT_SOCKOPTDATA, pointer: own)
        // A connection outlives the handle that opened it, so the callback gets the multi handle.
        try check(curlew_easy_set_close_socket(raw, EngineCallbacks.closeSocket), CURLOPT_CLOSESOCKETFUNCTION)
        try set(CURLOPT_CLOSESOCKETDATA, pointer: multi)
    }

    /// Prepares the handle for an attempt of a transfer over a connection.
    /// - Parameter handshakeLimit: The most milliseconds for the handshake of a QUIC connection.
    func prepare(
        _ request: PreparedRequest, _ plan: Attempt.Plan, _ connection: Connection, handshakeLimit: Int = .max
    ) throws {
        errorBuffer.pointee = 0
        handshake = nil
        let proxy = request.options.values.proxy
        if let challenger, challenger != proxy { try renew() }
        if let proxy, proxy.awaitsChallenge { challenger = proxy }
        if carriedOptions !== request.options {
            carriedOptions = nil
            try request.options.apply(to: self)
            carriedOptions = request.options
            carriedName = nil
            carriedConnectTimeout = request.options.values.engineConnectTimeout
        }
        try setName(connection, request)
        try setConnectTimeout(connection, request, handshakeLimit: handshakeLimit)
        try set(CURLOPT_URL, request.url)
        if request.target != nil || carriesTarget {
            try set(CURLOPT_REQUEST_TARGET, request.target)
            carriesTarget = request.target != nil
        }
        let fields = plan.isUnexpecting ? request.fieldsWithoutExpectation ?? request.fields : request.fields
        try setFields(fields?.head)
        try setProxyFields(request.proxyFields?.head)
        try setKind(request)
        try setVersion(request, plan, connection)
        try forbidReuse(request.isHandshakeOnly || request.closesConnection)
        if request.engineCredential != nil || carriesCredential {
            carriesCredential = true
            try apply(request.engineCredential)
            carriesCredential = request.engineCredential != nil
        }
        if request.upgrade != nil { try leaveConnection(throughTunnel: proxy?.isSOCKS == false) }
        if Engine.joinsFreedLines { try showHead(true) }
        if let wait = request.expectContinue { try set(CURLOPT_EXPECT_100_TIMEOUT_MS, wait.millisecondsRoundedUp) }
        if request.trailers != nil {
            try check(curlew_easy_set_trailer(raw, EngineCallbacks.trailers), CURLOPT_TRAILERFUNCTION)
            try set(CURLOPT_TRAILERDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
            // libcurl before 8.7 remembers that a handle has sent trailers, and writes the chunks of its next body from
            // before the start of the buffer. Later versions would ask for trailers again.
            isSpent = true
        }
    }

    /// Makes libcurl open the connection and send nothing over it. The handle serves no further exchange.
    /// - Parameter throughTunnel: True if an HTTP proxy must forward the bytes unchanged.
    private func leaveConnection(throughTunnel: Bool) throws {
        try set(CURLOPT_CONNECT_ONLY, 1)
        if throughTunnel { try set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        isSpent = true
    }

    /// Makes libcurl find this connection, and no other.
    private func setName(_ connection: Connection, _ request: PreparedRequest) throws {
        guard let name = connection.name, name !== carriedName else { return }
        try apply(name)
        carriedName = name
    }

    /// Sets the name. libcurl keeps a pointer to the list, which the name owns.
    private func apply(_ name: ConnectionName) throws {
        switch name.place {
        case .target(let list): try set(CURLOPT_CONNECT_TO, list.head)
        case .proxy(let url): try set(CURLOPT_PROXY, url)
        case .proxyFolder(let path): try set(CURLOPT_PROXY_CAPATH, path)
        }
    }

    /// Sets the rest of the connect timeout after the socket is connected: for the proxy and for TLS.
    private func setConnectTimeout(
        _ connection: Connection, _ request: PreparedRequest, handshakeLimit: Int
    ) throws {
        var limit = request.options.values.engineConnectTimeout
        if !connection.isUsed, let dialled = connection.dialled {
            limit = max(1, limit - dialled.connected.millisecondsRoundedUp)
            if connection.isQUIC { limit = min(limit, handshakeLimit) }
        }
        guard limit != carriedConnectTimeout else { return }
        try set(CURLOPT_CONNECTTIMEOUT_MS, limit)
        carriedConnectTimeout = limit
    }

    /// Prepares the handle to find a connection that is to be closed. It has no transfer, so no byte is sent.
    func prepareToClose(_ connection: Connection) throws {
        guard let origin = connection.origin, let name = connection.name else { return }
        if carriedOptions !== origin.options {
            carriedOptions = nil
            try origin.options.apply(to: self)
            carriedOptions = origin.options
        }
        try set(CURLOPT_URL, origin.uri.requestText)
        try apply(name)
        carriedName = name
        let isClear = !origin.uri.layout.isSecure
        let shared = Engine.restartsHTTP2 ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
        let clear = connection.isMultiplexed ? shared : CURL_HTTP_VERSION_1_1
        let secure = connection.isQUIC ? Engine.onlyHTTP3 : CURL_HTTP_VERSION_2TLS
        try set(CURLOPT_HTTP_VERSION, isClear ? clear : secure)
        try forbidReuse(true)
    }

    private func setFields(_ list: UnsafeMutablePointer<curl_slist>?) throws {
        guard list != nil || carriesFields else { return }
        try set(CURLOPT_HTTPHEADER, list)
        carriesFields = list != nil
    }

    private func setProxyFields(_ list: UnsafeMutablePointer<curl_slist>?) throws {
        guard list != nil || carriesProxyFields else { return }
        try set(CURLOPT_PROXYHEADER, list)
        carriesProxyFields = list != nil
    }

    private func setKind(_ request: PreparedRequest) throws {
        let method = request.method.rawValue
        let kind: Kind = request.hasBody ? .upload : method == "HEAD" ? .head : .download
        if kind != carriedKind {
            switch kind {
            case .upload:
                try set(CURLOPT_NOBODY, 0)
                try set(CURLOPT_UPLOAD, 1)
            case .head:
                try set(CURLOPT_UPLOAD, 0)
                try set(CURLOPT_NOBODY, 1)
            case .download, .none: try set(CURLOPT_HTTPGET, 1)
            }
            carriedKind = kind
            carriedMethod = ""
        }
        if kind == .upload {
            try set(offset: request.contentLength ?? -1, CURLOPT_INFILESIZE_LARGE)
            try setUploadBufferSize(for: request)
        }
        if carriedMethod != method {
            try set(CURLOPT_CUSTOMREQUEST, kind == .head ? nil : method)
            carriedMethod = method
        }
    }

    /// Sets the size of the upload buffer. Large bodies are sent in larger pieces, with fewer system calls. libcurl
    /// makes the buffer with the first upload, and again after each change of the size.
    private func setUploadBufferSize(for request: PreparedRequest) throws {
        let isLarge = request.contentLength ?? .max >= Self.largeUpload
        let size = isLarge ? Self.largeUploadBuffer : Self.uploadBuffer
        guard size != carriedUploadBufferSize else { return }
        try set(CURLOPT_UPLOAD_BUFFERSIZE, size)
        carriedUploadBufferSize = size
    }

    private func setVersion(_ request: PreparedRequest, _ plan: Attempt.Plan, _ connection: Connection) throws {
        let version: Int
        switch request.version {
        // Without TLS there is no negotiation, and waiting to learn whether the connection multiplexes would be
        // useless.
        case _ where connection.isQUIC: version = Engine.onlyHTTP3
        case .negotiated where plan.isHTTP11, .http3 where plan.isHTTP11: version = CURL_HTTP_VERSION_1_1
        case .negotiated, .http3, .http3Only:
            version = request.uri.layout.isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        case .http11: version = CURL_HTTP_VERSION_1_1
        case .http2PriorKnowledge:
            version =
                Engine.restartsHTTP2 && connection.isUsed
                ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
        }
        if version != carriedVersion {
            try set(CURLOPT_HTTP_VERSION, version)
            carriedVersion = version
        }
    }

    /// Makes libcurl close the connection after this transfer, if `isForbidden`. May be called from a callback.
    func forbidReuse(_ isForbidden: Bool) throws {
        guard isForbidden != carriesForbidReuse else { return }
        try set(CURLOPT_FORBID_REUSE, isForbidden ? 1 : 0)
        carriesForbidReuse = isForbidden
    }

    /// Makes libcurl show each line of a head, if `isShown`, before libcurl processes it. May be called from a
    /// callback.
    func showHead(_ isShown: Bool) throws {
        guard isShown != showsHead else { return }
        try set(CURLOPT_HEADER, isShown ? 1 : 0)
        showsHead = isShown
    }

    /// Makes libcurl show the raw bytes of the body to the transfer, if `isShown`. May be called from a callback.
    func showRawBody(_ isShown: Bool) throws {
        guard isShown != carriesDebug else { return }
        try set(CURLOPT_VERBOSE, isShown ? 1 : 0)
        carriesDebug = isShown
    }

    /// Sets the size of the read buffer. With ``Engine/allocatesReadBuffers`` libcurl keeps the buffer of a transfer
    /// that ended early, and rejects the option while a buffer exists. So it is set once, and the multi handle uses
    /// each handle for one size only.
    func setReadBufferSize(_ size: Int) throws {
        guard size != readBufferSize else { return }
        try set(CURLOPT_BUFFERSIZE, size)
        readBufferSize = size
    }

    /// Applies the transfer's policy to a TLS connection that libcurl is about to make.
    /// - Returns: True if the connection may be made.
    func beginHandshake(_ context: OpaquePointer) -> Bool {
        // libcurl verifies a proxy by its own options. If the context were a server's after all, libcurl would have no
        // authority to verify it, and the transfer rejects a connection without a handshake of Curlew's.
        guard TLSContext.isServers(context) else {
            TLSContext.forbidKeyLog(context)
            return true
        }
        guard let transfer else { return false }
        let made = Handshake(policy: transfer.prepared.options.trust, host: transfer.prepared.uri.host)
        handshake = made
        made.tickets = transfer.connection?.origin?.tickets
        guard TLSContext.configure(context, for: made) else {
            made.refuse(TrustFailure(.invalidTLSSetting, "the security policy cannot be applied"))
            return false
        }
        return true
    }

    /// Replaces libcurl's handle by a copy, with the same options and without state of earlier transfers.
    /// - Throws: ``CurlewError`` if libcurl has no memory for a handle.
    func renew() throws {
        guard let copy = curl_easy_duphandle(raw) else {
            throw CurlewError(.resourcesExhausted, "no memory for an easy handle")
        }
        curl_easy_cleanup(raw)
        raw = copy
        challenger = nil
    }

    /// Releases the objects of the transfer.
    func clear() {
        transfer = nil
        lastConnection = nil
        handshake = nil
        // The handle must not keep pointers to memory that the transfer owned.
        try? setFields(nil)
        try? setProxyFields(nil)
        try? showRawBody(false)
    }
}
