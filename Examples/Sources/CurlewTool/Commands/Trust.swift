import ArgumentParser
import Curlew

/// `curlew trust HOST[:PORT]`: a server's certificates, the verdict of the default policy, and the pins of the keys.
struct Trust: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a server's certificates, whether they are trusted, and the pins to copy.")

    @Argument(help: "The server, as HOST or HOST:PORT.")
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
            let security = try await session.connectionSecurity(of: "https://\(place)/")
            print("\(security.tlsVersion), \(security.cipher)")
            try show(security.chain)
            print("trusted by the system's authorities")
            try showPins(security.chain)
            await session.shutdown()
            return 0
        } catch let error as CurlewError {
            await session.shutdown()
            guard let trust = error.serverTrust else { throw error }
            try show(trust.chain)
            print("not trusted (\(error.code)): \(error.message)")
            try showPins(trust.chain)
            return ExitStatus.status(for: error)
        }
    }

    private static func show(_ chain: [CurlewCertificate]) throws {
        for (index, certificate) in chain.enumerated() {
            let details = try certificate.details()
            print("\(index)  \(details.subject)")
            print("   issued by \(details.issuer)")
            if !details.alternativeNames.isEmpty {
                print("   for \(details.alternativeNames.prefix(10).joined(separator: ", "))")
            }
            if let start = details.notBefore, let end = details.notAfter { print("   valid from \(start) to \(end)") }
            print("   \(details.key), \(details.signature)")
        }
    }

    private static func showPins(_ chain: [CurlewCertificate]) throws {
        print("pins, the server's own first; keep one of a key in reserve beside it:")
        for certificate in chain { print("   \(try SecurityPolicy.Pin(of: certificate))") }
    }
}
