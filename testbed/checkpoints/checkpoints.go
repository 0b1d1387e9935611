// Package checkpoints has a job that keeps its checkpoints (#FSUB --keep), for tests that take its machines away: [Script] is the job, which notes what each of its runs finds, and a [Sum] judges
// these notes. Where it runs, and what is taken from it, is left to the tests.
package checkpoints

import (
	"fmt"
	"slices"
	"strings"
)

// Script counts to the number that is its second argument, a tenth of a second each, and writes two files that belong together each thirty ticks, or as many as the third says; it
// begins at what they say the next time. The directory that is its first argument is the one thing that the test lets all machines see: what it writes there is for the test alone.
const Script = `#!/bin/bash
#SBATCH -t 5 --requeue --open-mode=append -n1 -c1
#FSUB --keep=ck --checkpoint=00:00:03
see=$1/$SLURM_JOB_ID
exec 9> $see.lock
flock -n 9 || echo twice >> $see
mkdir -p ck
n=$(cat ck/a 2>/dev/null || echo 0)
[ "$n" = "$(cat ck/b 2>/dev/null || echo 0)" ] || echo torn >> $see
echo "begins at $n" >> $see
save() { echo $n > ck/a.new; mv ck/a.new ck/a; echo $n > ck/b.new; mv ck/b.new ck/b; echo "saved $n" >> $see; }
trap 'save; echo "told at $n" >> $see; exit 143' TERM
while [ $n -lt $2 ]; do
	sleep 0.1 9>&- & wait $!
	n=$((n + 1))
	echo $n > $see.at
	[ $((n % ${3:-30})) != 0 ] || { cp $see.at $see.was; save; }
done
echo "ends at $n" >> $see
`

// Sum adds up what jobs have seen: runs that went on from a checkpoint, and that began at 0 after another run; how often the last checkpoint of a run was not there
// for the next, because the machine went while it was copied, and how often more of them were not.
type Sum struct{ Resumed, Fresh, Last, More int }

// Add reads what one job has noted. A run begins at a checkpoint of those before, and never before the one at which the run before began.
func (k *Sum) Add(text string, ticks int) error {
	saved := []int{0} // since the run before began, which is the first
	runs, ended := 0, false
	for line := range strings.Lines(text) {
		var n int
		switch {
		case scan(line, "begins at %d\n", &n):
			at := slices.Index(saved, n)
			if at < 0 {
				return fmt.Errorf("run %d begins at %d, the checkpoints since the run before began are %d", runs, n, saved)
			}
			switch lost := len(slices.Compact(slices.Clone(saved[at:]))) - 1; {
			case lost == 1:
				k.Last++
			case lost > 1:
				k.More++
			}
			if n > 0 {
				k.Resumed++
			} else if runs > 0 {
				k.Fresh++
			}
			saved = []int{n}
			runs++
		case scan(line, "saved %d\n", &n):
			saved = append(saved, n)
		case scan(line, "told at %d\n", &n):
		case scan(line, "ends at %d\n", &n) && n == ticks: // and once more, if the machine went before it could say so
			ended = true
		default:
			return fmt.Errorf("%q", line)
		}
	}
	if !ended {
		return fmt.Errorf("it has not ended")
	}
	return nil
}

func (k Sum) String() string {
	return fmt.Sprintf("%d runs went on from a checkpoint, %d began again at 0; the last checkpoint of a run was lost %d times, more of them %d times", k.Resumed, k.Fresh, k.Last, k.More)
}

func scan(line, format string, args ...any) bool {
	n, err := fmt.Sscanf(line, format, args...)
	return err == nil && n == len(args)
}
