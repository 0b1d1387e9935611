package api

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/spending"
)

// operations answers for jobs of all sites that conditions choose, and does one thing to many of them. The jobs of an operation are written down
// before anything is done; a worker ([operations.Run]) then gives each of them one request, at a pace that the sites bear, and writes down the
// result. So an operation outlives its caller and the daemon.
type operations struct {
	Store      Store
	Actions    *submission.Actions
	Controller operationControls
	// Spent tells what jobs that run have come to, as far as that is known; nil: it is not told.
	Spent    func(context.Context) spending.Spendings
	Now      func() time.Time
	Log      *slog.Logger
	AskAbove int // operations on more jobs are to be confirmed by people
	// Rate is how many requests a second a site gets of operations at the most; nil: 100.
	Rate func(federation.SiteName) float64

	waiting waitingItem
	adding  sync.Mutex // of two that ask for the same at once, the second finds the first one's operation
	once    sync.Once
	wake    chan struct{}
}

// operationControls is what operations ask of the controller.
type operationControls interface {
	Wake()
	Sites() []*federation.Site
}

// List is GET /fed/v1/jobs.
func (s *operations) List(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	out := answer.NewList(w, "")
	var spent spending.Spendings
	if s.Spent != nil {
		spent = s.Spent(r.Context())
	}
	for page, err := range s.choose(r.Context(), r.URL.Query()["where"], nil) {
		if err != nil {
			return out.Fail(err)
		}
		for i := range page {
			one := lineOf(&page[i])
			if one.State != federation.Pending && !one.State.Ended() {
				one.Spending = spent[one.ID]
			}
			text, err := json.Marshal(one)
			if err != nil {
				return out.Fail(err)
			}
			out.Add(text)
		}
		if err := out.Send(); err != nil {
			return err
		}
	}
	return out.End(nil)
}

func lineOf(j *federation.Job) v1.JobLine {
	v := v1.JobLine{ID: j.ID, User: j.User, Account: submission.AccountOf(j), Name: j.Spec.Name, State: j.State, Reason: j.Reason, Site: j.Site, Partition: j.Partition,
		Nodes: j.Nodes, Submit: j.Submit, Restarts: j.Restarts, Cost: j.Cost}
	if !j.Start.IsZero() && j.State != federation.Pending {
		v.Start = &j.Start
	}
	if !j.End.IsZero() && j.State.Ended() {
		v.End = &j.End
	}
	if p := j.Part; p != nil {
		v.Array, v.Tasks = p.Array, federation.FormatArray([]int{p.Index}, 0)
	} else if j.Spec.Array != "" {
		v.Array, v.Tasks = j.ID, j.Spec.Array
	}
	return v
}

// choose reads the jobs that meet all conditions, of only if there are any, in order of ID and page by page: those that have not ended, unless a state says otherwise. Of an array that is
// the record of its tasks that wait, and each other task as a job of its own. It ends with the first error.
func (s *operations) choose(ctx context.Context, texts []string, only []federation.JobID) iter.Seq2[[]federation.Job, error] {
	return func(yield func([]federation.Job, error) bool) {
		conditions, err := readConditions(texts)
		if err != nil {
			yield(nil, invalidOperation(err.Error()))
			return
		}
		q := conditionQuery(conditions)
		q.IDs, q.Alone = only, len(only) > 0
		kinds := kindsOf(s.Controller.Sites())
		for all, err := range restd.InPages(ctx, s.Store, q, restd.ByID) {
			if !yield(s.holding(all, conditions, kinds), err) || err != nil {
				return
			}
		}
	}
}

// conditionQuery is the part of the conditions that the store can answer.
func conditionQuery(conditions []condition) federation.JobQuery {
	q := federation.JobQuery{Live: true}
	for i := range conditions {
		switch c := &conditions[i]; {
		case c.key == "state" && c.op == '=':
			if slices.ContainsFunc(c.values, func(s string) bool { return federation.State(s).Ended() }) {
				q.Live = false
			}
		case c.key == "site" && c.op == '=' && len(c.values) == 1 && c.values[0] != "none":
			q.Site = federation.SiteName(c.values[0])
		}
	}
	return q
}

// holding are those of all that meet the conditions.
func (s *operations) holding(all []federation.Job, conditions []condition, kinds gpuKinds) []federation.Job {
	now := s.Now()
	out := all[:0]
	for i := range all {
		j := candidate{job: &all[i], now: now}
		if j.job.Component != nil || j.job.Whole != nil && j.job.Whole.Spread && (j.job.Spec.Array == "" || j.job.Cancel) { // told by the leader, by the tasks
			continue
		}
		if j.job.Whole != nil && j.job.Whole.Spread {
			j.job.State = federation.Pending // of what is left of it
		}
		j.gpus = kinds.of(j.job)
		if !slices.ContainsFunc(conditions, func(c condition) bool { return !c.holds(&j) }) {
			out = append(out, all[i])
		}
	}
	return out
}

// gpuKinds are the kinds of GPUs of nodes, by SITE/NAME.
type gpuKinds map[string]string

func kindsOf(sites []*federation.Site) gpuKinds {
	out := gpuKinds{}
	for _, site := range sites {
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Nodes {
			for _, g := range site.Seen.Nodes[i].GRES {
				if g.Name == "gpu" {
					out[string(site.Name)+"/"+site.Seen.Nodes[i].Name] = g.Type
				}
			}
		}
	}
	return out
}

// of are the kinds of GPUs that a job asks for, and that the nodes have that it holds; "" is any kind.
func (k gpuKinds) of(j *federation.Job) (kinds []string) {
	for _, g := range j.Needs().GRES {
		if g.Name == "gpu" {
			kinds = append(kinds, g.Type)
		}
	}
	if len(kinds) == 0 || !j.State.Started() {
		return kinds
	}
	for _, n := range nodesOf(j) {
		if kind := k[string(j.Site)+"/"+n]; kind != "" {
			return append(kinds, kind)
		}
	}
	return kinds
}

func invalidOperation(text string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: text, Alone: true}
}
