import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("The state machine of a task")
struct TaskLifecycleTests {
    @Test("the picture in the article on transfers names every state", arguments: ["task-states", "task-states~dark"])
    func picture(_ name: String) throws {
        let picture = try Repository.text(of: "DocC/Curlew.docc/Resources/\(name).svg")
        for state in [TaskActor.State.suspended, .running, .completed, .failed, .cancelled] {
            #expect(picture.contains(">\(state.rawValue)</text>"), "\(state)")
        }
        #expect(try Repository.text(of: "DocC/Curlew.docc/Transfers.md").contains("](task-states)"))
    }

    typealias Event = TaskLifecycle.Event
    typealias Action = TaskLifecycle.Action

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [(Event, Action)]
        let state: TaskActor.State

        init(_ name: String, _ steps: [(Event, Action)], _ state: TaskActor.State) {
            testDescription = name
            self.steps = steps
            self.state = state
        }
    }

    static let stories = [
        Story(
            "an exchange that runs through",
            [
                (.suspend, .nothing), (.resume, .enterQueue), (.resume, .nothing), (.turn, .begin), (.turn, .nothing),
                (.end(.completed), .announceEnd(heldPlace: true)),
            ], .completed),
        Story(
            "one that is suspended and resumed under way",
            [
                (.resume, .enterQueue), (.turn, .begin), (.suspend, .pause), (.suspend, .nothing), (.resume, .unpause),
                (.end(.failed), .announceEnd(heldPlace: true)),
            ], .failed),
        Story(
            "one that is suspended while it waits for its turn, and resumed before that",
            [
                (.resume, .enterQueue), (.suspend, .noteSuspension), (.resume, .noteResumption), (.turn, .begin),
                (.end(.completed), .announceEnd(heldPlace: true)),
            ], .completed),
        Story(
            "one that is suspended when its turn comes",
            [
                (.resume, .enterQueue), (.suspend, .noteSuspension), (.turn, .prepare), (.suspend, .nothing),
                (.resume, .beginPrepared), (.suspend, .pause), (.resume, .unpause),
                (.end(.completed), .announceEnd(heldPlace: true)),
            ], .completed),
        Story(
            "one that is cancelled before it was started",
            [(.abort(.cancelled), .announceEnd(heldPlace: false)), (.resume, .nothing), (.turn, .nothing)], .cancelled),
        Story(
            "one that is cancelled while it waits for its turn",
            [
                (.resume, .enterQueue), (.abort(.cancelled), .announceEnd(heldPlace: false)), (.turn, .nothing),
                (.end(.completed), .nothing),
            ], .cancelled),
        Story(
            "one whose time is over while it waits for its turn",
            [(.resume, .enterQueue), (.abort(.failed), .announceEnd(heldPlace: false))], .failed),
        Story(
            "one that is cancelled while the user holds it",
            [
                (.resume, .enterQueue), (.suspend, .noteSuspension), (.turn, .prepare),
                (.abort(.cancelled), .abortExchange), (.resume, .nothing),
                (.end(.cancelled), .announceEnd(heldPlace: true)),
            ], .cancelled),
        Story(
            "one that is cancelled under way, several times",
            [
                (.resume, .enterQueue), (.turn, .begin), (.abort(.cancelled), .abortExchange),
                (.abort(.failed), .nothing), (.resume, .nothing), (.suspend, .nothing),
                (.end(.cancelled), .announceEnd(heldPlace: true)), (.end(.completed), .nothing),
                (.abort(.failed), .nothing),
            ], .cancelled),
        Story(
            "an exchange that ends by itself while it is aborted",
            [
                (.resume, .enterQueue), (.turn, .begin), (.abort(.cancelled), .abortExchange),
                (.end(.completed), .announceEnd(heldPlace: true)),
            ], .completed),
        Story(
            "started for a call that is suspended, it begins when the call goes on",
            [
                (.startSuspended, .enterQueue), (.turn, .prepare), (.startSuspended, .nothing),
                (.resume, .beginPrepared), (.startSuspended, .pause),
            ], .suspended),
        Story(
            "an end that is none",
            [(.resume, .enterQueue), (.turn, .begin), (.end(.running), .announceEnd(heldPlace: true))], .failed),
    ]

    @Test("each event has its action", arguments: stories)
    func story(_ story: Story) {
        var life = TaskLifecycle()
        for (event, action) in story.steps { #expect(life.handle(event) == action, "\(event)") }
        #expect(life.state == story.state)
        #expect(life.hasStarted == story.steps.contains { $0.1 == .enterQueue })
    }

    @Test("the end is announced once, in any order of a thousand events")
    func endsOnce() {
        let events: [Event] = [
            .resume, .startSuspended, .suspend, .turn, .abort(.cancelled), .abort(.failed), .end(.completed),
            .end(.failed),
        ]
        for _ in 0..<200 {
            var life = TaskLifecycle()
            var ends = 0
            for _ in 0..<1000 {
                guard case .announceEnd = life.handle(events.randomElement() ?? .resume) else { continue }
                ends += 1
            }
            #expect(ends == 1)
            #expect(life.state.isEnd)
        }
    }

    @Test("a response is delivered only to its waiting callers")
    func awaited() {
        var life = TaskLifecycle()
        #expect(life.claim() == .wait)
        #expect(life.claim() == .wait)
        #expect(life.headArrives(isAwaited: true) == true)
        #expect(life.claim() == .refuse)
        #expect(life.headArrives(isAwaited: true) == false)
    }

    @Test("a response without a waiting caller is delivered to the first later one, also after the end")
    func unclaimed() {
        var life = TaskLifecycle()
        _ = life.handle(.resume)
        _ = life.handle(.turn)
        #expect(life.headArrives(isAwaited: false) == false)
        #expect(life.hasHead)
        _ = life.handle(.end(.completed))
        #expect(life.claim() == .deliver)
        #expect(life.claim() == .refuse)
    }

    @Test("a caller that awaits a failed task gets the error, unless a response is stored for it")
    func failed() {
        var life = TaskLifecycle()
        _ = life.handle(.abort(.cancelled))
        #expect(life.claim() == .fail)
        var late = TaskLifecycle()
        _ = late.handle(.resume)
        _ = late.handle(.turn)
        _ = late.headArrives(isAwaited: false)
        _ = late.handle(.end(.failed))
        #expect(late.claim() == .deliver)
        #expect(late.claim() == .fail)
    }
}
