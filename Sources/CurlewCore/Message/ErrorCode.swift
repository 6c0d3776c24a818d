/// The kind of a failure, for comparison. Later versions may add codes, so a `switch` needs a `default`.
public struct ErrorCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The code as words joined by hyphens, stable between versions.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    private init(_ rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
}

/// Codes of invalid requests and settings; nothing was sent.
extension ErrorCode {
    /// The URL cannot be parsed, or contains a control character.
    public static let invalidURL = Self("invalid-url")
    /// The URL's scheme is neither `http` nor `https`.
    public static let unsupportedScheme = Self("unsupported-scheme")
    /// The method, a field or an option cannot be sent in its form.
    public static let invalidRequest = Self("invalid-request")
    /// The configuration requires a feature that this libcurl or this machine lacks.
    public static let unsupported = Self("unsupported")
    /// A link, a closure, a stream or a transport of the program has thrown an error, which is
    /// ``CurlewError/underlying``.
    public static let foreignFailure = Self("foreign-failure")
    /// The deadline of the surrounding calls (`withDeadline`) had passed before this call began.
    public static let deadlineExceeded = Self("deadline-exceeded")
    /// A value could not be encoded as the request's body.
    public static let encodingFailed = Self("encoding-failed")
    /// The body would have to be sent again, but it can be read only once.
    public static let bodyNotReplayable = Self("body-not-replayable")
    /// The body's stream yielded more or fewer bytes than promised, or its file changed.
    public static let bodyLengthMismatch = Self("body-length-mismatch")
    /// The body's stream or file failed; ``CurlewError/underlying`` has the cause.
    public static let bodyFailed = Self("body-failed")
    /// The file of a ``CookieJar`` cannot be read or written; ``CurlewError/underlying`` has the cause.
    public static let cookieFileFailed = Self("cookie-file-failed")
    /// The file of a ``StrictTransport/Store`` or an ``AlternativeServices/Store`` cannot be read or written;
    /// ``CurlewError/underlying`` has the cause.
    public static let originFileFailed = Self("origin-file-failed")
}

/// Codes of network, TLS and timeout failures.
extension ErrorCode {
    /// No address was found for the host.
    public static let hostNotFound = Self("host-not-found")
    /// No address was found for the proxy.
    public static let proxyNotFound = Self("proxy-not-found")
    /// The host refused the connection: no program listens at the address.
    public static let connectionRefused = Self("connection-refused")
    /// No connection could be made, for a reason other than a refusal.
    public static let connectionFailed = Self("connection-failed")
    /// The connection ended or was reset before the exchange was complete.
    public static let connectionLost = Self("connection-lost")
    /// The proxy cannot be reached, or it refused or broke the connection.
    public static let proxyFailed = Self("proxy-failed")
    /// The proxy requires credentials, or rejected those it was given, before it connects to the target.
    public static let proxyAuthenticationRequired = Self("proxy-authentication-required")
    /// The ``AddressPolicy`` forbids the address, the port or the scheme of the request.
    public static let addressForbidden = Self("address-forbidden")
    /// The TLS handshake failed.
    public static let tlsHandshakeFailed = Self("tls-handshake-failed")
    /// The peer's certificate was not accepted, for a reason that has no code of its own.
    public static let untrustedCertificate = Self("untrusted-certificate")
    /// A certificate of the peer's chain has expired.
    public static let certificateExpired = Self("certificate-expired")
    /// A certificate of the peer's chain is not valid yet.
    public static let certificateNotYetValid = Self("certificate-not-yet-valid")
    /// The peer's certificate is for another host.
    public static let hostNameMismatch = Self("host-name-mismatch")
    /// No trusted authority has issued the peer's certificate.
    public static let unknownIssuer = Self("unknown-issuer")
    /// The peer's certificate is signed by itself and is not trusted.
    public static let selfSignedCertificate = Self("self-signed-certificate")
    /// A certificate of the peer's chain was revoked.
    public static let certificateRevoked = Self("certificate-revoked")
    /// No valid revocation list covers a certificate.
    public static let revocationUnknown = Self("revocation-unknown")
    /// The stapled OCSP response is missing or invalid.
    public static let stapledResponseInvalid = Self("stapled-response-invalid")
    /// No certificate or key of the chain is pinned.
    public static let pinMismatch = Self("pin-mismatch")
    /// A key or a signature of the chain is too weak.
    public static let weakCertificate = Self("weak-certificate")
    /// A certificate of the chain is not allowed for this purpose, or violates a constraint.
    public static let unsuitableCertificate = Self("unsuitable-certificate")
    /// The server requires a client certificate, and none is configured.
    public static let clientCertificateRequired = Self("client-certificate-required")
    /// The server has refused the client's certificate.
    public static let clientCertificateRefused = Self("client-certificate-refused")
    /// Client and server have no TLS version, cipher or group in common.
    public static let tlsMismatch = Self("tls-mismatch")
    /// The server answers without TLS on this port.
    public static let plainTextOnTLSPort = Self("plain-text-on-tls-port")
    /// A configured certificate, key or cipher setting cannot be used.
    public static let invalidTLSSetting = Self("invalid-tls-setting")
    /// No connection became available within ``Timeouts/connectionWait``.
    public static let connectionWaitTimeout = Self("connection-wait-timeout")
    /// No connection was made within ``Timeouts/connect``.
    public static let connectTimeout = Self("connect-timeout")
    /// No byte of a response arrived within ``Timeouts/head`` of the request.
    public static let headTimeout = Self("head-timeout")
    /// No byte was sent or received for ``Timeouts/idle``.
    public static let idleTimeout = Self("idle-timeout")
    /// The request was not finished within ``Timeouts/total``.
    public static let totalTimeout = Self("total-timeout")
    /// The kernel does not answer the queries of a ``ReachabilityMonitor``, or its answer is invalid.
    public static let reachabilityUnavailable = Self("reachability-unavailable")
    /// Memory, descriptors or threads ran out.
    public static let resourcesExhausted = Self("resources-exhausted")
    /// The engine failed in a way that has no code of its own; the message names it.
    public static let engineFailed = Self("engine-failed")
}

