/// The choice between QUIC and TCP.
extension ConnectionPool {
    /// The use of a connection for an exchange.
    func use(for transfer: Transfer) -> PoolKey.Use {
        let request = transfer.prepared
        let use = PoolKey.use(of: request, isHTTP11: transfer.needsHTTP11, isOverTCP: transfer.usesTCP)
        guard use == .quic, request.version == .http3, !quicFailures.isEmpty,
            quicFailures.excludes(PoolKey(request, .quic), at: now)
        else { return use }
        transfer.useTCP()
        return PoolKey.use(of: request, isHTTP11: transfer.needsHTTP11, isOverTCP: true)
    }

    /// Records that no QUIC connection to an origin could be made, unless another one serves. Exchanges that wait for
    /// it use TCP, or fail. Not called from within libcurl.
    /// - Parameter error: The error of exchanges that cannot use TCP; nil lets them wait for another connection.
    func noteFailure(ofQUIC origin: OriginPool, _ error: CurlewError?) {
        guard origin.shared.isEmpty else { return }
        quicFailures.noteFailure(of: origin.key, at: now)
        for transfer in origin.waiting.all { transfer.quicFailed(error) }
    }
}
