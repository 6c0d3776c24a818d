internal import CLibcurl
internal import CurlewPlatform

/// The C functions that libcurl calls on the loop's thread. Each gets its easy or multi handle.
///
/// The pointers are unretained: the multi handle, or the engine's caller, keeps a handle for as long as libcurl may
/// call back.
enum EngineCallbacks {
    private static func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        guard let context else { return nil }
        return Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue().transfer
    }

    static let header: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
        bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return transfer(context)?.receiveHeader(line) == true ? line.count : 0
    }

    static let write: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
        bytes, size, count, context in
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        switch transfer(context)?.receiveBody(chunk) {
        case .taken: return chunk.count
        case .paused: return Int(CURL_WRITEFUNC_PAUSE)
        case .failed, nil: return chunk.isEmpty ? 1 : 0
        }
    }

    static let read: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
        bytes, size, count, context in
        let space = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        switch transfer(context)?.provideBody(space) {
        case .bytes(let count): return count
        case .wait: return Int(CURL_READFUNC_PAUSE)
        case .failed, nil: return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Rewinds the body when libcurl repeats a request by itself.
    static let seek: @convention(c) (UnsafeMutableRawPointer?, curl_off_t, Int32) -> Int32 = {
        context, offset, origin in
        guard offset == 0, origin == SEEK_SET, let transfer = transfer(context) else { return CURL_SEEKFUNC_FAIL }
        transfer.rewindBody()
        return CURL_SEEKFUNC_OK
    }

    static let ready:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?, Int32, Int32
        ) -> Int32 = { context, _, _, _, localPort in
            transfer(context)?.connectionReady(localPort: localPort) == true
                ? Int32(CURL_PREREQFUNC_OK) : Int32(CURL_PREREQFUNC_ABORT)
        }

    static let debug:
        @convention(c) (
            UnsafeMutableRawPointer?, curl_infotype, UnsafeMutablePointer<CChar>?, Int, UnsafeMutableRawPointer?
        ) -> Int32 = { _, kind, bytes, count, context in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
            switch kind {
            case CURLINFO_DATA_IN: transfer(context)?.observeRawBody(bytes)
            case CURLINFO_TEXT: transfer(context)?.observeWords(bytes)
            default: break
            }
            return 0
        }

    static let trailers:
        @convention(c) (UnsafeMutablePointer<UnsafeMutablePointer<curl_slist>?>?, UnsafeMutableRawPointer?) -> Int32 = {
            list, context in
            guard let list, let fields = transfer(context)?.prepared.trailers else {
                return Int32(CURL_TRAILERFUNC_ABORT)
            }
            // libcurl frees the list that it gets, so it gets a copy.
            var node = fields.head
            while let current = node {
                guard let grown = curl_slist_append(list.pointee, current.pointee.data) else {
                    return Int32(CURL_TRAILERFUNC_ABORT)
                }
                list.pointee = grown
                node = current.pointee.next
            }
            return Int32(CURL_TRAILERFUNC_OK)
        }

    /// Called before libcurl makes a TLS connection. Curlew may refuse it.
    static let tlsContext:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> CURLcode = {
            _, tls, context in
            guard let tls, let context else { return CURLE_SSL_CERTPROBLEM }
            let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return easy.beginHandshake(OpaquePointer(tls)) ? CURLE_OK : CURLE_SSL_CERTPROBLEM
        }

    private static func multi(_ context: UnsafeMutableRawPointer) -> MultiHandle {
        Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    }

    private static func shard(_ context: UnsafeMutableRawPointer) -> EngineShard {
        Unmanaged<EngineShard>.fromOpaque(context).takeUnretainedValue()
    }

    static let openSocket:
        @convention(c) (UnsafeMutableRawPointer?, curlsocktype, UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t =
            {
                context, _, address in
                guard let context, let address else { return -1 }
                let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
                guard let transfer = easy.transfer else { return -1 }
                switch transfer.opening() {
                case .refused: return -1
                case .handOver(let connection): return easy.multi.handOver(connection, address)
                case .again(let connection): return easy.multi.openAgain(connection, address, for: transfer)
                }
            }

    /// Reports the state of a socket to libcurl: it is connected, unless libcurl connects it itself.
    static let socketOption: @convention(c) (UnsafeMutableRawPointer?, curl_socket_t, curlsocktype) -> Int32 = {
        context, descriptor, _ in
        guard let context else { return CURL_SOCKOPT_ERROR }
        let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
        return easy.multi.isConnecting(descriptor) ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ALREADY_CONNECTED
    }

    static let closeSocket: @convention(c) (UnsafeMutableRawPointer?, curl_socket_t) -> Int32 = { context, descriptor in
        if let context { multi(context).closing(descriptor) }
        return close(descriptor)
    }

    static let socket:
        @convention(c) (
            UnsafeMutableRawPointer?, curl_socket_t, Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
        ) -> Int32 = { easy, descriptor, interest, context, _ in
            guard let context else { return 0 }
            let shard = shard(context)
            shard.multi.interestChanged(easy: easy, descriptor: descriptor, interest: interest, shard)
            return 0
        }

    static let timer: @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?) -> Int32 = {
        _, milliseconds, context in
        if let context { shard(context).timerChanged(milliseconds: milliseconds) }
        return 0
    }
}
