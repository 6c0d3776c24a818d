import CurlewDemo

@main
struct Main {
    static func main() async throws { try await Demo.tour() }
}
