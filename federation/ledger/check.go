package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
)

// Check is what the books and a site's own accounting say of some days.
type Check struct {
	Site        federation.SiteName
	From, Until time.Time
	Runs        int // that the site's accounting has, and that have ended
	Live        int // that have not, where sreport is compared: they are booked when they end
	Compared    int // associations x TRES, with the site's accounting
	// OtherAccount is how many of the runs the site has under another account than the one that pays for them. They are compared on that one.
	OtherAccount int
	Differences  []Difference
	// Report says how the site's sreport was compared: "" if no command is configured. ReportCompared is how many figures.
	Report         string
	ReportCompared int
}

// Difference is a figure that is not the same in the books and at the site, or a run that explains one.
type Difference struct {
	With          string // "sacct" or "sreport"
	Account, User string
	TRES          string
	Ours, Theirs  int64 // TRES-seconds; memory in MiB-seconds
	Why           string
}

// figure names a number that is compared.
type figure struct{ account, user, tres string }

// Check compares the books with what the site's accounting says now, for the UTC days from the first until before the last, and with its sreport if there is a
// command for that.
func (c *Collector) Check(ctx context.Context, name federation.SiteName, from, until int64) (*Check, error) {
	r := c.reader(name)
	if r == nil {
		return nil, fmt.Errorf("%w: there is no site %s", federation.ErrNotFound, name)
	}
	if r.Unread {
		return nil, &federation.SlurmError{Kind: federation.ErrConflict, Text: fmt.Sprintf("the accounting of site %s is not read: set books: {sites: true} in the daemon's configuration", name), Alone: true}
	}
	if r.Accounts == nil {
		return nil, &federation.SlurmError{Kind: federation.ErrInvalid, Text: fmt.Sprintf("site %s keeps no accounts: what ran there is booked from the federation's own charges", name), Alone: true}
	}
	out := &Check{Site: name, From: time.Unix(from*day, 0).UTC(), Until: time.Unix(until*day, 0).UTC()}
	runs, err := c.runsOf(ctx, r, out.From, out.Until)
	if err != nil {
		return nil, err
	}
	theirs, live, byID := map[figure]int64{}, map[figure]int64{}, map[ledger.ID]ledger.Entry{}
	unfit := false
	for i := range runs {
		r.mu.Lock()
		e := r.entry(c.Logger, &runs[i])
		r.mu.Unlock()
		if _, twice := byID[e.ID]; twice {
			continue
		}
		byID[e.ID] = e
		into := theirs
		if runs[i].Live {
			into = live
			out.Live++
		} else {
			out.Runs++
		}
		if e.Unfit() != "" { // its figures would drown all others
			unfit = true
			continue
		}
		if err := addRun(into, &e, from, until); err != nil {
			return nil, err
		}
	}
	ours, err := c.figures(ctx, name, from, until)
	if err != nil {
		return nil, err
	}
	moved, err := c.moved(ctx, out, byID, from, until)
	if err != nil {
		return nil, err
	}
	add(theirs, moved)
	out.Compared = len(theirs)
	out.Differences = differ("sacct", ours, theirs, nil)
	if len(out.Differences) > 0 || unfit {
		if err := c.explain(ctx, out, runs, byID, from, until); err != nil {
			return nil, err
		}
	}
	if len(r.Report) > 0 {
		if err := c.checkReport(ctx, r, out, ours, live, moved); err != nil {
			out.Report = err.Error()
		}
	}
	return out, nil
}

// runsOf are the runs that held something in a span of time: they have ended in it or since, or run still. Those are asked for only where sreport, which
// counts them, is compared.
func (c *Collector) runsOf(ctx context.Context, r *reader, from, until time.Time) (runs []driver.SiteRun, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.Report) > 0 {
		if runs, err = r.Accounts.Live(ctx); err != nil {
			return nil, err
		}
	}
	now := c.Now()
	to, err := r.each(ctx, c, from, now, mostChecking, func(_ time.Time, some []driver.SiteRun) error {
		runs = append(runs, some...)
		return nil
	})
	if err == nil && to.Before(now) {
		err = fmt.Errorf("site %s: %w: its accounting is so slow that in %v it told only of the time until %s", r.Name, federation.ErrUnavailable, mostChecking, to.UTC().Format(time.DateTime))
	}
	return slices.DeleteFunc(runs, func(run driver.SiteRun) bool {
		return run.Start >= until.Unix() || run.End < from.Unix() || run.End == from.Unix() && run.Start < run.End
	}), err
}

// mostChecking is how long a site may take to tell all.
const mostChecking = 10 * time.Minute

const day = 24 * 3600

