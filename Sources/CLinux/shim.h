// What Swift's Glibc module leaves out: epoll, eventfd, netlink, random bytes, the name of a thread, the size of a block of
// memory, and renaming that replaces nothing.
#ifndef CURLEW_CLINUX_SHIM_H
#define CURLEW_CLINUX_SHIM_H

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>

enum {
    curlew_epoll_in = EPOLLIN,
    curlew_epoll_out = EPOLLOUT,
    curlew_epoll_error = EPOLLERR,
    curlew_epoll_hang_up = EPOLLHUP,
    curlew_epoll_urgent = EPOLLPRI,
    curlew_epoll_edge = (int)EPOLLET,
};

static inline int curlew_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int curlew_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {events, {.u64 = token}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline uint64_t curlew_epoll_token(const struct epoll_event *event) { return event->data.u64; }

// Declared by <unistd.h>, which would bring more than this with it.
long syscall(long number, ...);

// How many bytes of a TCP connection's output are not acknowledged; -1 on failure.
static inline int curlew_unconfirmed_bytes(int descriptor) {
    int count = 0;
    return ioctl(descriptor, SIOCOUTQ, &count) == 0 ? count : -1;
}

// How many bytes of a TCP connection's output the process has written; -1 where the system does not say (Linux before 4.19,
// other sockets). Offsets are those of `struct tcp_info`, whose header would redefine types of Glibc's module.
static inline int64_t curlew_written_bytes(int descriptor) {
    enum { tcp = 6, tcp_info = 11, not_sent = 144, sent = 200, sent_again = 208, end = 216 };
    unsigned char bytes[256] __attribute__((aligned(8)));
    uint32_t length = sizeof bytes;
    if (syscall(SYS_getsockopt, descriptor, tcp, tcp_info, bytes, &length) != 0 || length < end) return -1;
    return (int64_t)(*(uint64_t *)(bytes + sent) - *(uint64_t *)(bytes + sent_again) + *(uint32_t *)(bytes + not_sent));
}

// How many bytes a TCP connection has received; -1 where the system does not say.
static inline int64_t curlew_received_bytes(int descriptor) {
    enum { tcp = 6, tcp_info = 11, received = 128, end = 136 };
    unsigned char bytes[256] __attribute__((aligned(8)));
    uint32_t length = sizeof bytes;
    if (syscall(SYS_getsockopt, descriptor, tcp, tcp_info, bytes, &length) != 0 || length < end) return -1;
    return *(int64_t *)(bytes + received);
}

static inline size_t curlew_block_size(void *block) { return malloc_usable_size(block); }

// Kinds of sockets, by Linux's numbers (SOCK_STREAM, SOCK_RAW). Glibc has them too, but where libcurl's header was read before,
// as in a build of the whole module, the compiler takes them for that one's, and a file that does not import it has none.
enum {
    curlew_socket_stream = 1,
    curlew_socket_datagram = 2,
    curlew_socket_raw = 3,
};

// The kinds of hardware that are told apart. Their header includes that of the sockets, whose types have to stay Glibc's.
enum {
    curlew_hardware_ethernet = 1,
    curlew_hardware_ppp = 512,
    curlew_hardware_loopback = 772,
    curlew_hardware_ieee80211 = 801,
    curlew_hardware_ieee80211_prism = 802,
    curlew_hardware_ieee80211_radiotap = 803,
};

// A GNU extension that the headers hide without _GNU_SOURCE, which would change what Glibc's module has seen.
int pthread_setname_np(pthread_t thread, const char *name);

// Reads what of a file is in memory, without waiting for data from a disk: preadv2 with RWF_NOWAIT (Linux 4.14). EAGAIN if the
// first byte is not in memory; EOPNOTSUPP or ENOSYS where file system or kernel cannot do so.
static inline long curlew_read_cached(int descriptor, void *space, size_t count, int64_t offset) {
    struct {
        void *base;
        size_t size;
    } piece = {space, count};
    return syscall(SYS_preadv2, descriptor, &piece, 1L, (long)offset, (long)((uint64_t)offset >> 32), 8L);
}

// Another GNU extension.
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags);

enum {
    // RENAME_NOREPLACE, which the headers hide likewise.
    curlew_rename_no_replace = 1,
    // O_PATH, the same: opens a folder that may be entered and not be read. As a number, since <fcntl.h> here would take
    // Swift's `stat` over from Glibc's module.
    curlew_open_path = 010000000,
};

#endif
