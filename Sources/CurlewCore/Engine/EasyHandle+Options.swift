internal import CLibcurl
internal import COpenSSL

/// The access to libcurl's options and results of a handle.
extension EasyHandle {
    func set(_ option: CURLoption, _ value: Int) throws {
        try check(curlew_easy_set_long(raw, option, value), option)
    }

    func set(offset value: Int64, _ option: CURLoption) throws {
        try check(curlew_easy_set_offset(raw, option, curl_off_t(value)), option)
    }

    /// Sets a string, which libcurl copies.
    func set(_ option: CURLoption, _ value: String?) throws {
        if let value {
            try check(value.withCString { curlew_easy_set_string(raw, option, $0) }, option)
        } else {
            try check(curlew_easy_set_string(raw, option, nil), option)
        }
    }

    /// Sets a pointer, which libcurl keeps: its target must live until another pointer is set.
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws {
        try check(curlew_easy_set_pointer(raw, option, value), option)
    }

    /// Sets a list, which libcurl keeps: it must live until another list is set.
    func set(_ option: CURLoption, _ value: UnsafeMutablePointer<curl_slist>?) throws {
        try check(curlew_easy_set_list(raw, option, value), option)
    }

    /// Sets bytes, which libcurl copies.
    func set(_ option: CURLoption, blob bytes: [UInt8]) throws {
        var copy = bytes
        let code = copy.withUnsafeMutableBytes { curlew_easy_set_blob(raw, option, $0.baseAddress, $0.count) }
        try check(code, option)
    }

    func check(_ code: CURLcode, _ option: CURLoption) throws {
        guard code != CURLE_OK else { return }
        let known = ErrorCode(code)
        let reason = String(cString: curl_easy_strerror(code))
        let name = curl_easy_option_by_id(option).map { String(cString: $0.pointee.name) } ?? "\(option.rawValue)"
        throw CurlewError(
            known == .engineFailed ? .unsupported : known, "libcurl refuses the option \(name): \(reason)")
    }

    // MARK: Results

    /// The error text and results of an attempt that libcurl has ended with an error.
    func failure(_ code: CURLcode) -> EngineFailure {
        var failure = EngineFailure(code)
        failure.text = errorText
        failure.systemError = Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO))
        failure.tunnelStatus = long(CURLINFO_HTTP_CONNECTCODE)
        failure.proxyReply = CURLproxycode(rawValue: UInt32(truncatingIfNeeded: long(CURLINFO_PROXY_ERROR)))
        failure.handshake = handshake
        failure.hasProxyAnswered = lastConnection?.hasReceived == true
        return failure
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return curlew_easy_get_long(raw, info, &value) == CURLE_OK ? value : 0
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return curlew_easy_get_offset(raw, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    func string(_ info: CURLINFO) -> String? {
        var value: UnsafePointer<CChar>?
        guard curlew_easy_get_string(raw, info, &value) == CURLE_OK, let value else { return nil }
        return String(cString: value)
    }

    /// The OpenSSL object of the current connection.
    var tlsSession: OpaquePointer? {
        var info: UnsafeMutablePointer<curl_tlssessioninfo>?
        guard curlew_easy_get_tls(raw, &info) == CURLE_OK, let info, info.pointee.backend == CURLSSLBACKEND_OPENSSL,
            let session = info.pointee.internals
        else { return nil }
        return OpaquePointer(session)
    }

    /// True if OpenSSL has decrypted bytes that belong to no request. libcurl's own check of an idle connection may
    /// have read them.
    var hasBufferedTLSInput: Bool { tlsSession.map { SSL_pending($0) > 0 } ?? false }

    /// Pauses and resumes each direction. Bytes that libcurl has held back are delivered at once.
    func pause(_ reasons: PauseReasons) -> CURLcode {
        var mask: Int32 = 0
        if !reasons.isDisjoint(with: .receiving) { mask |= CURLPAUSE_RECV }
        if !reasons.isDisjoint(with: .sending) { mask |= CURLPAUSE_SEND }
        return curl_easy_pause(raw, mask)
    }
}
