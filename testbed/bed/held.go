package bed

import (
	"context"
	"fmt"
)

// heldArray is how many tasks one array of Hold has: less than MaxArraySize, whose default is 1001, and a short list for one command line.
const heldArray = 1000

// holdScript submits an array of held tasks, which is one record, and makes it as many records as tasks: a change to a task by itself splits it
// off. One sbatch and one scontrol for a thousand jobs is the cheapest way to have them: 100,000 took 228 s on two cores with a load of 40. A task that
// slurmdbd is being told of cannot be changed in that moment (22.05).
const holdScript = `set -e
split() {
	for try in {1..600}; do
		if said=$(scontrol update JobId=$1 Nice=1 2>&1); then return; fi
		case $said in *"try again in a bit"*) sleep 0.2 ;; *) break ;; esac
	done
	echo "$said" >&2
	return 1
}
left=$1
while [ $left -gt 0 ]; do
	n=$((left < $2 ? left : $2))
	id=$(sbatch --parsable --hold --array=0-$((n - 1)) --time=10 --output=/dev/null --wrap true)
	[ $2 = 1 ] || split $(seq -s, -f "${id}_%.0f" 0 $((n - 1)))
	left=$((left - n))
done`

// Hold gives a site n more held jobs of a user, each with a record of its own, as a queue to measure commands against. A site takes 200,000 jobs.
// `scancel -u USER` removes them. At 26.05, where a change to a task splits nothing off, each is submitted by itself, which takes ten times as long.
func (b *Bed) Hold(ctx context.Context, site, user string, n int) error {
	s, err := b.site(site)
	if err != nil {
		return err
	}
	step := heldArray
	if s.Suite == "forky" {
		step = 1
	}
	if _, err := b.Output(ctx, site, user, "bash", "-c", holdScript, "hold", fmt.Sprint(n), fmt.Sprint(step)); err != nil {
		return fmt.Errorf("hold %d jobs at %s: %w", n, site, err)
	}
	return nil
}
