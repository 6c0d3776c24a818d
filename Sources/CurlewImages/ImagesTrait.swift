#if !Images
// Without the trait, the compiler's error names the missing trait instead of only a missing type.

/// Unavailable without the trait `Images`.
@available(*, unavailable, message: "CurlewImages needs Curlew's trait Images: traits: [.defaults, \"Images\"]")
public enum Image {}

/// Unavailable without the trait `Images`.
@available(*, unavailable, message: "CurlewImages needs Curlew's trait Images: traits: [.defaults, \"Images\"]")
public enum ImageResponseSerializer {}
#endif
