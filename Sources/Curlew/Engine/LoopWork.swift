/// A piece of work for the loop: a job of Swift's, or a closure of ours.
enum LoopWork {
    case job(UnownedJob)
    case block(@Sendable () -> Void)
}
