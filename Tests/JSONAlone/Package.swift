// swift-tools-version: 6.2

import PackageDescription

// A program that only needs JSON. `.ci/json-alone` builds a copy of it with a dependency by URL, as in a user's
// package.
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
