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

// work makes so many requests in all, by callers that each begin the next when its last has ended.
func work(assignment assignment, requests int, client *client) tally {
	left := int64(requests)
	tallies := make([]tally, assignment.concurrency)
	var callers sync.WaitGroup
	for index := range tallies {
		callers.Add(1)
		go func(own *tally) {
			defer callers.Done()
			for atomic.AddInt64(&left, -1) >= 0 {
				bytes, err := client.exchange()
				own.requests++
				own.bytes += bytes
				if err != nil {
					own.add(tally{errors: 1, firstError: err})
				}
			}
		}(&tallies[index])
	}
	callers.Wait()
	var sum tally
	for _, one := range tallies {
		sum.add(one)
	}
	return sum
}
