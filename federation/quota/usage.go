package quota

import (
	"math"
	"time"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
)

type used struct {
	seconds accounting.TRES
	cost    federation.Money
}

// of is what is used of a budget.
func (u *used) of(b *accounts.Bound) int64 { return spent(b, u.seconds, u.cost) }

// add adds what else was used.
func (u *used) add(o *used) {
	u.cost += o.cost
	for name, n := range o.seconds {
		u.seconds[name] += n
	}
}

// addSum adds runs that have ended at about the same time, and lasted for about as long each.
func (b *Book) addSum(k *federation.ChargeSum, now time.Time, days bool, counts func(decays bool) bool) {
	end := k.End
	if end.After(now) { // the middle of a time that has just begun
		end = now
	}
	t := b.books.Tree()
	keys, tres := keysOf(t, k.User, k.Account, k.QOS), heldTRES(k.TRES)
	if days {
		b.spend(keys, tres, k.Elapsed, k.Amount, k.End)
	}
	b.use(t, keys, tres, k.Elapsed, k.Runs, end, counts)
}

// Charge adds a run that has ended. One whose end was not seen counts for nothing. Nothing has run any more of a job that is queued again.
func (b *Book) Charge(k *federation.Charge) {
	if h, ok := b.holds[k.Job]; ok && h.lasted != (Lasted{}) {
		b.count(b.books.Tree(), &h, -1)
		h.lasted = Lasted{}
		b.holds[k.Job] = h
	}
	if k.From != federation.PriceNone {
		b.Booked.note(b.books.Tree(), k)
		b.Add(k.User, k.Held, k.End.Sub(k.Start), k.Amount, k.End)
	}
}

// Add adds a run that has ended at some time. It counts for the day, month and year of its end.
func (b *Book) Add(user string, h federation.Held, d time.Duration, cost federation.Money, end time.Time) {
	b.charge(keysOf(b.books.Tree(), user, h.Account, h.QOS), heldTRES(h.TRES), d, cost, end)
}

func heldTRES(text string) accounting.TRES {
	tres, err := accounting.ParseTRES(text)
	if err != nil {
		return nil
	}
	return tres
}

func (b *Book) charge(keys []accounts.Key, tres accounting.TRES, d time.Duration, cost federation.Money, end time.Time) {
	b.spend(keys, tres, d, cost, end)
	b.use(b.books.Tree(), keys, tres, d, 1, end, func(bool) bool { return true })
}

func secondsOf(d time.Duration) int64 { return int64(math.Ceil(max(d, 0).Seconds())) }

// spend adds what runs have come to on the day of their end.
func (b *Book) spend(keys []accounts.Key, tres accounting.TRES, d time.Duration, cost federation.Money, end time.Time) {
	spendOn(b.days, keys, tres, d, cost, dayOf(end))
}

func spendOn(days map[accounts.Key]map[int64]*used, keys []accounts.Key, tres accounting.TRES, d time.Duration, cost federation.Money, day int64) {
	seconds := secondsOf(d)
	for _, k := range keys {
		u := dayIn(days, k, day)
		u.cost += cost
		for name, n := range tres {
			u.seconds[name] += n * seconds
		}
	}
}

// use adds what runs have used to those usages that counts picks.
func (b *Book) use(t *accounts.Tree, keys []accounts.Key, tres accounting.TRES, d time.Duration, runs int, end time.Time, counts func(decays bool) bool) {
	b.decay(end)
	all := float64(secondsOf(d)) * factorOf(t, keys)
	decayed := all * fairtree.DecayFactor(b.halfLife, b.at.Sub(end)) * fairtree.LeftOfRun(b.halfLife, d/time.Duration(max(runs, 1)))
	for _, k := range keys {
		seconds, decays := decayed, b.halfLife > 0
		if decays && k.Kind == accounts.QOS && noDecay(t.Get(k)) {
			seconds, decays = all, false
		}
		if !counts(decays) {
			continue
		}
		of := b.slow[k]
		if of == nil {
			of = map[string]float64{}
			b.slow[k] = of
		}
		of[accounts.Wall] += seconds
		for name, n := range tres {
			of[name] += float64(n) * seconds
		}
	}
}

func dayOf(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / 86400)) }

// decay brings what decays up to a time. It never goes back.
func (b *Book) decay(now time.Time) {
	if b.at.IsZero() {
		b.at = now
	}
	if !now.After(b.at.Add(time.Minute)) {
		return
	}
	factor := fairtree.DecayFactor(b.halfLife, now.Sub(b.at))
	t := b.books.Tree()
	for k, of := range b.slow {
		if k.Kind == accounts.QOS && noDecay(t.Get(k)) {
			continue
		}
		for name := range of {
			of[name] *= factor
		}
	}
	b.at = now
}
