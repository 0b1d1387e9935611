package quota

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
)

// A limit counts where it is first set, as in Slurm: in the job's QOS, else in the association. What an account may have as a group holds beside what the
// accounts above it may; what one job of it may have holds for those below that set nothing else.

// check is one job that is compared with the limits.
type check struct {
	*Book
	now  time.Time
	want *Want
	keys []accounts.Key
	tree *accounts.Tree
	qos  *accounts.Record // nil: none that the tree has
}

func (b *Book) check(now time.Time, w *Want) *check {
	c := &check{Book: b, now: now, want: w, tree: b.books.Tree()}
	c.keys = w.keysIn(c.tree)
	for _, k := range c.keys {
		if k.Kind == accounts.QOS && k.Account == "" {
			c.qos = c.tree.Get(k)
		}
	}
	return c
}

// Misused is what a user's job must not name, by the account tree: see [accounts.Tree.Misused]. Unlike most methods it may be called at any time.
func (b *Book) Misused(user, account, qos string) (kind accounts.Kind, is bool) {
	return b.books.Tree().Misused(user, account, qos)
}

// Denies says why a job must not even be submitted: its QOS has the flag DenyOnLimit, and by itself the job passes how long one may run, or what one, a user, an
// account or a group may hold at once or use in all. Nil: it may be submitted. As in slurmctld, neither what was used counts nor how many jobs there are; these have it wait. Unlike
// most methods it may be called at any time.
func (b *Book) Denies(w *Want) *Refusal {
	c := (&Book{books: b.books}).check(time.Time{}, w)
	if c.qos == nil || !c.qos.Flag("DenyOnLimit") {
		return nil
	}
	if no := c.perJob(); no != nil {
		return no
	}
	for r := range c.groups() {
		if no := c.groupTRES(r); no != nil {
			return no
		}
		if no := c.alone(r); no != nil {
			return no
		}
	}
	for k, per := range c.shares() {
		if no := c.shareTRES(k, per); no != nil {
			return no
		}
	}
	return nil
}

// alone compares what a job may use until its time limit with what its whole group may.
func (c *check) alone(r *accounts.Record) *Refusal {
	w := c.want
	passes := func(held, minutes int64) bool {
		return held > 0 && (w.Longest == 0 || held*int64((w.Longest-killTime)/time.Second) > minutes*60)
	}
	for _, l := range [][2]string{{"GrpTRESMins", "Minutes"}, {"GrpTRESRunMins", "RunMinutes"}} {
		for name, n := range c.tres(r, l[0]) {
			if passes(w.TRES[name], n) {
				return refuse(prefixOf(r)+"Grp"+resource(name, l[1]), "all jobs of %s together may use %d minutes of %s%s", r.Key, n, name, c.noLimit())
			}
		}
	}
	if n, ok := r.Count("GrpWall"); ok && !c.set(r, "GrpWall", "") && passes(1, n) {
		return refuse(prefixOf(r)+"GrpWallLimit", "all jobs of %s together may run for %d minutes%s", r.Key, n, c.noLimit())
	}
	return nil
}

// Check says why a job must not be bound now; nil if it may. What is not known of the job yet, such as its cost before there is an offer, is not held
// against it.
func (b *Book) Check(now time.Time, w *Want) *Refusal {
	b.decay(now)
	c := b.check(now, w)
	if no := c.perJob(); no != nil { // which no time will change
		return no
	}
	for r := range c.groups() {
		if no := c.group(r); no != nil {
			return no
		}
	}
	if no := c.within(); no != nil {
		return no
	}
	return c.maxJobs()
}

// groups are the records whose limits hold for all that they stand for.
func (c *check) groups() iter.Seq[*accounts.Record] {
	return func(yield func(*accounts.Record) bool) {
		for _, k := range c.keys {
			if k.Kind == accounts.QOS && k.Account != "" {
				continue
			}
			if r := c.tree.Get(k); r != nil && len(r.Set) > 0 && !yield(r) {
				return
			}
		}
	}
}

const perUser, perAccount = "PerUser", "PerAccount"

