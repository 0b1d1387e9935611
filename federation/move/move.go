// Package move says whether the planner moves a running job that has said --keep: what a move saves and costs, in dollars, and the bounds that keep jobs from
// being moved often. [Rule] is what an operator has set, [Run] what a job that runs stands to lose, [Bounds] how many moves an hour has seen.
// It is pure; federation/controller finds the jobs and moves them.
package move

import (
	"fmt"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation/decision"
)

// Act is what is done about a kind of moves.
type Act string

const (
	Off Act = "off" // they are not looked for
	Dry Act = "dry" // they are logged and counted, and nobody is moved
	On  Act = "on"
)

// Kinds of moves, as [decision.Moved] and the metrics name them.
const (
	Window = "window" // a maintenance or the end of a drain is near, which the run would not survive
	Price  = "price"  // the rest of the run is cheaper elsewhere, or less likely to be taken back
	Gang   = "gang"   // a gang that waits can start on its nodes
)

// Rule is when running jobs are moved.
type Rule struct {
	Windows, Prices, Gangs Act

	// Margin is how much a move saves at least, after its costs, where it is not a window that ends the run.
	Margin decision.Dollars
	// Times is how many times its costs a move saves at least.
	Times float64
	// Between is how long a job that was moved is left alone; PerJob how often a job is moved at most; PerHour how many moves begin within an hour at most.
	Between time.Duration
	PerJob  int
	PerHour int
	// Ahead is how long before a window jobs leave, beside the time that they need for a checkpoint and its copy.
	Ahead time.Duration
	// Drain is how long after a site was set to DRAIN its runs count as ended by that; 0: they are never.
	Drain time.Duration
}

// Default is the rule of a federation that sets none.
func Default() Rule {
	return Rule{Windows: On, Prices: Off, Gangs: Off, Margin: 1, Times: 1.5, Between: 2 * time.Hour, PerJob: 3, PerHour: 60, Ahead: 10 * time.Minute, Drain: 2 * time.Hour}
}

// Act is what is done about moves of a kind.
func (r *Rule) Act(kind string) Act {
	switch kind {
	case Window:
		return r.Windows
	case Price:
		return r.Prices
	case Gang:
		return r.Gangs
	}
	return Off
}

// Off reports whether no moves are looked for.
func (r *Rule) Off() bool { return !r.Looks(Window) && !r.Looks(Price) && !r.Looks(Gang) }

// Looks reports whether moves of a kind are looked for.
func (r *Rule) Looks(kind string) bool { a := r.Act(kind); return a == Dry || a == On }

// Worth reports whether a move saves enough.
func (r *Rule) Worth(kind string, saves, costs decision.Dollars) bool {
	margin := r.Margin
	if kind == Window {
		margin = 0
	}
	net := saves - costs
	return net > 0 && net >= margin && float64(saves) >= r.Times*float64(costs)
}

// May reports whether a job may be moved that was moved before as past says; nil: it was not.
func (r *Rule) May(past *decision.Moved, now time.Time) bool {
	return past == nil || past.Count < r.PerJob && now.Sub(past.At) >= r.Between
}

// Allows reports whether a move is made: its sum is good, its job was not moved lately or too often, and the hour has moves left.
func (r *Rule) Allows(m, past *decision.Moved, b *Bounds, now time.Time) bool {
	return r.May(past, now) && r.Worth(m.Kind, decision.Sum(m.Saves), decision.Sum(m.Costs)) && b.Left(r, now) > 0
}

// Lead is how long before a window a job leaves that is to write a checkpoint and have it copied, where so many others leave before it.
func (r *Rule) Lead(run *Run, before int) time.Duration {
	turn := time.Duration(0)
	if r.PerHour > 0 {
		turn = time.Duration(before) * time.Hour / time.Duration(r.PerHour)
	}
	if run.Grace == 0 { // it leaves when it has just written one
		turn += run.Checkpoint
	}
	return r.Ahead + run.Grace + run.Save + turn
}

// Bounds count the moves of the last hour. The zero value has seen none.
type Bounds struct{ at []time.Time }

// Left is how many more may begin.
func (b *Bounds) Left(r *Rule, now time.Time) int {
	n := 0
	for _, at := range b.at {
		if now.Sub(at) < time.Hour {
			n++
		}
	}
	return max(r.PerHour-n, 0)
}

// Note counts a move.
func (b *Bounds) Note(at time.Time) {
	keep := b.at[:0]
	for _, t := range b.at {
		if at.Sub(t) < time.Hour {
			keep = append(keep, t)
		}
	}
	b.at = append(keep, at)
}

// notice is how long it takes until a run that its site has ended is queued again.
const notice = 2 * time.Minute

// killWait is how long a site leaves a run after TERM, by default.
const killWait = 30 * time.Second

// unsaid is how often a job writes a checkpoint that has copies and does not say how often it makes one.
const unsaid = 30 * time.Minute

// Run is a job that runs, and what it would lose.
type Run struct {
	Ran        time.Duration
	Checkpoint time.Duration // how often it says that it writes one; 0: it does not say
	Copied     time.Duration // the age of its newest copy; negative: none is known
	Grace      time.Duration // before its end its --signal asks for a checkpoint; 0: it has none
	Save       time.Duration // that the copy takes
	SaveCost   decision.Dollars
	Hour       decision.Dollars // that an hour of the run costs
	WaitHour   decision.Dollars // that it is worth to end an hour sooner
}

