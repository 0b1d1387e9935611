package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// pids are the processes of services of a site.
func (r *bench) pids(site string, services ...string) ([]int, error) {
	var pids []int
	for _, s := range services {
		pid, err := r.b.ServicePID(site, s)
		if err != nil {
			return nil, err
		}
		if pid == 0 {
			return nil, fmt.Errorf("%s of %s does not run", s, site)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// cpuTime is how much of the processors the processes have used so far, in the kernel too.
func cpuTime(pids ...int) time.Duration {
	const tick = time.Second / 100 // USER_HZ is 100 on every Linux
	var sum time.Duration
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name may hold blanks
		fields := strings.Fields(rest)
		for _, i := range []int{11, 12} { // utime, stime
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