// sumTRES are the TRES that are compared, and where sums have them.
func sumTRES(s *ledger.Sums) map[string]int64 {
	return map[string]int64{"cpu": s.CPU, "mem": s.Mem, "node": s.Node, "billing": s.Billing, "gres/gpu": s.GPU}
}

func addFigures(into map[figure]int64, account, user, gpu string, s *ledger.Sums) {
	for tres, n := range sumTRES(s) {
		if n != 0 {
			into[figure{account, user, tres}] += n
		}
	}
	if gpu != "" && gpu != "gpu" && !strings.Contains(gpu, "+") && s.GPU != 0 {
		into[figure{account, user, "gres/gpu:" + gpu}] += s.GPU
	}
}

func addRun(into map[figure]int64, e *ledger.Entry, from, until int64) error {
	tres, err := accounting.ParseTRES(e.TRES)
	if err != nil {
		return err
	}
	e.Days(tres, func(d int64, s ledger.Sums) {
		if d >= from && d < until {
			addFigures(into, e.Group.Account, e.Group.User, e.Group.GPU, &s)
		}
	})
	return nil
}

// moved is by how much a site's figures are other ones where runs count for the accounts that pay for them, and not for those that the site has them under.
func (c *Collector) moved(ctx context.Context, out *Check, theirs map[ledger.ID]ledger.Entry, from, until int64) (map[figure]int64, error) {
	moved := map[figure]int64{}
	err := c.Books.BookedRuns(ctx, string(out.Site), from*day, until*day, func(e *ledger.Entry) error {
		t, ok := theirs[e.ID]
		if !ok || e.Source&ledger.FromRun == 0 || t.Group.Account == e.Group.Account || t.Unfit() != "" {
			return nil
		}
		out.OtherAccount++
		one := map[figure]int64{}
		if err := addRun(one, &t, from, until); err != nil {
			return err
		}
		for f, n := range one {
			moved[f] -= n
			f.account = e.Group.Account
			moved[f] += n
		}
		return nil
	})
	return moved, err
}

// add adds figures to others. What comes to nothing is none.
func add(to, figures map[figure]int64) {
	for f, n := range figures {
		if to[f] += n; to[f] == 0 {
			delete(to, f)
		}
	}
}

// figures are the books' own.
func (c *Collector) figures(ctx context.Context, name federation.SiteName, from, until int64) (map[figure]int64, error) {
	rows, err := c.Books.BookedSums(ctx, ledger.SumQuery{From: from, Until: until, By: []ledger.Dimension{ledger.ByAccount, ledger.ByUser, ledger.ByGPU},
		Where: map[ledger.Dimension][]string{ledger.BySite: {string(name)}}})
	out := map[figure]int64{}
	for i := range rows {
		addFigures(out, rows[i].Values[0], rows[i].Values[1], rows[i].Values[2], &rows[i].Sums)
	}
	return out, err
}

// differ compares figures; may are those that one side counts and the other does not yet.
func differ(with string, ours, theirs, may map[figure]int64) (out []Difference) {
	all := map[figure]bool{}
	for f := range ours {
		all[f] = true
	}
	for f := range theirs {
		all[f] = true
	}
	for f := range all {
		if a, b := ours[f], theirs[f]; a != b && a+may[f] != b {
			out = append(out, Difference{With: with, Account: f.account, User: f.user, TRES: f.tres, Ours: a, Theirs: b})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User), cmp.Compare(a.TRES, b.TRES))
	})
	return out
}

// mostNamed bounds the runs that are named.
const mostNamed = 20

