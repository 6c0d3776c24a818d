#if !TestKit
// Whoever forgets the trait gets its name from the compiler, not only that there is no such type.

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum MockServer {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum RawServer {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum MockProxy {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum StubTransport {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum RecordingTransport {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum ReplayTransport {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum CassetteTransport {}

/// Not here without the trait `TestKit`.
@available(*, unavailable, message: "CurlewTesting needs Curlew's trait TestKit: traits: [.defaults, \"TestKit\"]")
public enum TestClock {}
#endif
