#if !Service
// Whoever forgets the trait gets its name from the compiler, not only that there is no such type.

/// Not here without the trait `Service`.
@available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
public enum RequestMetrics {}

/// Not here without the trait `Service`.
@available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
public enum RequestTracing {}

/// Not here without the trait `Service`.
@available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
public enum SessionService {}
#endif
