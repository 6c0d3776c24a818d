/// What went wrong, as a value to compare with. New codes may be added; keep a `default`.
public struct ErrorCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The code in words joined by hyphens, stable between versions.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    private init(_ rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
}

/// Codes of mistakes in what was asked; nothing was sent.
extension ErrorCode {
    /// The URL cannot be read, or holds a control character.
    public static let invalidURL = Self("invalid-url")
    /// The URL's scheme is neither `http` nor `https`.
    public static let unsupportedScheme = Self("unsupported-scheme")
    /// Method, a field or an option cannot be sent as it stands.
    public static let invalidRequest = Self("invalid-request")
    /// The configuration asks for what this libcurl or this machine cannot do.
    public static let unsupported = Self("unsupported")
    /// A link, a closure, a stream or a transport of the program's own has thrown an error, which is ``CurlewError/underlying``.
    public static let foreignFailure = Self("foreign-failure")
    /// The deadline of the calls around this one (`withDeadline`) had passed before it began.
    public static let deadlineExceeded = Self("deadline-exceeded")
    /// A value could not be encoded as the request's body.
    public static let encodingFailed = Self("encoding-failed")
    /// The body would have to be sent again, and it can be read only once.
    public static let bodyNotReplayable = Self("body-not-replayable")
    /// The body's stream yielded more or fewer bytes than it had promised, or its file changed.
    public static let bodyLengthMismatch = Self("body-length-mismatch")
    /// The body's stream or file failed; ``CurlewError/underlying`` says how.
    public static let bodyFailed = Self("body-failed")
    /// The file of a ``CookieJar`` cannot be read or written; ``CurlewError/underlying`` says how.
    public static let cookieFileFailed = Self("cookie-file-failed")
    /// The file of a ``StrictTransport/Store`` or an ``AlternativeServices/Store`` cannot be read or written;
    /// ``CurlewError/underlying`` says how.
    public static let originFileFailed = Self("origin-file-failed")
}

