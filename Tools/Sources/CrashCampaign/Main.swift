import Glibc
import PostgresServer

/// Kills processes repeatedly, and checks that the next ones complete the work with the remaining data. The killed
/// processes are in turn: one with downloads, one with a disk cache, two workers of a queue of transfers, four workers
/// of a queue in PostgreSQL, and one with uploads.
///
///     crash-campaign [SEED]
///
/// The arguments `child`, `cache`, `queue` and `upload` start the process that is killed.
@main
struct CrashCampaign {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 5, arguments[1] == "child" {
            return try await Download(url: arguments[2], folder: arguments[3], segments: Int(arguments[4]) ?? 1).run()
        }
        if arguments.count == 5, arguments[1] == "cache" {
            let user = CacheUser(folder: arguments[2], seed: UInt64(arguments[3]) ?? 0, rounds: Int(arguments[4]) ?? 0)
            return try await user.run()
        }
        if arguments.count == 5, arguments[1] == "queue" {
            return try await QueueCampaign.work(arguments[2], arguments[3])
        }
        if arguments.count == 5, arguments[1] == "upload" {
            return try await UploadCampaign.work(arguments[2], arguments[3], arguments[4])
        }
        let seed = arguments.count > 1 ? UInt64(arguments[1]) : nil
        let campaign = Campaign(seed: seed ?? UInt64.random(in: 0...UInt64(UInt32.max)))
        do {
            try await CacheCampaign(seed: campaign.seed).run()
            try await campaign.run()
            try await UploadCampaign(seed: campaign.seed).run()
            try await QueueCampaign(seed: campaign.seed).run()
            // `make setup` has installed PostgreSQL.
            let postgres = try PostgresServer()
            defer { postgres.stop() }
            try await QueueCampaign(seed: campaign.seed, postgres: postgres).run()
        } catch {
            print("failed with seed \(campaign.seed): \(error)")
            exit(1)
        }
    }
}

/// An error that the campaign has found.
struct Finding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
