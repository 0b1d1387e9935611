// Package ledger is the arithmetic of the books: what a run came to, in which days, what became of it, and what the books say of a run once
// they have heard of it from several sides, in whatever order. It is pure; package store keeps entries and sums, federation/ledger collects them.
//
// [Entry] is one run, [Merge] joins what two sources say of it, [Entry.Days] spreads it over the days in which it ran, and [Sums] is what reports add up.
package ledger

import (
	"math/bits"
	"slices"
	"strings"

	"fsub/accounting"
)

// Kind says what an entry's ID counts.
type Kind uint8

const (
	SiteJob Kind = iota // a job that was submitted at the site itself: Job is its number there, At when it was submitted
	OwnJob              // a job of the federation: Job is its federated ID, At when the run started
	Machine             // a rented machine's time without a job: Job is a hash of its name, Task the [Fate], At when it was asked for
	Billed              // a line of a provider's bill: Job is a hash of what it bills, At the beginning of the billing period
	Moved               // what the results of a run of the federation cost that left a cloud: Job and Task are the run's, At when they were there
)

// ID names an entry: no two runs have the same. A requeue is another run. A number that a site gives again belongs to another run too, for it was
// submitted at another time. Times are Unix seconds by the site's clock.
type ID struct {
	Site string
	Kind Kind
	Job  int64
	Task int64 // index in the array; only of OwnJob
	At   int64
}

// Source is a set of sides that told of an entry.
type Source uint8

const (
	FromRun  Source = 1 << iota // the charge that the federation wrote when the run ended
	FromSite                    // the site's accounting
	FromBill                    // a provider's bill
	Priced                      // with FromRun: the charge has a price
	Redone                      // with FromRun: by the charge, the work is to be done again
)

// Group is whom and what an entry is about: what reports group by.
type Group struct {
	Site, Account, User, QOS, Partition string
	GPU                                 string // type: "h100"; "a100+h100" where a run held both; "gpu" where the site tells no type; "" without GPUs
	Name                                string // of the job, as [FoldName] writes it
	JobGroup                            string // the outermost of the job's groups; "": it is in none, or was submitted at its site
}

// Entry is one run in the books: what it held, when, and what it came to.
type Entry struct {
	ID
	Group  Group
	Source Source
	// ReadAt is when the site was asked that told it, in Unix milliseconds by our clock: of two answers the later counts.
	ReadAt int64
	Number int64 // of the job at its site; 0: not known
	TRES   string
	State  string

	Submit, Start, End int64 // Unix seconds
	Wait               int64 // seconds between when it could have started and when it did
	Suspended          int64 // seconds of the time between Start and End
	Limit              int64 // seconds that it was allowed to run for; 0: none, or not known
	CPUUsed            int64 // CPU seconds of all its steps; -1: not measured
	GPUUsed            int64 // mean use of its GPUs in thousandths; -1: not measured

	// PerHour is the price of all that it held. Rented: machines were rented for it, and time for which it was suspended is billed too.
	PerHour accounting.Money
	Rented  bool
	Amount  accounting.Money
	// DearestPerHour, ListPerHour and FirstPerHour are what an hour of the run would have come to in the dearest pool that could run it, at the list
	// price of the pool that ran it, and in the first pool that could run it; 0: not known, then PerHour stands for it. Where a pool is slower, its
	// longer run is in the price.
	DearestPerHour, ListPerHour, FirstPerHour accounting.Money
	Fate                                      Fate
}

// Elapsed is how long the run took in seconds, suspended or not.
func (e *Entry) Elapsed() int64 { return max(e.End-e.Start, 0) }

// Fate is what became of what a run held.
type Fate uint8

const (
	Productive   Fate = iota // the run completed
	Stopped                  // ended from outside: by its time limit, its user or an operator. What it had saved counts; nobody tells how much that is
	Failed                   // ended by the job's own failure
	Lost                     // ended by a failure of a node or a preemption, or queued again: the work is to be done again, from the last checkpoint on
	Idle                     // GPUs that were held and not used, where that was measured
	GangWait                 // rented machines that waited for the others of their gang
	Provisioning             // rented machines that were starting
	Drained                  // rented machines that were drained and had no job
	Leaked                   // rented machines that nobody had asked for any more
	Unused                   // rented machines that were ready and had no job, or less than fits them
	Settled                  // what a provider's bill says beyond what was estimated, and what it bills for other services
	Running                  // runs that go on, as of now: in no book
)

// Fates are all of them by name, in the order in which reports list them.
var Fates = []string{"productive", "stopped", "failed", "lost", "idle", "gang_wait", "provisioning", "drained", "leaked", "unused", "billed", "running"}

func (f Fate) String() string { return Fates[f] }

// idleBelow is the mean use of GPUs, in thousandths, below which they count as not used at all.
const idleBelow = 10

// FateOf is what became of a run that ended in a state, by Slurm's name of it, with its GPUs used so much.
func FateOf(state string, gpus, gpuUsed int64) Fate {
	switch state {
	case "NODE_FAIL", "PREEMPTED", "REQUEUED", "REQUEUE_FED", "REVOKED", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL", "SPECIAL_EXIT":
		return Lost
	}
	if gpus > 0 && gpuUsed >= 0 && gpuUsed < idleBelow {
		return Idle
	}
	switch state {
	case "CANCELLED", "TIMEOUT", "DEADLINE":
		return Stopped
	case "FAILED", "OUT_OF_MEMORY":
		return Failed
	}
	return Productive
}

// FoldName is a job's name with every run of digits as "#": names that count, as "sweep-0017" does, make one line of a report. Long names are cut.
func FoldName(name string) string {
	if strings.ContainsAny(name, "0123456789") {
		var b strings.Builder
		digits := false
		for _, r := range name {
			if is := r >= '0' && r <= '9'; is && digits {
				continue
			} else if digits = is; is {
				r = '#'
			}
			b.WriteRune(r)
		}
		name = b.String()
	}
	const longest = 64
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "")
	}
	return name
}

// GPUType is what [Group.GPU] is for TRES.
func GPUType(t accounting.TRES) string {
	var types []string
	for name, n := range t {
		if typ, ok := strings.CutPrefix(name, "gres/gpu:"); ok && n > 0 {
			types = append(types, typ)
		}
	}
	if len(types) == 0 && t["gres/gpu"] > 0 {
		return "gpu"
	}
	slices.Sort(types)
	return strings.Join(types, "+")
}

// GPUs is how many GPUs there are in t. Those with a type are counted under the plain name too, as Slurm does; where a site does not, by their types.
func GPUs(t accounting.TRES) int64 {
	typed := int64(0)
	for name, n := range t {
		if strings.HasPrefix(name, "gres/gpu:") {
			typed += n
		}
	}
	return max(typed, t["gres/gpu"])
}

// share is n x part/whole, rounded down, for n of either sign and 0 <= part <= whole.
func share(n, part, whole int64) int64 {
	if n < 0 {
		return -share(-n, part, whole)
	}
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}
