// Go's net/http and encoding/json, and the WebSockets of gorilla, under the same assignments as the other clients.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// What it ends with that has printed its figures, errors among them.
const someRequestsFailed = 3

func main() {
	assignment, err := readAssignment(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		fmt.Fprint(os.Stderr, usageText)
		os.Exit(2)
	}
	exchange, err := newExchange(assignment)
	if err != nil {
		complain(err)
		os.Exit(1)
	}
	if warmUp := work(assignment, assignment.warmUp, exchange); warmUp.firstError != nil {
		complain(fmt.Errorf("while warming up: %w", warmUp.firstError))
	}
	start := usageNow()
	tally := work(assignment, assignment.requests, exchange)
	end := usageNow()
	if tally.firstError != nil {
		complain(tally.firstError)
	}
	report(assignment, tally, start, end)
	if tally.errors > 0 {
		os.Exit(someRequestsFailed)
	}
}

func report(assignment assignment, tally tally, start, end usage) {
	line, err := json.Marshal(struct {
		Client       string  `json:"client"`
		Workload     string  `json:"workload"`
		Requests     int     `json:"requests"`
		Errors       int     `json:"errors"`
		WallSeconds  float64 `json:"wall_seconds"`
		CPUSeconds   float64 `json:"cpu_seconds"`
		PeakRSSBytes int64   `json:"peak_rss_bytes"`
		Bytes        int64   `json:"bytes"`
	}{
		"go", assignment.workload, tally.requests, tally.errors, end.wallSeconds - start.wallSeconds,
		end.processorSeconds - start.processorSeconds, peakResidentBytes(), tally.bytes,
	})
	if err != nil {
		complain(err)
		os.Exit(1)
	}
	fmt.Println(string(line))
}

func complain(err error) {
	fmt.Fprintf(os.Stderr, "go: %v\n", err)
}
