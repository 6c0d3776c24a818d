internal import CLibcurl

extension ErrorCode {
    /// Curlew's code for a code of libcurl. Codes of other protocols than HTTP, and codes of errors in the use of
    /// libcurl, become ``ErrorCode/engineFailed``. The documentation's table "Error codes" lists the same.
    init(_ code: CURLcode) {
        self = Self.table[code.rawValue] ?? .engineFailed
    }

    static let table: [UInt32: ErrorCode] = [
        CURLE_UNSUPPORTED_PROTOCOL.rawValue: .unsupportedScheme,
        CURLE_URL_MALFORMAT.rawValue: .invalidURL,
        CURLE_NOT_BUILT_IN.rawValue: .unsupported,
        CURLE_COULDNT_RESOLVE_PROXY.rawValue: .proxyNotFound,
        CURLE_COULDNT_RESOLVE_HOST.rawValue: .hostNotFound,
        CURLE_COULDNT_CONNECT.rawValue: .connectionFailed,
        CURLE_WEIRD_SERVER_REPLY.rawValue: .invalidResponse,
        CURLE_REMOTE_ACCESS_DENIED.rawValue: .connectionFailed,
        CURLE_HTTP2.rawValue: .http2Failed,
        CURLE_PARTIAL_FILE.rawValue: .responseTruncated,
        CURLE_HTTP_RETURNED_ERROR.rawValue: .unacceptableStatus,
        CURLE_WRITE_ERROR.rawValue: .engineFailed,
        CURLE_UPLOAD_FAILED.rawValue: .connectionLost,
        CURLE_READ_ERROR.rawValue: .bodyFailed,
        CURLE_OUT_OF_MEMORY.rawValue: .resourcesExhausted,
        CURLE_OPERATION_TIMEDOUT.rawValue: .connectTimeout,
        CURLE_RANGE_ERROR.rawValue: .invalidResponse,
        CURLE_HTTP_POST_ERROR.rawValue: .invalidRequest,
        CURLE_SSL_CONNECT_ERROR.rawValue: .tlsHandshakeFailed,
        CURLE_ABORTED_BY_CALLBACK.rawValue: .cancelled,
        CURLE_INTERFACE_FAILED.rawValue: .connectionFailed,
        CURLE_TOO_MANY_REDIRECTS.rawValue: .invalidResponse,
        CURLE_GOT_NOTHING.rawValue: .connectionLost,
        CURLE_SSL_ENGINE_NOTFOUND.rawValue: .invalidTLSSetting,
        CURLE_SSL_ENGINE_SETFAILED.rawValue: .invalidTLSSetting,
        CURLE_SEND_ERROR.rawValue: .connectionLost,
        CURLE_RECV_ERROR.rawValue: .connectionLost,
        CURLE_SSL_CERTPROBLEM.rawValue: .invalidTLSSetting,
        CURLE_SSL_CIPHER.rawValue: .invalidTLSSetting,
        CURLE_PEER_FAILED_VERIFICATION.rawValue: .untrustedCertificate,
        CURLE_BAD_CONTENT_ENCODING.rawValue: .contentDecodingFailed,
        CURLE_FILESIZE_EXCEEDED.rawValue: .responseTooLarge,
        CURLE_SEND_FAIL_REWIND.rawValue: .bodyNotReplayable,
        CURLE_SSL_ENGINE_INITFAILED.rawValue: .invalidTLSSetting,
        CURLE_SSL_CACERT_BADFILE.rawValue: .invalidTLSSetting,
        CURLE_SSL_SHUTDOWN_FAILED.rawValue: .connectionLost,
        CURLE_AGAIN.rawValue: .connectionLost,
        CURLE_SSL_CRL_BADFILE.rawValue: .invalidTLSSetting,
        CURLE_SSL_ISSUER_ERROR.rawValue: .untrustedCertificate,
        CURLE_CHUNK_FAILED.rawValue: .invalidResponse,
        CURLE_NO_CONNECTION_AVAILABLE.rawValue: .resourcesExhausted,
        CURLE_SSL_PINNEDPUBKEYNOTMATCH.rawValue: .untrustedCertificate,
        CURLE_SSL_INVALIDCERTSTATUS.rawValue: .untrustedCertificate,
        CURLE_HTTP2_STREAM.rawValue: .http2Failed,
        CURLE_PROXY.rawValue: .proxyFailed,
        CURLE_SSL_CLIENTCERT.rawValue: .tlsHandshakeFailed,
        CURLE_HTTP3.rawValue: .connectionLost,
        CURLE_QUIC_CONNECT_ERROR.rawValue: .connectionFailed,
        CURLE_AUTH_ERROR.rawValue: .unacceptableStatus,
        CURLE_UNRECOVERABLE_POLL.rawValue: .resourcesExhausted,
    ]
}
