#if !Service
public import Curlew

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

extension HTTPSession {
    /// Not here without the trait `Service`.
    @available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
    public enum Settings {}
}
#endif
