// swift-tools-version: 6.2

import PackageDescription

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// As in the package above.
if Context.environment["CURLEW_WARNINGS_AS_ERRORS"] == "1" {
    settings.append(.treatAllWarnings(as: .error))
}

// A folder each in Sources, and one in Seeds.
let names = [
    "FuzzCacheEntries",
    "FuzzCacheFields",
    "FuzzChallenges",
    "FuzzCharsets",
    "FuzzChunkedCoding",
    "FuzzContentCodings",
    "FuzzContentDisposition",
    "FuzzContentRange",
    "FuzzEvents",
    "FuzzHeads",
    "FuzzImages",
    "FuzzJSON",
    "FuzzJSONDecoding",
    "FuzzJSONEncoding",
    "FuzzLines",
    "FuzzMediaTypes",
    "FuzzMultipart",
    "FuzzNetlink",
    "FuzzParameters",
    "FuzzPropertyLists",
    "FuzzRedirects",
    "FuzzResumeToken",
    "FuzzRetryAfter",
    "FuzzSetCookie",
    "FuzzURIs",
    "FuzzWebSocketFrames",
    "FuzzWebSocketWire",
    "FuzzWire",
]

/// The dependencies of a target. The targets for JSON only need the product CurlewJSON.
func dependencies(of name: String) -> [Target.Dependency] {
    if name.hasPrefix("FuzzJSON") { return ["FuzzingKit", .product(name: "CurlewJSON", package: "curlew")] }
    return [
        "FuzzingKit",
        .product(name: "Curlew", package: "curlew"),
        .product(name: "CurlewImages", package: "curlew"),
        .product(name: "CurlewJSON", package: "curlew"),
        .product(name: "CurlewWebSockets", package: "curlew"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
    ]
}

let package = Package(
    name: "curlew-fuzzing",
    dependencies: [
        .package(name: "curlew", path: "..", traits: [.defaults, "Images"]),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .systemLibrary(name: "CLibFuzzer"),
        .target(name: "FuzzingKit", dependencies: ["CLibFuzzer"], swiftSettings: settings),
    ]
        + names.map { name in
            .executableTarget(name: name, dependencies: dependencies(of: name), swiftSettings: settings)
        },
    swiftLanguageModes: [.v6]
)
