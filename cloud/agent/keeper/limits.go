package keeper

import (
	"strconv"
	"syscall"
)

var resources = map[string]int{"CPU": 0, "FSIZE": 1, "DATA": 2, "STACK": 3, "CORE": 4, "RSS": 5, "NPROC": 6, "NOFILE": 7, "MEMLOCK": 8, "AS": 9}

// setLimits sets soft limits up to the hard ones of this machine.
func setLimits(limits []Limit) {
	for _, l := range limits {
		number, known := resources[l.Name]
		var now syscall.Rlimit
		if !known || syscall.Getrlimit(number, &now) != nil {
			continue
		}
		want := syscall.Rlimit{Cur: min(l.Value, now.Max), Max: now.Max}
		if err := syscall.Setrlimit(number, &want); (err != nil || l.Value > now.Max) && l.Asked {
			reason := "Operation not permitted"
			if err != nil {
				reason = sentence(err)
			}
			say("slurmstepd: error: Can't propagate RLIMIT_" + l.Name + " of " + strconv.FormatUint(l.Value, 10) + " from submit host: " + reason + "\n")
		}
	}
}
