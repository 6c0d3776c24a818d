package main

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"time"
)

// usage is what the process has used up to a moment.
type usage struct {
	wallSeconds float64
	// Seconds of processor time, user and system, of all threads.
	processorSeconds float64
}

var began = time.Now()

func usageNow() usage {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return usage{time.Since(began).Seconds(), seconds(used.Utime) + seconds(used.Stime)}
}

func seconds(value syscall.Timeval) float64 {
	return float64(value.Sec) + float64(value.Usec)/1e6
}

// peakResidentBytes is the most memory that the process has had resident. ru_maxrss would not do: it survives exec.
func peakResidentBytes() int64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kibibytes int64
		if count, _ := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kibibytes); count == 1 {
			return kibibytes * 1024
		}
	}
	return 0
}
