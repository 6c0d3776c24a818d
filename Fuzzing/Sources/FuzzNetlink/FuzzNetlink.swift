internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for the kernel's messages about the network. All messages must be read within their bounds, and no
/// network may be reachable without a message that states it.
///
/// The input is the content of one datagram.
@main
struct FuzzNetlink: FuzzTarget {
    static func check(_ input: [UInt8]) {
        let messages = NetlinkMessage.read(input[...])
        require(messages.count <= input.count / 16, "there are more messages than headers")
        // The position in a larger buffer must not matter, and later bytes must not change earlier messages.
        let moved = ([1, 2, 3] + input + [9])[3..<(3 + input.count)]
        requireEqual(NetlinkMessage.read(moved), messages, "another place makes other messages")
        let longer = NetlinkMessage.read((input + [UInt8](repeating: 0xFF, count: 24))[...])
        require(longer.count >= messages.count, "bytes behind the messages take some away")
        requireEqual(Array(longer.prefix(messages.count)), messages, "bytes behind the messages change them")
        checkContents(messages.map(\.content))
    }

    private static func checkContents(_ contents: [NetlinkMessage.Content]) {
        var links: [UInt32: NetworkLink] = [:]
        var routes: [NetworkRoute] = []
        for content in contents {
            switch content {
            case .link(let link):
                check(link)
                links[link.index] = link
            case .route(let route): routes.append(route)
            default: break
            }
        }
        let kinds = LinkKinds(links: links) { link in .init(isKnown: link.index % 2 == 0) }
        for isForEverything in [true, false] {
            let ways = routes.compactMap { route in
                links[route.link].map { link in
                    NetworkSnapshot.Way(
                        route: route, link: link, kind: kinds.kind(of: link), over: kinds.carrier(of: link))
                }
            }
            check(NetworkSnapshot(isForEverything: isForEverything, ways: ways))
        }
    }

    private static func check(_ link: NetworkLink) {
        require((1...15).contains(link.name.utf8.count), "a name has a length that is not allowed")
        require(!link.name.contains("/") && link.name != "." && link.name != "..", "a name leads elsewhere in a path")
        require(
            link.index != 0 && link.lower != 0 && link.lower != link.index, "an interface has a number that is none")
    }

    private static func check(_ snapshot: NetworkSnapshot) {
        guard let path = snapshot.status.path else { return }
        let reasons = snapshot.ways.filter { way in
            way.link.isRunning && way.route.source != nil && way.route.fate != .refused
                && (!snapshot.isForEverything || (way.route.fate == .sent && !way.link.isLoopback))
        }
        require(reasons.contains { $0.link.name == path.interface }, "it is reachable without a reason")
        require(!path.families.isEmpty && !path.localAddresses.isEmpty, "it is reachable from nowhere")
        let isFromLinkLocal = path.localAddresses.contains { $0.hasPrefix("169.254.") || $0.hasPrefix("fe80:") }
        require(!snapshot.isForEverything || !isFromLinkLocal, "a link-local address is enough")
    }
}
