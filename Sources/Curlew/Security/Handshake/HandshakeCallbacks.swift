internal import COpenSSL

/// The C functions that OpenSSL calls in a handshake, on the loop's thread. Those with an argument get their
/// ``Handshake``, unretained: the context that calls owns it.
enum HandshakeCallbacks {
    private static func handshake(_ object: UnsafeMutableRawPointer) -> Handshake {
        Unmanaged<Handshake>.fromOpaque(object).takeUnretainedValue()
    }

    /// Stands in for OpenSSL's verification as a whole.
    static let verify: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { context, object in
        guard let context, let object,
            let connection = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())
        else { return 0 }
        let isAccepted = handshake(object).verify(
            leaf: X509_STORE_CTX_get0_cert(context), sent: X509_STORE_CTX_get0_untrusted(context),
            connection: OpaquePointer(connection))
        // libcurl looks at this once more after the handshake.
        X509_STORE_CTX_set_error(context, isAccepted ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION)
        return isAccepted ? 1 : 0
    }

    static let stapled: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { connection, object in
        guard let connection, let object else { return 0 }
        return handshake(object).acceptsStapledResponse(of: connection) ? 1 : 0
    }

    static let certificateRequested: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { _, object in
        guard let object else { return 0 }
        handshake(object).noteCertificateRequest()
        return 1
    }

    static let progress: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = { connection, place, value in
        guard let connection, let handshake = HandshakeData.handshake(of: connection) else { return }
        if place & SSL_CB_HANDSHAKE_START != 0 { handshake.begins(connection) }
        guard place & SSL_CB_ALERT != 0 else { return }
        handshake.noteAlert(value, isReceived: place & SSL_CB_READ != 0)
    }

    static let newSession: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = { connection, session in
        guard let connection, let session else { return 0 }
        return HandshakeData.handshake(of: connection)?.takeSession(session, of: connection) ?? 0
    }

    static let keyLog: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> Void = { connection, line in
        guard let connection, let line else { return }
        HandshakeData.handshake(of: connection)?.rules.keyLog?.append(line)
    }
}
