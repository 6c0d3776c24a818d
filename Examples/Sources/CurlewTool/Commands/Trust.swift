import ArgumentParser
import Curlew
import TerminalOutput

/// `curlew trust HOST[:PORT]`: a server's certificates, the verdict of the default policy, and the pins of the keys.
struct Trust: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a server's certificates, whether they are trusted, and the pins to copy.")

    @Argument(help: "The server, as HOST, HOST:PORT or a URL.")
    var place: String

    func run() async throws {
        let status = try await Self.inspect(place)
        if status != 0 { throw ExitCode(status) }
    }

    /// Prints the chain, the verdict and the pins.
    /// - Returns: The exit status: 0 for a trusted server, else that of the error.
    static func inspect(_ place: String) async throws -> Int32 {
        let session = try SessionActor()
        do {
            let url = place.contains("://") ? place : "https://\(place)/"
            let security = try await session.connectionSecurity(of: url)
            try write("\(security.tlsVersion), \(security.cipher)")
            try show(security.chain)
            try write("trusted by the system's authorities")
            try showPins(security.chain)
            await session.shutdown()
            return 0
        } catch let error as CurlewError {
            await session.shutdown()
            guard let trust = error.serverTrust else { throw error }
            try show(trust.chain)
            try write("not trusted (\(error.code)): \(error.message)")
            try showPins(trust.chain)
            return ExitStatus.status(for: error)
        }
    }

    private static func show(_ chain: [CurlewCertificate]) throws {
        for (index, certificate) in chain.enumerated() {
            let details = try certificate.details()
            try write("\(index)  \(details.subject)")
            try write("   issued by \(details.issuer)")
            if !details.alternativeNames.isEmpty {
                try write("   for \(details.alternativeNames.prefix(10).joined(separator: ", "))")
            }
            if let start = details.notBefore, let end = details.notAfter {
                try write("   valid from \(start) to \(end)")
            }
            try write("   \(details.key), \(details.signature)")
        }
    }

    private static func showPins(_ chain: [CurlewCertificate]) throws {
        try write("pins, the server's own first; keep one of a key in reserve beside it:")
        for certificate in chain { try write("   \(SecurityPolicy.Pin(of: certificate))") }
    }

    /// Writes a line. The server has chosen the names in a certificate.
    private static func write(_ line: String) throws { try OutputFile.standard.write("\(printable(line))\n") }
}
