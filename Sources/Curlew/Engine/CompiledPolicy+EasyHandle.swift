internal import CLibcurl

extension CompiledPolicy {
    /// Sets what libcurl has to know. The handshake itself is set up for each connection (``EasyHandle/beginHandshake(_:)``),
    /// and peers are verified there; libcurl verifies none without asking us, and loads no authorities.
    func apply(to easy: EasyHandle) throws {
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, validatesEveryName ? 2 : 0)
        try easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try easy.set(CURLOPT_CAINFO, nil as String?)
        // A mark by which a server's context is told from a proxy's. The weakness that it allows went away with TLS 1.1.
        try easy.set(CURLOPT_SSL_OPTIONS, Int(CURLSSLOPT_ALLOW_BEAST))
        // Connections and session tickets are only used again where this is the same.
        try easy.set(CURLOPT_CAPATH, identifier)
    }
}
