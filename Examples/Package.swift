// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "curlew-examples",
    products: [
        .executable(name: "curlew", targets: ["curlew"])
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
        )
    ],
    swiftLanguageModes: [.v6]
)