/// Codes of what happened on the way.
extension ErrorCode {
    /// No address was found for the host.
    public static let hostNotFound = Self("host-not-found")
    /// No address was found for the proxy.
    public static let proxyNotFound = Self("proxy-not-found")
    /// Nobody listens at the address.
    public static let connectionRefused = Self("connection-refused")
    /// No connection could be made, for a reason other than a refusal.
    public static let connectionFailed = Self("connection-failed")
    /// The connection ended or was reset before the exchange was complete.
    public static let connectionLost = Self("connection-lost")
    /// The proxy cannot be connected to, or refused or broke the connection.
    public static let proxyFailed = Self("proxy-failed")
    /// The proxy wants credentials, or others than it was given, before it connects to the target.
    public static let proxyAuthenticationRequired = Self("proxy-authentication-required")
    /// The ``AddressPolicy`` forbids the address, the port or the scheme that the request would go to.
    public static let addressForbidden = Self("address-forbidden")
    /// The TLS handshake failed.
    public static let tlsHandshakeFailed = Self("tls-handshake-failed")
    /// The peer's certificate was not accepted, for a reason that has no code of its own.
    public static let untrustedCertificate = Self("untrusted-certificate")
    /// A certificate of the peer's chain is out of date.
    public static let certificateExpired = Self("certificate-expired")
    /// A certificate of the peer's chain is not valid yet.
    public static let certificateNotYetValid = Self("certificate-not-yet-valid")
    /// The peer's certificate is for another host.
    public static let hostNameMismatch = Self("host-name-mismatch")
    /// Nobody who is trusted vouches for the peer's certificate.
    public static let unknownIssuer = Self("unknown-issuer")
    /// The peer's certificate is signed by itself, and not trusted.
    public static let selfSignedCertificate = Self("self-signed-certificate")
    /// A certificate of the peer's chain was revoked.
    public static let certificateRevoked = Self("certificate-revoked")
    /// No list, or none that is good, says whether a certificate was revoked.
    public static let revocationUnknown = Self("revocation-unknown")
    /// The stapled response about revocation is missing or bad.
    public static let stapledResponseInvalid = Self("stapled-response-invalid")
    /// No certificate or key of the chain is pinned.
    public static let pinMismatch = Self("pin-mismatch")
    /// A key or a signature of the chain is too weak.
    public static let weakCertificate = Self("weak-certificate")
    /// A certificate of the chain may not be used for this, or breaks a constraint.
    public static let unsuitableCertificate = Self("unsuitable-certificate")
    /// The server wants a client certificate, and there is none.
    public static let clientCertificateRequired = Self("client-certificate-required")
    /// The server has refused the client's certificate.
    public static let clientCertificateRefused = Self("client-certificate-refused")
    /// There is no TLS version, cipher or group that both sides take.
    public static let tlsMismatch = Self("tls-mismatch")
    /// The server speaks no TLS on this port.
    public static let plainTextOnTLSPort = Self("plain-text-on-tls-port")
    /// A certificate, key or cipher setting of ours cannot be used.
    public static let invalidTLSSetting = Self("invalid-tls-setting")
    /// No connection was free, and none could be begun, within ``Timeouts/connectionWait``.
    public static let connectionWaitTimeout = Self("connection-wait-timeout")
    /// No connection within ``Timeouts/connect``.
    public static let connectTimeout = Self("connect-timeout")
    /// No byte of an answer within ``Timeouts/head`` of the request.
    public static let headTimeout = Self("head-timeout")
    /// No byte either way for ``Timeouts/idle``.
    public static let idleTimeout = Self("idle-timeout")
    /// Not finished within ``Timeouts/total``.
    public static let totalTimeout = Self("total-timeout")
    /// The kernel does not let a ``ReachabilityMonitor`` ask about the network, or its answer makes no sense.
    public static let reachabilityUnavailable = Self("reachability-unavailable")
    /// Memory, descriptors or threads ran out.
    public static let resourcesExhausted = Self("resources-exhausted")
    /// The engine failed in a way that has no code of its own; the message names it.
    public static let engineFailed = Self("engine-failed")
}

/// Codes of answers that cannot be used.
extension ErrorCode {
    /// The peer's bytes are not HTTP, or break its framing.
    public static let invalidResponse = Self("invalid-response")
    /// The head has more bytes or fields than ``CurlewResponse/Limits`` allows, or that of a part more than ``CurlewResponse/MultipartParts/Limits`` does.
    public static let responseHeadTooLarge = Self("response-head-too-large")
    /// The body ended before its declared length, its last chunk, its last boundary, or the end of its content coding.
    public static let responseTruncated = Self("response-truncated")
    /// The body is larger than the caller was ready to collect, or grows beyond ``ContentDecoding/Limits``.
    public static let responseTooLarge = Self("response-too-large")
    /// An HTTP/2 stream or connection failed.
    public static let http2Failed = Self("http2-failed")
    /// The status is not one that the caller accepts.
    public static let unacceptableStatus = Self("unacceptable-status")
    /// The body's media type is not one that the caller accepts.
    public static let unacceptableContentType = Self("unacceptable-content-type")
    /// There is no body, and the type that was asked for needs one.
    public static let emptyBody = Self("empty-body")
    /// The body could not be decoded to the type that was asked for.
    public static let decodingFailed = Self("decoding-failed")
    /// A redirect's Location cannot be followed: it is no URL, names another scheme than `http` and `https`, holds user
    /// information, is longer than ``Redirects/locationLimit``, or there are several that differ.
    public static let invalidRedirect = Self("invalid-redirect")
    /// There were more redirects than ``Redirects/Policy`` allows, perhaps in a circle.
    public static let tooManyRedirects = Self("too-many-redirects")
    /// A redirect came where the policy takes none, it led from `https` to `http`, or it led a request of an upload that resumes to another
    /// origin.
    public static let redirectRefused = Self("redirect-refused")
    /// The body's content coding is corrupt, or something follows its end.
    public static let contentDecodingFailed = Self("content-decoding-failed")
    /// The response was already given to another caller: its body can be read only once.
    public static let responseAlreadyTaken = Self("response-already-taken")
}

