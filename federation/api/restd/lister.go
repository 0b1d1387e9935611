package restd

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/federation/idle"
	"fsub/federation/share"
	"fsub/federation/spending"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// Pages are what a listing shows, page by page. It ends with the first error.
type Pages = iter.Seq2[[]Part, error]

// Pages reads the parts of all jobs that f selects among those of q, in order of the jobs.
func (s *Lister) Pages(ctx context.Context, v *View, f *Filter, q federation.JobQuery) Pages {
	return s.pages(ctx, v, f, InPages(ctx, s.Store, q, ByID))
}

func (s *Lister) pages(ctx context.Context, v *View, f *Filter, jobs iter.Seq2[[]federation.Job, error]) Pages {
	return func(yield func([]Part, error) bool) {
		for jobs, err := range jobs {
			if err != nil {
				yield(nil, err)
				return
			}
			for page, err := range s.parts(ctx, v, f, jobs) {
				if !yield(page, err) || err != nil {
					return
				}
			}
		}
	}
}

// mostParts is how many parts a page has at most: one array may have a million, and a record of each takes some KB.
const mostParts = 1000

// parts are the parts of jobs that f selects, in pages.
func (s *Lister) parts(ctx context.Context, v *View, f *Filter, jobs []federation.Job) Pages {
	return func(yield func([]Part, error) bool) {
		var arrays []federation.JobID
		selected := jobs[:0]
		for _, j := range jobs {
			if !f.job(v, &j) {
				continue
			}
			selected = append(selected, j)
			if j.Spec.Array != "" || j.Whole != nil {
				arrays = append(arrays, j.ID)
			}
		}
		var tasks map[federation.JobID][]federation.Task
		if len(arrays) > 0 {
			var err error
			if tasks, err = s.Store.TasksOf(ctx, arrays); err != nil {
				yield(nil, answer.OfStore(err, answer.NoContact))
				return
			}
		}
		var page []Part
		for i := range selected {
			of := tasks[selected[i].ID]
			held := len(of) * int(unsafe.Sizeof(federation.Task{}))
			share.Hold(ctx, held)
			for p := range eachPart(&selected[i], of) {
				if !f.part(&p) {
					continue
				}
				if page = append(page, p); len(page) < mostParts {
					continue
				}
				if !yield(page, nil) {
					return
				}
				page = nil
			}
			delete(tasks, selected[i].ID)
			share.Hold(ctx, -held)
		}
		yield(page, nil)
	}
}

// UnknownUsers warns of users in a filter that this machine does not have: the small commands cannot ask the user
// database themselves.
func (s *Lister) UnknownUsers(f *Filter) []wire.Warning {
	var out []wire.Warning
	for _, u := range f.Users {
		var err error
		if uid, numErr := strconv.ParseUint(u, 10, 32); numErr == nil {
			_, err = s.Users.UserName(uint32(uid))
		} else {
			_, _, err = s.Users.UserIDs(u)
		}
		if err != nil {
			out = append(out, wire.Warning{Description: "Invalid user: " + u, Source: "users"})
		}
	}
	return out
}

// SitesOf are those that a query's cluster names, with commas; all if it names none.
func (s *Lister) SitesOf(q url.Values) []*federation.Site {
	all := s.All()
	names := CSV(q, "cluster")
	if len(names) == 0 {
		return all
	}
	var out []*federation.Site
	for _, site := range all {
		if slices.Contains(names, string(site.Name)) {
			out = append(out, site)
		}
	}
	return out
}

// Lister reads what listings show: jobs from the store, and what the sites measured of them.
type Lister struct {
	Store   Store
	Usage   usage.Store       // nil: there is none
	Steps   driver.StepTeller // nil: no site tells
	Users   *identity.Names
	All     func() []*federation.Site
	Now     func() time.Time
	Keep    time.Duration // how long an ended job is listed
	Cluster string        // the federation's name

	Starts    func(context.Context) (decision.Starts, error)    // when jobs that wait are expected to start; nil: not told
	Spendings func(context.Context) (spending.Spendings, error) // what jobs that run have come to; nil: not told
	Idle      func() []idle.Held                                // the running jobs that leave idle what they hold; nil: not told
}

func (s *Lister) View() *View { return s.ViewOf(s.All()) }

// Foretelling is a view that shows when jobs which wait are expected to start, too.
func (s *Lister) Foretelling(ctx context.Context) *View {
	v := s.View()
	v.starts = s.Foretold(ctx)
	return v
}

// answersWithin bounds the wait for the controller, which may be at work on something long.
const answersWithin = time.Second

// Foretold are the starts that the controller can tell now.
func (s *Lister) Foretold(ctx context.Context) decision.Starts { return asked(ctx, s.Starts) }

// Spent is what jobs that run have come to, as far as the controller can tell now.
func (s *Lister) Spent(ctx context.Context) spending.Spendings { return asked(ctx, s.Spendings) }

// asked is what the controller answers in time; nothing if it does not.
func asked[T any](ctx context.Context, ask func(context.Context) (T, error)) (none T) {
	if ask == nil {
		return none
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	answer, _ := ask(ctx) // it fails only where there is no time
	return answer
}

// ViewOf is the view of some sites only.
func (s *Lister) ViewOf(sites []*federation.Site) *View {
	v := &View{
		cluster: s.Cluster, Now: s.Now(), Sites: sites, users: s.Users,
		partitions: map[federation.SiteName]map[string]*federation.Partition{}, comments: map[federation.JobID]string{},
	}
	if s.Idle != nil {
		for _, h := range s.Idle() {
			if text := h.Comment(); text != "" {
				v.comments[h.Job] = text
			}
		}
	}
	for _, site := range v.Sites {
		if site.Seen == nil {
			continue
		}
		m := map[string]*federation.Partition{}
		for i := range site.Seen.Partitions {
			p := &site.Seen.Partitions[i]
			m[p.Name] = p
			if p.Default && v.Default == "" {
				v.Default = p.Name // exactly one default: that of the first site which has one
			}
		}
		v.partitions[site.Name] = m
	}
	return v
}
