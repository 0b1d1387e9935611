package keeper

import (
	"strconv"
	"syscall"
)

var resources = map[string]int{"CPU": 0, "FSIZE": 1, "DATA": 2, "STACK": 3, "CORE": 4, "RSS": 5, "NPROC": 6, "NOFILE": 7, "MEMLOCK": 8, "AS": 9}

// setLimits sets soft limits. One that is above the hard limit of this machine is left as it is, as
// slurmstepd leaves it.
func setLimits(limits []Limit) {
	for _, l := range limits {
		number, known := resources[l.Name]
		var now syscall.Rlimit
		if !known || syscall.Getrlimit(number, &now) != nil {
			continue
		}
		if err := syscall.Setrlimit(number, &syscall.Rlimit{Cur: l.Value, Max: now.Max}); err != nil && l.Asked {
			say("slurmstepd: error: Can't propagate RLIMIT_" + l.Name + " of " + strconv.FormatUint(l.Value, 10) + " from submit host: " + sentence(err) + "\n")
		}
	}
}