// shares are what the job's user, and its account, have of its QOS.
func (c *check) shares() iter.Seq2[accounts.Key, string] {
	return func(yield func(accounts.Key, string) bool) {
		for _, k := range c.keys {
			if c.qos == nil || k.Kind != accounts.QOS || k.Account == "" {
				continue
			}
			per := perUser
			if strings.HasPrefix(k.Account, inAccount) {
				per = perAccount
			}
			if !yield(k, per) {
				return
			}
		}
	}
}

// set reports whether the job's QOS sets a limit itself, so that an association's does not count. name is a TRES, "" if the limit is a number.
func (c *check) set(r *accounts.Record, option, name string) bool {
	if c.qos == nil || r == c.qos {
		return false
	}
	if name == "" {
		return c.qos.Set[option] != ""
	}
	_, ok := c.qos.TRES(option)[name]
	return ok
}

// tres goes through a record's limits by TRES that count for the job, in order.
func (c *check) tres(r *accounts.Record, option string) func(yield func(string, int64) bool) {
	return func(yield func(string, int64) bool) {
		limits := r.TRES(option)
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			if c.want.TRES[name] > 0 && !c.set(r, option, name) && !yield(name, limits[name]) {
				return
			}
		}
	}
}

func prefixOf(r *accounts.Record) string {
	if r.Kind == accounts.QOS {
		return "QOS"
	}
	return "Assoc"
}

// group compares with the limits of a record for all that it stands for.
func (c *check) group(r *accounts.Record) *Refusal {
	prefix, s, w := prefixOf(r), c.heldBy(r.Key), c.want
	if n, ok := r.Count("GrpJobs"); ok && !c.set(r, "GrpJobs", "") && s.jobs+1 > n {
		return refuse(prefix+"GrpJobsLimit", "%s may run %d jobs", r.Key, n).passes(limit{key: r.Key, option: "GrpJobs", most: n, held: s.jobs, wants: 1})
	}
	if no := c.groupTRES(r); no != nil {
		return no
	}
	for name, n := range c.tres(r, "GrpTRESMins") {
		used, reserved, longest := c.usage(r.Key, name)
		if no := c.minutes(r, name, n, used, reserved, longest, ""); no != nil {
			no.limit.option = "GrpTRESMins"
			return no
		}
	}
	for name, n := range c.tres(r, "GrpTRESRunMins") {
		if no := c.runMinutes(r, name, n); no != nil {
			return no
		}
	}
	if n, ok := r.Count("GrpWall"); ok && !c.set(r, "GrpWall", "") {
		used, reserved, longest := c.usage(r.Key, wall)
		if w.Longest == 0 || used+reserved+longest > n*60 {
			return refuse(prefix+"GrpWallLimit", "%s may run for %d minutes: %d are used, and %d reserved%s", r.Key, n, used/60, reserved/60, c.noLimit()).
				passes(limit{key: r.Key, option: "GrpWall", of: tresSeconds, name: wall, most: n * 60, used: used, held: reserved, wants: longest})
		}
	}
	return c.budgets(r, s)
}

func (c *check) groupTRES(r *accounts.Record) *Refusal {
	s, w := c.heldBy(r.Key), c.want
	for name, n := range c.tres(r, "GrpTRES") {
		if s.tres[name]+w.TRES[name] > n {
			return refuse(prefixOf(r)+"Grp"+resource(name, ""), "%s may hold %s=%d, and holds %d", r.Key, name, n, s.tres[name]).
				passes(limit{key: r.Key, option: "GrpTRES", of: tres, name: name, most: n, held: s.tres[name], wants: w.TRES[name]})
		}
	}
	return nil
}

func (c *check) budgets(r *accounts.Record, s *held) *Refusal {
	w := c.want
	for _, budget := range r.Budgets() {
		u := c.since(r.Key, dayOf(budget.Start(c.now)))
		for name, n := range budget.TRESMins {
			if no := c.minutes(r, name, n, u.seconds[name], s.seconds[name], int64(w.Longest/time.Second), " this "+budget.Period); no != nil {
				no.limit.option = "BudgetTRESMins"
				return no.passes(no.limit.per(&budget, c.now))
			}
		}
		if budget.Money == 0 || budget.Money > 0 && w.Cost > 0 && u.cost+s.cost+w.Cost > budget.Money {
			return refuse(string(federation.ReasonAccountBudget), "%s may spend %s this %s: %s is spent, and %s reserved", r.Key, budget.Money.USD(), budget.Period,
				u.cost.USD(), s.cost.USD()).
				passes(limit{key: r.Key, option: "Budget", of: cost, most: int64(budget.Money), used: int64(u.cost), held: int64(s.cost), wants: int64(w.Cost)}.per(&budget, c.now))
		}
	}
	return nil
}

