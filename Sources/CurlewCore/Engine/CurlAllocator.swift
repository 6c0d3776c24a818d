internal import CLinux
internal import CurlewPlatform

/// Memory for libcurl: malloc's, except that large blocks are kept and reused.
///
/// libcurl before 8.7 allocates a read buffer for each transfer and frees it at the end. At the size for long bodies,
/// malloc returns the pages to the kernel each time. Every small request would then pay for unmapping, for new pages
/// and for informing the other processors. Every block comes from malloc, so any code may free it.
enum CurlAllocator {
    /// The smallest kept block. malloc keeps smaller blocks itself, including upload buffers.
    private static let smallest = 128 << 10
    private static let largest = 512 << 10
    /// The greatest number of kept blocks in the process.
    private static let limit = 64
    /// The alignment of large blocks. Their addresses distinguish them from small ones.
    private static let alignment = 4096

    private static let kept = Guarded<[UnsafeMutableRawPointer]>([])

    static let allocate: @convention(c) (Int) -> UnsafeMutableRawPointer? = { size in
        guard size >= smallest, size <= largest else { return malloc(size) }
        return take(size) ?? aligned_alloc(alignment, (size + alignment - 1) & -alignment)
    }

    /// Frees a block. libcurl frees a hundred times per request, usually nil: both usual paths are short.
    static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { block in
        guard let block else { return }
        guard Int(bitPattern: block) & 4095 == 0 else { return free(block) }
        releaseAligned(block)
    }

    @inline(never)
    private static func releaseAligned(_ block: UnsafeMutableRawPointer) { if !keep(block) { free(block) } }

    /// Frees the kept blocks.
    static func releaseKept() {
        let blocks = kept.withLock { blocks in
            defer { blocks = [] }
            return blocks
        }
        blocks.forEach { free($0) }
    }

    private static func take(_ size: Int) -> UnsafeMutableRawPointer? {
        kept.withLock { blocks -> UnsafeMutableRawPointer? in
            // The search begins with the last block, which fits unless sessions have different buffer sizes.
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
            // The oldest block is freed first.
            if blocks.count == limit { free(blocks.removeFirst()) }
            blocks.append(block)
            return true
        }
    }
}
