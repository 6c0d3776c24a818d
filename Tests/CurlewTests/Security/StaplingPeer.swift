import COpenSSL
import CurlewTesting
import Foundation
import Glibc
import Testing

/// A TLS server on OpenSSL, with features that the test kit's servers lack: stapling and renegotiation. It serves one
/// connection after another on its own thread.
///
/// `@unchecked Sendable`: all properties are set before the thread starts; OpenSSL guards the context.
final class StaplingPeer: @unchecked Sendable {
    let port: Int
    private let listener: Int32
    private let context: OpaquePointer
    private let response: [UInt8]?
    private let renegotiates: Bool
    private let ended = DispatchSemaphore(value: 0)

    init(
        _ chain: [HeldCertificate], response: [UInt8]? = nil, highest: Int32 = TLS1_3_VERSION,
        renegotiates: Bool = false
    ) throws {
        context = try #require(SSL_CTX_new(TLS_server_method()))
        self.response = response
        self.renegotiates = renegotiates
        (listener, port) = try LoopbackListener.open()
        #expect(curlew_context_set_versions(context, TLS1_2_VERSION, highest) == 1)
        for (index, held) in chain.enumerated() {
            let certificate = try #require(
                held.certificateDER.withUnsafeBufferPointer { buffer in
                    var start = buffer.baseAddress
                    return d2i_X509(nil, &start, buffer.count)
                })
            defer { X509_free(certificate) }
            if index > 0 {
                #expect(curlew_context_add_chain(context, certificate) == 1)
                continue
            }
            let key = held.privateKeyDER
            #expect(SSL_CTX_use_certificate(context, certificate) == 1)
            #expect(SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_EC, context, key, key.count) == 1)
        }
        let own = Unmanaged.passUnretained(self).toOpaque()
        let staple: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { connection, own in
            guard let connection, let own,
                let response = Unmanaged<StaplingPeer>.fromOpaque(own).takeUnretainedValue().response,
                curlew_server_set_response(connection, response, response.count) == 1
            else { return SSL_TLSEXT_ERR_NOACK }
            return SSL_TLSEXT_ERR_OK
        }
        #expect(curlew_server_staple(context, staple, own) == 1)
        Thread.detachNewThread { self.serve() }
    }

    var url: String { "https://127.0.0.1:\(port)/" }

    /// Ends the thread and waits for it.
    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        ended.wait()
        close(listener)
        SSL_CTX_free(context)
    }

    private func serve() {
        defer { ended.signal() }
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            var patience = timeval(tv_sec: 20, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            if let connection = SSL_new(context) {
                SSL_set_fd(connection, descriptor)
                if SSL_accept(connection) == 1 { exchange(connection) }
                SSL_free(connection)
            }
            close(descriptor)
        }
    }

    private func exchange(_ connection: OpaquePointer) {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), head.count < 100_000 {
            var byte: UInt8 = 0
            guard SSL_read(connection, &byte, 1) == 1 else { return }
            head.append(byte)
        }
        if renegotiates {
            SSL_renegotiate(connection)
            SSL_do_handshake(connection)
        }
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".utf8)
        SSL_write(connection, answer, Int32(answer.count))
        SSL_shutdown(connection)
    }
}