// minutes compares the TRES-minutes that a job may come to, in so many seconds at most, with a limit. So many seconds are used, and reserved beside.
func (c *check) minutes(r *accounts.Record, name string, most, used, reserved, longest int64, when string) *Refusal {
	wants := c.want.TRES[name]
	if wants == 0 {
		return nil
	}
	if c.want.Longest > 0 && wants*longest <= most*60-used-reserved {
		return nil
	}
	return refuse(prefixOf(r)+"Grp"+resource(name, "Minutes"), "%s may use %d minutes of %s%s: %d are used, and %d reserved%s", r.Key, most, name, when, used/60, reserved/60,
		c.noLimit()).passes(limit{key: r.Key, of: tresSeconds, name: name, most: most * 60, used: used, held: reserved, wants: wants * longest})
}

// runMinutes compares what the jobs that run may come to yet until their time limits.
func (c *check) runMinutes(r *accounts.Record, name string, most int64) *Refusal {
	_, reserved, longest := c.usage(r.Key, name)
	wants := c.want.TRES[name] * longest
	if c.want.Longest > 0 && reserved+wants <= most*60 {
		return nil
	}
	return refuse(prefixOf(r)+"Grp"+resource(name, "RunMinutes"), "what runs of %s may come to %d minutes of %s, and comes to %d%s", r.Key, most, name, reserved/60, c.noLimit()).
		passes(limit{key: r.Key, option: "GrpTRESRunMins", of: tresSeconds, name: name, most: most * 60, held: reserved, wants: wants})
}

func (c *check) noLimit() string {
	if c.want.Longest == 0 {
		return "; the job has no time limit: set --time"
	}
	return ""
}

// within compares with what one user, and one account, may have in the job's QOS.
func (c *check) within() *Refusal {
	for k, per := range c.shares() {
		r, held := c.qos, c.heldBy(k).jobs
		if n, ok := r.Count("MaxJobs" + per); ok && held+1 > n {
			word := map[string]string{perUser: "QOSMaxJobsPerUserLimit", perAccount: "MaxJobsPerAccount"}[per]
			return refuse(word, "%s may run %d jobs of %s", whose[per], n, r.Key).passes(limit{key: k, set: r.Key.String(), option: "MaxJobs" + per, most: n, held: held, wants: 1})
		}
		if no := c.shareTRES(k, per); no != nil {
			return no
		}
	}
	return nil
}

var whose = map[string]string{perUser: "a user", perAccount: "an account"}

func (c *check) shareTRES(k accounts.Key, per string) *Refusal {
	r, s := c.qos, c.heldBy(k)
	for name, n := range c.tres(r, "MaxTRES"+per) {
		if s.tres[name]+c.want.TRES[name] <= n {
			continue
		}
		word := "QOSMax" + resource(name, perUser)
		if per == perAccount {
			word = "Max" + strings.TrimSuffix(resource(name, perAccount), "Limit")
		}
		return refuse(word, "%s may hold %s=%d in %s, and holds %d", whose[per], name, n, r.Key, s.tres[name]).
			passes(limit{key: k, set: r.Key.String(), option: "MaxTRES" + per, of: tres, name: name, most: n, held: s.tres[name], wants: c.want.TRES[name]})
	}
	return nil
}

