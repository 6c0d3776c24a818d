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

let package = Package(
    name: "curlew-examples",
    products: [
        .executable(name: "curlew", targets: ["curlew"]),
        .executable(name: "curlew-probe", targets: ["curlew-probe"]),
    ],
    dependencies: [
        .package(name: "curlew", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "curlew",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Probe",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "curlew-probe", dependencies: ["Probe"], swiftSettings: settings),
        .testTarget(
            name: "ProbeTests",
            dependencies: [
                "Probe",
                "curlew-probe",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
