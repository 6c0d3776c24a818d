import ArgumentParser

/// `curlew manual`: the manual page, which `make install` installs.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Write the manual page in roff.", shouldDisplay: false)

    func run() throws { try OutputFile.standard.write(ManualPage.text) }
}

/// The manual page: the help of each command in a section of its own, so that the page has every option.
enum ManualPage {
    static var text: String {
        var text = """
            .TH CURLEW 1 "" "curlew" "User Commands"
            .SH NAME
            curlew \\- an HTTP client for the daily call, for downloads, uploads and queues of them

            """
        text += section("SYNOPSIS AND COMMANDS", CurlewTool.helpMessage(columns: 76))
        for command in CurlewTool.configuration.subcommands where command.configuration.shouldDisplay {
            text += section("curlew \(command._commandName)", CurlewTool.helpMessage(for: command, columns: 76))
            for inner in command.configuration.subcommands {
                let name = "curlew \(command._commandName) \(inner._commandName)"
                text += section(name, CurlewTool.helpMessage(for: inner, columns: 76))
            }
        }
        return text + """
            .SH ENVIRONMENT
            .B NO_COLOR
            turns colours off.
            .B http_proxy, https_proxy, all_proxy, no_proxy
            are the proxies of a call.
            .B XDG_CACHE_HOME, XDG_STATE_HOME
            have the folders of the cache and of the queue.
            .SH SEE ALSO
            .BR curl (1)

            """
    }

    private static func section(_ title: String, _ help: String) -> String {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let escaped = line.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
            // A line that begins with a dot or an apostrophe would be a request of roff.
            return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&\(escaped)" : escaped
        }
        return ".SH \(title.uppercased())\n.nf\n\(lines.joined(separator: "\n"))\n.fi\n"
    }
}