// perJob compares with what a single job may have.
func (c *check) perJob() *Refusal {
	w := c.want
	for _, r := range c.nearest("MaxTRES") {
		for name, n := range c.tres(r.Record, "MaxTRES") {
			if r.counts(name) && w.TRES[name] > n {
				word := resource(name, "PerJob")
				if r.Kind == accounts.QOS && strings.HasPrefix(word, "Mem") {
					word = "MemoryPerJob"
				}
				return refuse(prefixOf(r.Record)+"Max"+word, "a job of %s may hold %s=%d", r.Key, name, n).
					passes(limit{key: r.Key, option: "MaxTRES", of: tres, name: name, most: n, wants: w.TRES[name]})
			}
		}
	}
	for _, r := range c.nearest("MaxTRESMins") {
		for name, n := range c.tres(r.Record, "MaxTRESMins") {
			if r.counts(name) && (w.Longest == 0 || w.TRES[name]*int64((w.Longest-killTime)/time.Second) > n*60) {
				return refuse(prefixOf(r.Record)+"Max"+resource(name, "MinutesPerJob"), "a job of %s may use %d minutes of %s%s", r.Key, n, name, c.noLimit()).
					passes(limit{key: r.Key, option: "MaxTRESMins", of: tresSeconds, name: name, most: n * 60, wants: w.TRES[name] * int64(max(w.Longest-killTime, 0)/time.Second)})
			}
		}
	}
	if setters := c.nearest("MaxWall"); len(setters) > 0 {
		r := setters[0]
		if n, ok := r.Count("MaxWall"); ok && (w.Longest == 0 || w.Longest-killTime > time.Duration(n)*time.Minute) {
			return refuse(prefixOf(r.Record)+"MaxWallDurationPerJobLimit", "a job of %s may run for %d minutes%s", r.Key, n, c.noLimit()).
				passes(limit{key: r.Key, option: "MaxWall", of: tresSeconds, name: wall, most: n * 60, wants: int64(max(w.Longest-killTime, 0) / time.Second)})
		}
	}
	return nil
}

// killTime is allowed for a job to end after its limit; it is part of [Want.Longest].
const killTime = time.Minute

// nearer is a record with a limit by TRES, and those before it, whose word counts first.
type nearer struct {
	*accounts.Record
	before []accounting.TRES
}

func (r *nearer) counts(name string) bool {
	return !slices.ContainsFunc(r.before, func(t accounting.TRES) bool { _, ok := t[name]; return ok })
}

// nearest are the records that set an option which holds for single jobs: the QOS, the association, the accounts from below.
func (c *check) nearest(option string) (out []nearer) {
	var before []accounting.TRES
	take := func(r *accounts.Record) {
		if r != nil && r.Set[option] != "" {
			out = append(out, nearer{r, before})
			before = append(slices.Clip(before), r.TRES(option))
		}
	}
	take(c.qos)
	for _, k := range c.keys {
		if k.Kind != accounts.QOS {
			take(c.tree.Get(k))
		}
	}
	return out
}

// maxJobs is a user's in one account; what is not set for him is as the next account above has it.
func (c *check) maxJobs() *Refusal {
	for _, k := range c.keys {
		if r := c.tree.Get(k); r != nil && k.Kind != accounts.QOS {
			if n, ok := r.Count("MaxJobs"); ok {
				if c.heldBy(c.keys[0]).jobs+1 > n {
					return refuse("AssocMaxJobsLimit", "%s may run %d jobs", c.keys[0], n).
						passes(limit{key: c.keys[0], set: r.Key.String(), option: "MaxJobs", most: n, held: c.heldBy(c.keys[0]).jobs, wants: 1})
				}
				return nil
			}
		}
	}
	return nil
}

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: federation.Reason(reason), Text: fmt.Sprintf(format, args...)}
}

// passes notes which limit the job would pass.
func (no *Refusal) passes(l limit) *Refusal {
	l.set = cmp.Or(l.set, l.key.String())
	no.limit = l
	return no
}

// resource is a TRES in Slurm's words for reasons: AssocGrpCpuLimit, AssocGrpGRES, AssocGrpGRESMinutes, QOSMaxGRESPerUser, AssocMaxCpuMinutesPerJobLimit.
func resource(name, of string) string {
	kind, _, _ := strings.Cut(name, "/")
	word := map[string]string{"cpu": "Cpu", "mem": "Mem", "node": "Node", "gres": "GRES", "billing": "Billing", "license": "Lic", "energy": "Energy"}[kind]
	if word == "" {
		word = "Unknown"
	}
	switch of {
	case "Minutes", "RunMinutes":
		if kind == "cpu" {
			return "CPU" + of + "Limit"
		}
		return word + of
	case "":
		if kind == "cpu" || kind == "node" || kind == "mem" {
			return word + "Limit"
		}
		return word
	case "PerUser", "PerAccount":
		if kind == "mem" {
			return "Memory" + of
		}
	}
	if kind == "cpu" || kind == "node" && of != "MinutesPerJob" {
		return word + of + "Limit"
	}
	return word + of
}
