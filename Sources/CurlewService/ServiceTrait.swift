#if !Service
public import Curlew

// Without the trait, the compiler's error names the missing trait instead of only a missing type.

/// Unavailable without the trait `Service`.
@available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
public enum RequestMetrics {}

/// Unavailable without the trait `Service`.
@available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
public enum RequestTracing {}

/// Unavailable without the trait `Service`.
@available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
public enum SessionService {}

extension HTTPSession {
    /// Unavailable without the trait `Service`.
    @available(*, unavailable, message: "CurlewService needs Curlew's trait Service: traits: [.defaults, \"Service\"]")
    public enum Settings {}
}
#endif