// Lost is the work that is to be done again if it is moved now: nothing if it writes a checkpoint first. A copy that takes longer than there is time for breaks off, and the one before counts.
func (r *Run) Lost() time.Duration {
	ran, lost := max(r.Ran, 0), max(r.Ran, 0)
	switch {
	case r.Grace > 0:
		lost = 0
	case r.Checkpoint > 0:
		lost = ran % r.Checkpoint
	case r.Copied >= 0:
		lost = r.Copied
	}
	if r.Save > r.Grace+killWait && r.Copied >= 0 {
		lost = max(lost, r.Copied)
	}
	return min(lost, ran)
}

// LostBy is the work that it is expected to lose if its site ends it after some time, at no time of its own choice.
func (r *Run) LostBy(ahead time.Duration) time.Duration {
	all := max(r.Ran, 0) + ahead
	switch {
	case r.Checkpoint > 0:
		return min(all, r.Checkpoint/2)
	case r.Copied >= 0:
		return min(all, unsaid/2)
	}
	return all
}

// Elsewhere is a place where a run could go on.
type Elsewhere struct {
	Site    string
	Wait    time.Duration // until it would begin there
	Rest    decision.Dollars
	Hour    decision.Dollars // that an hour of the run costs there
	Restore decision.Dollars // to bring there what it keeps, with the time that takes
}

// Costs are what it costs to go on elsewhere, beside the price of what it has yet to run.
func (r *Run) Costs(to *Elsewhere) (terms []decision.Term) {
	add := func(name string, d decision.Dollars, detail string) {
		if d > 0 {
			terms = append(terms, decision.Term{Name: name, Amount: d, Detail: detail})
		}
	}
	if lost := r.Lost(); lost > 0 {
		add("lost", cost(lost, to.Hour+r.WaitHour), text(lost)+" of its work since the last checkpoint")
	}
	if r.Grace > 0 {
		add("checkpoint", cost(r.Grace, r.Hour+r.WaitHour), text(r.Grace)+" to write one")
	}
	add("save", r.SaveCost+cost(r.Save, r.Hour+r.WaitHour), "")
	add("restore", to.Restore, "")
	add("wait", cost(to.Wait, r.WaitHour), text(to.Wait)+" at "+to.Site)
	return terms
}

// Ended is what the end of a run by a window costs that it has so long to go until then, with the probability that it lasts until then: what is lost, and that it begins again elsewhere.
// Lasts is how long the window lasts; 0: nothing says.
func (r *Run) Ended(ahead, lasts time.Duration, outlives float64, to *Elsewhere) []decision.Term {
	lost := r.LostBy(ahead)
	again := to.Restore + cost(to.Wait, r.WaitHour)
	if lasts > 0 {
		again = min(again, cost(lasts, r.WaitHour)) // it goes on there when that is over
	}
	p := decision.Dollars(outlives)
	terms := []decision.Term{{Name: "lost", Amount: p * cost(lost, to.Hour+r.WaitHour), Detail: text(lost) + " of its work, if it were ended there"}}
	if a := p * (again + cost(notice, r.WaitHour)); a > 0 {
		terms = append(terms, decision.Term{Name: "again", Amount: a, Detail: "to begin again then"})
	}
	return terms
}

// Outlives is the probability that a run lasts for longer than ahead whose rest is expected to be as e says; nil: nothing is known.
func Outlives(e *decision.Expected, ahead time.Duration) float64 {
	switch {
	case ahead <= 0:
		return 1
	case e == nil:
		return .5
	case ahead <= e.P50:
		return 1 - .5*ahead.Hours()/e.P50.Hours()
	case ahead < e.P90:
		return .5 - .4*(ahead-e.P50).Hours()/(e.P90-e.P50).Hours()
	}
	return 0
}

// Rest is what is left of a run that is expected to take e in all and has run for a while.
func Rest(e *decision.Expected, ran time.Duration) *decision.Expected {
	if e == nil {
		return nil
	}
	left := *e
	left.P50 = max(e.P50-ran, time.Minute)
	left.P90 = max(e.P90-ran, left.P50)
	return &left
}

func cost(d time.Duration, hour decision.Dollars) decision.Dollars {
	return decision.Dollars(d.Hours()) * hour
}

func text(d time.Duration) string {
	if d >= time.Minute {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

// Cheaper is by how much the rest of a run is cheaper there than here, in a term; Dearer by how much it is more expensive. One of them is nothing.
func Cheaper(here, there decision.Dollars) []decision.Term { return price(here-there, here, there) }

// Dearer is explained at [Cheaper].
func Dearer(here, there decision.Dollars) []decision.Term { return price(there-here, here, there) }

func price(by, here, there decision.Dollars) []decision.Term {
	if by <= 0 {
		return nil
	}
	usd := func(d decision.Dollars) string { return accounting.MoneyOf(float64(d)).USD() }
	return []decision.Term{{Name: "price", Amount: by, Detail: fmt.Sprintf("%s for the rest of its run in place of %s", usd(there), usd(here))}}
}