/// Codes of unusable responses.
extension ErrorCode {
    /// The peer's bytes are not HTTP, or violate its framing.
    public static let invalidResponse = Self("invalid-response")
    /// The head is larger, or has more fields, than ``CurlewResponse/Limits`` allows; or the head of a part exceeds
    /// ``CurlewResponse/MultipartParts/Limits``.
    public static let responseHeadTooLarge = Self("response-head-too-large")
    /// The body ended before its declared length, its last chunk, its last boundary, or the end of its content coding.
    public static let responseTruncated = Self("response-truncated")
    /// The body is larger than the caller's limit, or exceeds ``ContentDecoding/Limits``.
    public static let responseTooLarge = Self("response-too-large")
    /// The server did not switch the connection to the requested protocol.
    public static let upgradeRefused = Self("upgrade-refused")
    /// An HTTP/2 stream or connection failed.
    public static let http2Failed = Self("http2-failed")
    /// The caller does not accept the status.
    public static let unacceptableStatus = Self("unacceptable-status")
    /// The caller does not accept the body's media type.
    public static let unacceptableContentType = Self("unacceptable-content-type")
    /// The body is missing, and the requested type needs one.
    public static let emptyBody = Self("empty-body")
    /// The body could not be decoded to the requested type.
    public static let decodingFailed = Self("decoding-failed")
    /// A redirect's Location cannot be followed. It is not a URL, has a scheme other than `http` and `https`, contains
    /// user information, is longer than ``Redirects/locationLimit``, or occurs several times with different values.
    public static let invalidRedirect = Self("invalid-redirect")
    /// The number of redirects exceeds the limit of ``Redirects/Policy``, perhaps because of a loop.
    public static let tooManyRedirects = Self("too-many-redirects")
    /// A redirect was refused: the policy forbids redirects, it led from `https` to `http`, or it led a resumable
    /// upload to another origin.
    public static let redirectRefused = Self("redirect-refused")
    /// The content coding of the body is corrupt, or bytes follow its end.
    public static let contentDecodingFailed = Self("content-decoding-failed")
    /// Another caller already has the response, whose body can be read only once.
    public static let responseAlreadyTaken = Self("response-already-taken")
}

