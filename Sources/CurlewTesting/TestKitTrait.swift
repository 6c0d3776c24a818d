#if !TestKit
// Without the trait, the compiler's error names the missing trait instead of only a missing type.

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum MockServer {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum RawServer {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum MockProxy {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum StubTransport {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum RecordingTransport {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum ReplayTransport {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum CassetteTransport {}

/// Unavailable without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum TestClock {}
#endif
