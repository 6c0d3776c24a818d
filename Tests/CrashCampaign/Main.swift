#if TestKit && Storage && Postgres
import Glibc
import PostgresServer

/// Kills a downloading process again and again, and looks whether the next one makes a whole file of what is left; then one that
/// uses a cache on the disk, and looks whether all that is left of it is right; then two workers of a queue of transfers, and four of one in
/// PostgreSQL; and one that uploads.
///
///     crash-campaign [SEED]
///
/// Called with `child`, `cache`, `queue` or `upload` it is the process that is killed.
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
            // `make setup` has installed it.
            let postgres = try PostgresServer()
            defer { postgres.stop() }
            try await QueueCampaign(seed: campaign.seed, postgres: postgres).run()
        } catch {
            print("failed with seed \(campaign.seed): \(error)")
            exit(1)
        }
    }
}

/// What the campaign found wrong.
struct Finding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
#else
/// Says what is missing: its servers come from the test kit, its cache from storage.
@main
struct Main {
    static func main() { print("crash-campaign was built without the traits TestKit, Storage and Postgres") }
}
#endif
