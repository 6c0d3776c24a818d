// swift-tools-version: 6.2

import PackageDescription

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The setting equals that of the package above.
if Context.environment["CURLEW_WARNINGS_AS_ERRORS"] == "1" {
    settings.append(.treatAllWarnings(as: .error))
}

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
    name: "curlew-tools",
    products: [
        .executable(name: "crash-campaign", targets: ["CrashCampaign"]),
        .executable(name: "soak", targets: ["Soak"]),
    ],
    dependencies: [
        .package(name: "curlew", path: "..", traits: [.defaults, "Postgres", "Storage", "TestKit"]),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        // These two folders belong to the tests of the package above.
        .target(
            name: "PostgresServer", dependencies: [.product(name: "Curlew", package: "curlew")],
            swiftSettings: settings),
        .target(name: "SeededNumbers", swiftSettings: settings),
        // A program instead of a test target: the campaign kills its processes. `make test-crash` runs it.
        .executableTarget(
            name: "CrashCampaign",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewPostgres", package: "curlew"),
                .product(name: "CurlewStorage", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                httpTypes,
                "PostgresServer",
                "SeededNumbers",
            ],
            swiftSettings: settings
        ),
        // A program that sends requests for a given time, and counts the resources of its process. `make soak` runs it.
        .executableTarget(
            name: "Soak",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                httpTypes,
                "SeededNumbers",
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
