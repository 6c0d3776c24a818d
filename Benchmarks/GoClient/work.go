package main

import (
	"sync"
	"sync/atomic"
)

// tally is what came of some requests.
type tally struct {
	requests   int
	errors     int
	bytes      int64
	firstError error
}

func (sum *tally) add(other tally) {
	sum.requests += other.requests
	sum.errors += other.errors
	sum.bytes += other.bytes
	if sum.firstError == nil {
		sum.firstError = other.firstError
	}
}

// exchange makes one request for the caller of a number, and returns how many bytes came.
type exchange func(caller int) (int64, error)

// work makes so many requests in all, by callers that each begin the next when its last has ended.
func work(assignment assignment, requests int, exchange exchange) tally {
	left := int64(requests)
	tallies := make([]tally, assignment.concurrency)
	var callers sync.WaitGroup
	for index := range tallies {
		callers.Add(1)
		go func(caller int, own *tally) {
			defer callers.Done()
			for atomic.AddInt64(&left, -1) >= 0 {
				bytes, err := exchange(caller)
				own.requests++
				own.bytes += bytes
				if err != nil {
					own.add(tally{errors: 1, firstError: err})
				}
			}
		}(index, &tallies[index])
	}
	callers.Wait()
	var sum tally
	for _, one := range tallies {
		sum.add(one)
	}
	return sum
}

// newExchange makes ready what the requests of a workload need.
func newExchange(assignment assignment) (exchange, error) {
	switch assignment.workload {
	case "websocket-echo":
		sockets := newWebSockets(assignment)
		if err := sockets.openAll(assignment.concurrency); err != nil {
			return nil, err
		}
		return func(caller int) (int64, error) { return sockets.echo(sockets.all[caller]) }, nil
	case "websocket-idle":
		sockets := newWebSockets(assignment)
		return func(int) (int64, error) { return sockets.openIdle() }, nil
	default:
		client, err := newClient(assignment)
		if err != nil {
			return nil, err
		}
		return func(int) (int64, error) { return client.exchange() }, nil
	}
}
