#if Storage
@testable import CurlewStorage
import Testing

@Suite("The states of a durable transfer")
struct TransferMachineTests {
    private typealias State = DurableTransfer.State

    @Test("each state of a transfer changes only as the table of transitions allows")
    func table() {
        let table: [State: [TransferTrigger: State]] = [
            .waiting: [.claim: .running, .suspend: .suspended, .cancel: .cancelled, .miss: .failed],
            .running: [
                .release: .waiting, .expire: .waiting, .loseNetwork: .waitingForNetwork, .loseRoom: .waitingForDisk,
                .suspend: .suspended, .succeed: .finished, .fail: .failed, .cancel: .cancelled, .miss: .failed,
            ],
            .suspended: [.resume: .waiting, .cancel: .cancelled, .miss: .failed],
            .waitingForNetwork: [
                .wake: .waiting, .resume: .waiting, .suspend: .suspended, .cancel: .cancelled, .miss: .failed,
            ],
            .waitingForDisk: [
                .wake: .waiting, .resume: .waiting, .suspend: .suspended, .cancel: .cancelled, .miss: .failed,
            ],
        ]
        for state in State.allCases {
            for trigger in TransferTrigger.allCases {
                #expect(state.after(trigger) == table[state]?[trigger], "\(state), \(trigger)")
            }
        }
    }

    @Test("a time window is open from its start to its end on its days, also across midnight")
    func windows() {
        let day = DurableSession.Window(start: 60, end: 120, weekdays: [1])
        #expect(day.contains(minute: 60, weekday: 1) && day.contains(minute: 119, weekday: 1))
        #expect(!day.contains(minute: 59, weekday: 1) && !day.contains(minute: 120, weekday: 1))
        #expect(!day.contains(minute: 60, weekday: 2))
        let night = DurableSession.Window(start: 1380, end: 60, weekdays: [6])
        #expect(night.contains(minute: 1380, weekday: 6) && night.contains(minute: 59, weekday: 0))
        #expect(!night.contains(minute: 59, weekday: 6) && !night.contains(minute: 60, weekday: 0))
        #expect(DurableSession.Window.isOpen([], at: 0))
    }
}
#endif
