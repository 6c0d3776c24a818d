/// The two runs of the article "Load and failure".
struct StandardRuns {
    let plan = Simulation.Plan()
    let without: [Simulation.Second]
    let with: [Simulation.Second]

    init() {
        without = Simulation.run(Simulation.Plan())
        with = Simulation.run(Simulation.Plan(limits: Simulation.Limits()))
    }

    var panels: [(title: String, seconds: [Simulation.Second])] {
        [
            ("Timeout and three attempts alone", without),
            ("With ConcurrencyLimiter and CircuitBreaker", with),
        ]
    }

    var picture: String { Picture(panels, plan).svg }
}
