package main

import (
	"errors"
	"strconv"
)

const usageText = `usage: bench-go WORKLOAD URL REQUESTS CONCURRENCY [--connections N] [--warm-up N] [--anchors PEM]
workloads: get, json, websocket-echo, websocket-idle
`

var errUsage = errors.New("this command line cannot be used")

// assignment is what one run is asked to do, as read from its arguments.
type assignment struct {
	workload    string
	url         string
	requests    int
	concurrency int
	// How many connections to the host there may be.
	connections int
	// How many requests are made before measuring.
	warmUp int
	// A PEM file of the certificates to trust, or none.
	anchorsPath string
}

func readAssignment(arguments []string) (assignment, error) {
	if len(arguments) < 4 || len(arguments)%2 != 0 {
		return assignment{}, errUsage
	}
	read := assignment{workload: arguments[0], url: arguments[1]}
	switch read.workload {
	case "get", "json", "websocket-echo", "websocket-idle":
	default:
		return assignment{}, errUsage
	}
	var err error
	if read.requests, err = number(arguments[2]); err != nil {
		return assignment{}, err
	}
	if read.concurrency, err = number(arguments[3]); err != nil {
		return assignment{}, err
	}
	read.connections = read.concurrency
	read.warmUp = read.concurrency * 2
	for index := 4; index < len(arguments); index += 2 {
		if err := read.readOption(arguments[index], arguments[index+1]); err != nil {
			return assignment{}, err
		}
	}
	return read, nil
}

func (read *assignment) readOption(name, value string) (err error) {
	switch name {
	case "--connections":
		read.connections, err = number(value)
	case "--warm-up":
		read.warmUp, err = number(value)
	case "--anchors":
		read.anchorsPath = value
	default:
		err = errUsage
	}
	return err
}

func number(text string) (int, error) {
	read, err := strconv.Atoi(text)
	if err != nil || read < 0 {
		return 0, errUsage
	}
	return read, nil
}
