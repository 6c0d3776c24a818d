// Takes the place of some of the system's calls in the test process, so that they can be made to fail where no server can
// make them: on the event loops of tests ("curlew-test"), and as often as asked for.
#ifndef CURLEW_SYSTEM_FAULTS_H
#define CURLEW_SYSTEM_FAULTS_H

enum curlew_fault {
    // `epoll_ctl` cannot add a descriptor: ENOSPC.
    CURLEW_FAULT_EPOLL_ADD,
    // `socket` finds no descriptor: EMFILE.
    CURLEW_FAULT_SOCKET,
    // `send` takes half of what it is given.
    CURLEW_FAULT_SHORT_SEND,
    // `send` is interrupted: EINTR.
    CURLEW_FAULT_INTERRUPTED_SEND,
    // Nothing fails: counts the TCP sockets that are made as blocking ones.
    CURLEW_FAULT_BLOCKING_SOCKET,
    // `send` waits until something can be read, and keeps what it is given from leaving at once.
    CURLEW_FAULT_OVERTAKEN_SEND,
    CURLEW_FAULT_COUNT
};

/// Whether they can be had: not under ThreadSanitizer, which needs to see these calls itself.
int curlew_faults_are_available(void);

/// Lets the next `count` calls fail, after `skipped` that do not.
void curlew_arm_fault(enum curlew_fault fault, int skipped, int count);

/// How many calls have failed since the fault was armed.
int curlew_fault_hits(enum curlew_fault fault);

/// Waits until a call has failed since the fault was armed.
void curlew_await_fault(enum curlew_fault fault);

/// Lets nothing fail any more.
void curlew_disarm_faults(void);

#endif
