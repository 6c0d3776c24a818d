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

// A package that uses the product Curlew without its traits. `make test-traits` builds it while the headers of the
// optional libraries are hidden, checks its resolved dependencies, and runs its tests.
let package = Package(
    name: "curlew-without-traits",
    dependencies: [
        .package(name: "curlew", path: "../..", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .testTarget(
            name: "WithoutTraitsTests",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
