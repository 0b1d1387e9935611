package api

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
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
	Who        func(uid uint32) (identity.Caller, error) // a user of this machine
	// Queue finds jobs that have not ended; nil: they are looked for in the store.
	Queue *queue.Queue
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

// list writes all jobs that meet the conditions, as they are read.
func (s *operations) list(w http.ResponseWriter, r *http.Request, where []string, fields []string) error {
	out, spent := answer.NewList(w, ""), s.spent(r.Context())
	for page, err := range s.choose(r.Context(), where, nil) {
		if err != nil {
			return out.Fail(err)
		}
		for _, line := range lines(page, spent) {
			text, err := only(&line, fields)
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

// spent asks once, when it is called first, what jobs that run have come to.
func (s *operations) spent(ctx context.Context) func() spending.Spendings {
	return sync.OnceValue(func() spending.Spendings {
		if s.Spent == nil {
			return nil
		}
		return s.Spent(ctx)
	})
}

// lines are jobs as lists show them, those that run with what they have come to.
func lines(jobs []federation.Job, spent func() spending.Spendings) []v1.JobLine {
	lines := make([]v1.JobLine, len(jobs))
	for i := range jobs {
		lines[i] = lineOf(&jobs[i])
		if lines[i].State != federation.Pending && !lines[i].State.Ended() {
			lines[i].Spending = spent()[lines[i].ID]
		}
	}
	return lines
}

func lineOf(j *federation.Job) v1.JobLine {
	v := v1.JobLine{ID: j.ID, User: j.User, Account: submission.AccountOf(j), TreeAccount: j.TreeAccount, Name: j.Spec.Name, Group: j.Spec.GroupName(), State: j.State, Reason: j.Reason, Site: j.Site, Partition: j.Partition,
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
		choice := s.choice(conditions)
		if q.Live && only == nil && len(conditions) > 0 && s.Queue != nil {
			s.chooseLive(ctx, conditions, choice, yield)
			return
		}
		for all, err := range restd.InPages(ctx, s.Store, q, restd.ByID) {
			if !yield(holding(all, choice), err) || err != nil {
				return
			}
		}
	}
}

// foundAtOnce is how many jobs are read of the store that the queue has found.
const foundAtOnce = 1000

// chooseLive is choose for jobs that have not ended: the queue finds those that may be meant, so that a few of a million cost little, and the store says what they are now.
func (s *operations) chooseLive(ctx context.Context, conditions []condition, choice *jobChoice, yield func([]federation.Job, error) bool) {
	lists := queue.Lists{Queue: s.Queue}
	if _, err := lists.Mark(ctx); err != nil {
		yield(nil, err)
		return
	}
	ask := queue.PageQuery{Limit: foundAtOnce, Choice: choice, Only: idsOf(conditions)}
	for {
		p, err := lists.Page(&ask)
		if err != nil {
			yield(nil, err)
			return
		}
		if len(p.IDs) > 0 {
			found, err := s.Store.Jobs(ctx, federation.JobQuery{IDs: p.IDs, Alone: true, Live: true})
			if !yield(holding(found, choice), answer.OfStore(err, answer.NoContact)) || err != nil {
				return
			}
		}
		if ask.After = p.Next; p.Next == "" {
			return
		}
	}
}

// choice are the conditions as they are to be met now.
func (s *operations) choice(conditions []condition) *jobChoice {
	return &jobChoice{conditions, s.Now(), kindsOf(s.Controller.Sites())}
}

// conditionQuery is the part of the conditions that the store can answer.
func conditionQuery(conditions []condition) federation.JobQuery {
	q := federation.JobQuery{Live: true}
	for i := range conditions {
		switch c := &conditions[i]; {
		case c.key == "state" && c.op == '=':
			if slices.ContainsFunc(c.values, func(s string) bool { return federation.State(s).Ended() }) {
				q.Live = false
				q.States = endedStates(c.values)
			}
		case c.key == "user":
			q.User = cmp.Or(q.User, oneUser(conditions[i:i+1]))
		case c.key == "site" && c.op == '=' && len(c.values) == 1 && c.values[0] != "none":
			q.Site = federation.SiteName(c.values[0])
		}
	}
	return q
}

// endedStates are states that only jobs which have ended have; nil if others are among them.
func endedStates(words []string) []federation.State {
	states := make([]federation.State, len(words))
	for i, word := range words {
		if states[i] = federation.State(word); !states[i].Ended() {
			return nil
		}
	}
	return states
}

// holding are those of all that meet the conditions. What is left of an array has the state of that.
func holding(all []federation.Job, choice *jobChoice) []federation.Job {
	out := all[:0]
	for i := range all {
		l, listed := queue.ListedOf(&all[i])
		if listed && choice.Job(&l) {
			all[i].State = l.State
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
func (k gpuKinds) of(l *queue.Listed) []string {
	kinds := l.GPUKinds()
	if len(kinds) == 0 || !l.State.Started() {
		return kinds
	}
	for _, n := range nodesOf(l) {
		if kind := k[string(l.Site)+"/"+n]; kind != "" {
			return append(kinds, kind)
		}
	}
	return kinds
}

func invalidOperation(text string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: text, Alone: true}
}
