#if !Images
// Whoever forgets the trait gets its name from the compiler, not only that there is no such type.

/// Not here without the trait `Images`.
@available(*, unavailable, message: "CurlewImages needs Curlew's trait Images: traits: [.defaults, \"Images\"]")
public enum Image {}

/// Not here without the trait `Images`.
@available(*, unavailable, message: "CurlewImages needs Curlew's trait Images: traits: [.defaults, \"Images\"]")
public enum ImageResponseSerializer {}
#endif
