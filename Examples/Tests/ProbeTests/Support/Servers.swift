import CurlewTesting

/// Serves one fixed answer to each connection, then closes it.
func rawAnswer(_ answer: [UInt8]) async throws -> RawServer {
    try await RawServer.start { connection in
        _ = try await connection.readHead()
        try await connection.write(answer)
    }
}

func rawAnswer(_ answer: String) async throws -> RawServer { try await rawAnswer(Array(answer.utf8)) }

/// Reads a request's head, and stays silent until the client disconnects.
func silentServer() async throws -> RawServer {
    try await RawServer.start { connection in
        _ = try await connection.readHead()
        try await connection.closed
    }
}

extension RawConnection {
    /// The bytes up to and including the next empty line, without any after it.
    func readHeadBytes() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard let more = try await read() else { return bytes }
            bytes += more
        }
        return bytes
    }
}