// explain names the runs that are in one of the two only, or not the same in both.
func (c *Collector) explain(ctx context.Context, out *Check, runs []driver.SiteRun, theirs map[ledger.ID]ledger.Entry, from, until int64) error {
	booked := map[ledger.ID]bool{}
	named := 0
	name := func(e *ledger.Entry, ours, theirs int64, why string) {
		if named++; named <= mostNamed {
			out.Differences = append(out.Differences, Difference{With: "sacct", Account: e.Group.Account, User: e.Group.User, TRES: "elapsed", Ours: ours, Theirs: theirs,
				Why: fmt.Sprintf("job %d, started %s: %s", cmp.Or(e.Number, e.Job), time.Unix(e.Start, 0).UTC().Format(time.RFC3339), why)})
		}
	}
	err := c.Books.BookedRuns(ctx, string(out.Site), from*day, until*day, func(e *ledger.Entry) error {
		booked[e.ID] = true
		t, ok := theirs[e.ID]
		switch {
		case e.Start >= until*day || e.End <= from*day || e.Kind == ledger.Machine || e.Kind == ledger.Billed || e.Kind == ledger.Moved:
		case !ok && e.Source&ledger.FromSite == 0:
			name(e, e.Elapsed(), 0, "charged here, and the site's accounting has no such run yet")
		case !ok:
			name(e, e.Elapsed(), 0, "the site's accounting does not have it any more")
		case t.Start != e.Start || t.End != e.End || t.Suspended != e.Suspended:
			name(e, e.Elapsed(), t.Elapsed(), "the site has corrected its times")
		case t.TRES != e.TRES || t.Group.Account != e.Group.Account && e.Source&ledger.FromRun == 0:
			name(e, e.Elapsed(), t.Elapsed(), fmt.Sprintf("booked with %s on %s, the site says %s on %s", e.TRES, e.Group.Account, t.TRES, t.Group.Account))
		}
		return nil
	})
	for i := range runs {
		if id := runs[i].ID; !runs[i].Live && !booked[id] {
			e := theirs[id]
			why := "not booked yet"
			if cannot := e.Unfit(); cannot != "" {
				why = "set aside, since it cannot be booked: " + cannot
			}
			name(&e, 0, e.Elapsed(), why)
			booked[id] = true
		}
	}
	if named > mostNamed {
		out.Differences = append(out.Differences, Difference{With: "sacct", Why: fmt.Sprintf("and %d more runs", named-mostNamed)})
	}
	return err
}

// checkReport compares the books with what the site's sreport prints.
func (c *Collector) checkReport(ctx context.Context, r *reader, out *Check, ours, live, moved map[figure]int64) error {
	args := append(slices.Clone(r.Report[1:]), "-n", "-P", "-t", "Seconds", "-T", "all", "cluster", "AccountUtilizationByUser",
		"start=uts"+strconv.FormatInt(out.From.Unix(), 10), "end=uts"+strconv.FormatInt(out.Until.Unix(), 10), "format=Account%100,Login%100,TresName%100,Used")
	cmd := exec.CommandContext(ctx, r.Report[0], args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("sreport: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	theirs, err := r.parseReport(text)
	if err != nil {
		return err
	}
	moved = maps.Clone(moved)
	maps.DeleteFunc(moved, func(f figure, _ int64) bool { return strings.HasPrefix(f.tres, "gres/") && !tracked(theirs, f.tres) })
	add(theirs, moved)
	for f := range ours {
		if _, ok := theirs[f]; !ok && strings.HasPrefix(f.tres, "gres/") && !tracked(theirs, f.tres) {
			delete(ours, f) // AccountingStorageTRES does not name it
		}
	}
	out.Report, out.ReportCompared = "compared", len(theirs)
	more := differ("sreport", ours, theirs, live)
	for i := range more {
		switch d := &more[i]; {
		case live[figure{d.Account, d.User, d.TRES}] > 0:
			d.Why = "jobs run that are booked when they end"
		case out.Until.After(c.Now()):
			d.Why = "the day is not over: sreport lacks the hour that is under way"
		case d.Ours > d.Theirs:
			d.Why = "perhaps slurmdbd has not rolled these hours up yet"
		default:
			d.Why = "perhaps a reservation, whose idle time sreport spreads over its associations"
		}
	}
	out.Differences = append(out.Differences, more...)
	return nil
}

func tracked(all map[figure]int64, tres string) bool {
	for f := range all {
		if f.tres == tres {
			return true
		}
	}
	return false
}

// parseReport reads the lines of users; those of accounts repeat them.
func (r *reader) parseReport(text []byte) (map[figure]int64, error) {
	lines := csv.NewReader(bytes.NewReader(text))
	lines.Comma, lines.FieldsPerRecord, lines.LazyQuotes = '|', -1, true
	rows, err := lines.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("sreport: %w", err)
	}
	out := map[figure]int64{}
	for _, row := range rows {
		if len(row) < 4 {
			return nil, errors.New("sreport printed a line that is not ACCOUNT|LOGIN|TRES|USED: " + strings.Join(row, "|"))
		}
		f := figure{strings.TrimSpace(row[0]), strings.TrimSpace(row[1]), row[2]}
		if f.user == "" {
			continue
		}
		if here, ok := r.names[f.user]; ok {
			f.user = here
		}
		switch name := f.tres; {
		case name == "cpu", name == "mem", name == "node", name == "billing", name == "gres/gpu", strings.HasPrefix(name, "gres/gpu:"):
		default:
			continue
		}
		n, err := strconv.ParseInt(row[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("sreport: %w", err)
		}
		if n != 0 {
			out[f] += n
		}
	}
	return out, nil
}
