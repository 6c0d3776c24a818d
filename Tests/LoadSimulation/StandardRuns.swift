/// The two runs of the article "Load and failure".
package struct StandardRuns {
    package let plan = Simulation.Plan()
    package let without: [Simulation.Second]
    package let with: [Simulation.Second]

    package init() {
        without = Simulation.run(Simulation.Plan())
        with = Simulation.run(Simulation.Plan(limits: Simulation.Limits()))
    }

    package var panels: [(title: String, seconds: [Simulation.Second])] {
        [
            ("Timeout and three attempts alone", without),
            ("With ConcurrencyLimiter and CircuitBreaker", with),
        ]
    }

    package var picture: String { Picture(panels, plan).svg }
}
