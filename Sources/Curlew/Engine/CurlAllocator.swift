internal import CLinux
internal import Glibc

/// Memory for libcurl: malloc's, except that large blocks are kept and used again.
///
/// libcurl before 8.7 allocates a read buffer for each transfer and frees it at the end. At the size that long bodies want, malloc
/// gives the pages back to the kernel each time, and every small request pays for unmapping, for new pages and for telling
/// the other processors. Every block is malloc's own, so it does not matter who frees it.
enum CurlAllocator {
    /// Smaller blocks malloc keeps well by itself: that is upload buffers, too.
    private static let smallest = 128 << 10
    private static let largest = 512 << 10
    /// The most blocks that are kept, in the whole process.
    private static let limit = 64
    /// Large blocks begin at a page, so that its address distinguishes a small one from them.
    private static let alignment = 4096

    private static let kept = Guarded<[UnsafeMutableRawPointer]>([])

    static let allocate: @convention(c) (Int) -> UnsafeMutableRawPointer? = { size in
        guard size >= smallest, size <= largest else { return malloc(size) }
        return take(size) ?? aligned_alloc(alignment, (size + alignment - 1) & -alignment)
    }

    /// libcurl frees a hundred times a request, mostly nothing: both ways out are short.
    static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { block in
        guard let block else { return }
        guard Int(bitPattern: block) & 4095 == 0 else { return free(block) }
        releaseAligned(block)
    }

    @inline(never)
    private static func releaseAligned(_ block: UnsafeMutableRawPointer) { if !keep(block) { free(block) } }

    /// Gives back what is kept.
    static func releaseKept() {
        let blocks = kept.withLock { blocks in
            defer { blocks = [] }
            return blocks
        }
        blocks.forEach { free($0) }
    }

    private static func take(_ size: Int) -> UnsafeMutableRawPointer? {
        kept.withLock { blocks -> UnsafeMutableRawPointer? in
            // The last one fits, unless sessions differ in their buffers.
            let fitting = blocks.lastIndex { block in
                let usable = curlew_block_size(block)
                return usable >= size && usable <= 2 * size
            }
            return fitting.map { blocks.remove(at: $0) }
        }
    }

    private static func keep(_ block: UnsafeMutableRawPointer) -> Bool {
        let size = curlew_block_size(block)
        guard size >= smallest, size <= largest else { return false }
        return kept.withLock { blocks in
            // The oldest goes first.
            if blocks.count == limit { free(blocks.removeFirst()) }
            blocks.append(block)
            return true
        }
    }
}
