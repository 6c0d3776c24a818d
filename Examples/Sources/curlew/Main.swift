import CurlewTool

@main
struct Main {
    static func main() async { await CurlewTool.main() }
}
