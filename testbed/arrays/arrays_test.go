package arrays

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

var (
	seed  = flag.Uint64("arrays.seed", 0, "the seed of the first array")
	count = flag.Int("arrays.count", 0, "try so many arrays")
	where = flag.String("arrays.site", "alpha", "with -arrays.count: at this site")
)

// atOnce is how many arrays are tried at a time at one site: it has room for all tasks of theirs that wait for a gate. They wait nearly all of their
// time, so that tests run beside each other whatever the number of CPUs is.
const atOnce = 8

// TestRandomArrays does the same to arrays that sbatch has submitted and to arrays that ours has.
func TestRandomArrays(t *testing.T) {
	world.Need(t)
	t.Parallel()
	tries, first := map[string]int{"alpha": 6}, uint64(1)
	if os.Getenv("FSUB_FULL") != "" {
		tries, first = map[string]int{"alpha": 200, "gamma": 40, "delta": 40}, uint64(time.Now().Unix())
	}
	if *count > 0 {
		tries = map[string]int{*where: *count}
	}
	if *seed != 0 {
		first = *seed
	}
	for site, n := range tries {
		turn := make(chan bool, atOnce)
		for i := range n {
			s := first + uint64(i)
			t.Run(fmt.Sprintf("%s/%d", site, s), func(t *testing.T) {
				t.Parallel()
				turn <- true
				defer func() { <-turn }()
				pr := newPair(t, site, newPlan(s).at(site))
				defer pr.explain()
				if pr.carryOut(); !t.Failed() {
					pr.compare()
				}
			})
		}
	}
}
