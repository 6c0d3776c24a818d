// swift-tools-version: 6.2

import PackageDescription

// A program that needs JSON alone. `.ci/json-alone` builds a copy of it with Curlew as a dependency by URL, as users have it.
let package = Package(
    name: "json-alone",
    dependencies: [
        .package(
            url: Context.environment["CURLEW_URL"] ?? "../..",
            revision: Context.environment["CURLEW_REVISION"] ?? "HEAD")
    ],
    targets: [
        .executableTarget(
            name: "json-alone", dependencies: [.product(name: "CurlewJSON", package: "curlew")], path: "Sources")
    ]
)
