// swift-tools-version: 6.2

import PackageDescription

// A program that depends on a release of Curlew. `.ci/from-version` builds a copy of it with a clone that has the tag.
let package = Package(
    name: "from-version",
    dependencies: [
        .package(
            url: Context.environment["CURLEW_URL"] ?? "../..",
            from: Version(stringLiteral: Context.environment["CURLEW_VERSION"] ?? "0.1.0"))
    ],
    targets: [
        .executableTarget(
            name: "from-version", dependencies: [.product(name: "Curlew", package: "curlew")], path: "Sources")
    ]
)