/// Codes of downloads that are resumed.
extension ErrorCode {
    /// The token cannot resume a download.
    public static let invalidResumeToken = Self("invalid-resume-token")
    /// The file that a ``ResumeToken`` is kept in cannot be read or written.
    public static let resumeTokenFileFailed = Self("resume-token-file-failed")
    /// The server's answers to requests for ranges did not fit, even after the download restarted.
    public static let rangesFailed = Self("ranges-failed")
}

/// Codes of files that a response is written into.
extension ErrorCode {
    /// There can be no file at the ``Destination``: its path is empty or holds NUL, or something is there that is no file.
    public static let invalidDestination = Self("invalid-destination")
    /// There is a file at the ``Destination`` already, and it is not to be replaced.
    public static let fileExists = Self("file-exists")
    /// The disk, or the share of it that the user has, is full.
    public static let diskFull = Self("disk-full")
    /// A file cannot be written, read or moved, for a reason other than a full disk.
    public static let fileFailed = Self("file-failed")
    /// Another process, or another download of this one, writes the part file.
    public static let partFileInUse = Self("part-file-in-use")
    /// The body is not as long as the caller expected.
    public static let lengthMismatch = Self("length-mismatch")
    /// The body's digest is not the one that was expected, or there is none where one is required.
    public static let digestMismatch = Self("digest-mismatch")
}

/// Codes of caches.
extension ErrorCode {
    /// The store of a cache cannot be opened, read or written. It is reported, and fails no request.
    public static let cacheFailed = Self("cache-failed")
}

/// Codes of transfers that outlive a process.
extension ErrorCode {
    /// The store of a queue of transfers cannot be opened, read or written.
    public static let queueFailed = Self("queue-failed")
    /// The process ended while a request was on its way that must not be sent twice: the server may have processed it.
    public static let outcomeUnknown = Self("outcome-unknown")
    /// Another worker has taken the transfer over, or it was cancelled meanwhile.
    public static let leaseLost = Self("lease-lost")
}

/// Codes of requests that a limit of ours refused; nothing was sent.
extension ErrorCode {
    /// Too many requests are under way, and the queue of a ``ConcurrencyLimiter`` is full or the wait in it took too long.
    public static let overloaded = Self("overloaded")
    /// A ``RequestRateLimiter`` would have to let the request wait for longer than it may.
    public static let rateLimited = Self("rate-limited")
    /// A ``CircuitBreaker`` sends nothing to the server at the moment, as too many requests to it failed.
    public static let circuitOpen = Self("circuit-open")
    /// The call's time would be over before an answer could come.
    public static let deadlineUnreachable = Self("deadline-unreachable")
}

/// Codes of credentials, and of the signatures that are made and verified with them (the product CurlewCredentials).
extension ErrorCode {
    /// A key, a secret, or the file, environment or answer that holds it, cannot be used.
    public static let invalidCredential = Self("invalid-credential")
    /// No source has a credential.
    public static let credentialUnavailable = Self("credential-unavailable")
    /// Other users of the machine may read or write a file of secrets.
    public static let credentialFileExposed = Self("credential-file-exposed")
    /// The authorization server has refused a request for a token; ``CurlewError/underlying`` is its reason.
    public static let tokenRefused = Self("token-refused")
    /// The answer of the authorization server holds no token that can be used.
    public static let invalidToken = Self("invalid-token")
    /// A message lacks the signature that is required.
    public static let signatureMissing = Self("signature-missing")
    /// A signature is malformed, too old, covers too little, or is wrong.
    public static let signatureRejected = Self("signature-rejected")
}

/// Codes of exchanges that were ended on our side.
extension ErrorCode {
    /// The task was cancelled, or nobody was left to read its response.
    public static let cancelled = Self("cancelled")
    /// The session was shut down or invalidated.
    public static let sessionInvalidated = Self("session-invalidated")
}