/// Codes of WebSockets, which the module `CurlewWebSockets` throws.
extension ErrorCode {
    /// The response to the opening handshake of a WebSocket violates RFC 6455 §4; the error contains the response.
    public static let webSocketHandshakeFailed = Self("websocket-handshake-failed")
    /// The peer of a WebSocket violated the protocol, exceeded a limit, or did not close in time.
    public static let webSocketFailed = Self("websocket-failed")
    /// The WebSocket is closed or closing, and cannot send.
    public static let webSocketClosed = Self("websocket-closed")
}

/// Codes of resumed downloads.
extension ErrorCode {
    /// The token cannot resume a download.
    public static let invalidResumeToken = Self("invalid-resume-token")
    /// The file of a ``ResumeToken`` cannot be read or written.
    public static let resumeTokenFileFailed = Self("resume-token-file-failed")
    /// The server's responses to range requests did not match, even after a restart of the download.
    public static let rangesFailed = Self("ranges-failed")
}

/// Codes of files that a response is written into.
extension ErrorCode {
    /// The ``Destination`` cannot be a file: its path is empty or contains NUL, or something other than a file is
    /// there.
    public static let invalidDestination = Self("invalid-destination")
    /// The ``Destination`` already has a file, which must not be replaced.
    public static let fileExists = Self("file-exists")
    /// The disk, or the user's quota on it, is full.
    public static let diskFull = Self("disk-full")
    /// A file cannot be written, read or moved, for a reason other than a full disk.
    public static let fileFailed = Self("file-failed")
    /// Another process, or another download of this process, is writing the part file.
    public static let partFileInUse = Self("part-file-in-use")
    /// The length of the body differs from the expected one.
    public static let lengthMismatch = Self("length-mismatch")
    /// The digest of the body differs from the expected one, or a required digest is missing.
    public static let digestMismatch = Self("digest-mismatch")
}

/// Codes of caches.
extension ErrorCode {
    /// The store of a cache cannot be opened, read or written. The error is reported, but no request fails with it.
    public static let cacheFailed = Self("cache-failed")
}

/// Codes of transfers that survive a restart of the process.
extension ErrorCode {
    /// The store of a queue of transfers cannot be opened, read or written.
    public static let queueFailed = Self("queue-failed")
    /// The process ended during a request that must not be sent twice: the server may have processed it.
    public static let outcomeUnknown = Self("outcome-unknown")
    /// Another worker has taken the transfer over, or it was cancelled meanwhile.
    public static let leaseLost = Self("lease-lost")
}

/// Codes of requests that a local limit refused; nothing was sent.
extension ErrorCode {
    /// Too many requests are in flight: the queue of a ``ConcurrencyLimiter`` is full, or the wait in it took too long.
    public static let overloaded = Self("overloaded")
    /// A ``RequestRateLimiter`` would delay the request for longer than allowed.
    public static let rateLimited = Self("rate-limited")
    /// A ``CircuitBreaker`` sends no request to the server at present, because too many have failed.
    public static let circuitOpen = Self("circuit-open")
    /// The call's deadline would pass before a response could arrive.
    public static let deadlineUnreachable = Self("deadline-unreachable")
}

/// Codes of credentials, and of signatures of messages, from the product CurlewCredentials.
extension ErrorCode {
    /// A key, a secret or its source (a file, the environment, a response) cannot be used.
    public static let invalidCredential = Self("invalid-credential")
    /// No source has a credential.
    public static let credentialUnavailable = Self("credential-unavailable")
    /// Other users of the machine may read or write a file of secrets.
    public static let credentialFileExposed = Self("credential-file-exposed")
    /// The authorization server has refused a request for a token; ``CurlewError/underlying`` has the reason.
    public static let tokenRefused = Self("token-refused")
    /// The response of the authorization server contains no usable token.
    public static let invalidToken = Self("invalid-token")
    /// A message lacks a required signature.
    public static let signatureMissing = Self("signature-missing")
    /// A signature is malformed, too old, covers too few components, or does not match the message.
    public static let signatureRejected = Self("signature-rejected")
}

/// Codes of exchanges that this side ended.
extension ErrorCode {
    /// The task was cancelled, or its response was released before it was read.
    public static let cancelled = Self("cancelled")
    /// The session was shut down or invalidated.
    public static let sessionInvalidated = Self("session-invalidated")
}
