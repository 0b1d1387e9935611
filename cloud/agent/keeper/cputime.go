package keeper

import (
	"strconv"
	"time"
)

// tick is the unit of times in /proc, which is a hundredth of a second on every Linux that programs see (USER_HZ).
const tick = 10 * time.Millisecond

// CPUTime is what a process and its descendants have used so far, those that were waited for among them.
func CPUTime(root int) (sum time.Duration) {
	for _, pid := range append(descendants(root), root) {
		f := stat(pid)
		for i := 11; i < 15 && i < len(f); i++ { // utime, stime, and those of children that were waited for
			n, _ := strconv.ParseInt(string(f[i]), 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
