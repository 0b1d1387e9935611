package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/plain"
)

// operationVerbs are what can be done to many jobs at once.
var operationVerbs = []action.Kind{action.Hold, action.Release, action.Requeue, action.ReqHold,
	action.Cancel, action.Update, action.Move}

// untoldItems is how long an operation whose end its caller has not read is the answer to the same command.
const untoldItems = time.Hour

// maxTicket bounds a ticket. With the reason it reaches a site in a node's reason, where Slurm has room for a thousand bytes.
const maxTicket = 64

// itemsShown is how many items one answer tells of.
const itemsShown = 10_000

// listedItems is how many operations are looked at.
const listedItems = 200

// Operate is POST /fed/v1/operations.
func (s *operations) Operate(r *http.Request, c identity.Caller, q *v1.NewOperation) (*v1.Operation, error) {
	if err := s.check(q); err != nil {
		return nil, err
	}
	out, err := s.operate(r.Context(), c, q)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *operations) check(q *v1.NewOperation) error {
	switch {
	case !slices.Contains(operationVerbs, q.Verb):
		return invalidOperation(fmt.Sprintf("unknown verb %q: use one of %v", q.Verb, operationVerbs))
	case len(q.Where) == 0:
		return invalidOperation("no job is named: give jobs, or a condition")
	case (q.Verb == action.Update) != (len(q.Change) > 0):
		return invalidOperation("changes are for update, which needs some")
	case q.Verb != action.Move && (len(q.To) > 0 || q.Queued || q.Force):
		return invalidOperation("sites are for move")
	}
	if err := cmp.Or(plain.Check("reason", q.Why, plain.MaxReason), plain.Check("ticket", q.Ticket, maxTicket)); err != nil {
		return invalidOperation(err.Error())
	}
	sites := s.Controller.Sites()
	for _, to := range q.To {
		if !slices.ContainsFunc(sites, func(site *federation.Site) bool { return site.Name == to }) {
			return invalidOperation(fmt.Sprintf("no site %q in the federation; see: fed site list", to))
		}
	}
	return nil
}

// commandOf is what q asks for, in a form that is the same for two that ask for the same.
func commandOf(q *v1.NewOperation) string {
	words := []string{string(q.Verb)}
	for _, c := range q.Change {
		words = append(words, c.Key+"="+c.Value)
	}
	for _, to := range q.To {
		words = append(words, "--to "+string(to))
	}
	if q.Queued {
		words = append(words, "--queued")
	}
	if q.Now {
		words = append(words, "--now")
	}
	if q.Force {
		words = append(words, "--force")
	}
	for _, where := range q.Where {
		words = append(words, "--where "+where)
	}
	return strings.Join(words, " ")
}

// operate writes an operation down, unless it is a preview or goes on already.
func (s *operations) operate(ctx context.Context, c identity.Caller, q *v1.NewOperation) (*v1.Operation, error) {
	now := s.Now().UTC()
	op := action.Operation{At: now, By: answer.By(c), Operator: c.Role >= identity.RoleOperator, Coordinates: c.CoordinatesAny(), Verb: q.Verb, Command: commandOf(q), Change: q.Change, Why: q.Why, Ticket: q.Ticket}
	if q.Verb == action.Move {
		op.Move = &action.Relocation{To: q.To, Running: !q.Queued, Now: q.Now, Why: q.Why}
	}
	if !q.Preview {
		s.adding.Lock()
		defer s.adding.Unlock()
	}
	recent, err := s.Store.Operations(ctx, false, listedItems)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for i := range slices.Backward(recent) {
		if old := &recent[i]; old.By.UID == op.By.UID && old.Command == op.Command && old.Told.IsZero() && (old.Ended.IsZero() || now.Sub(old.Ended) < untoldItems) {
			return s.tell(old, nil), nil
		}
	}
	chosen, items, err := s.begin(ctx, c, &op, q)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, &federation.SlurmError{Kind: federation.ErrNotFound, Alone: true, Text: "no job is meant; see: fed job list"}
	}
	if q.Preview {
		return s.preview(&op, items, chosen), nil
	}
	var entry []audit.Entry
	if slices.ContainsFunc(chosen, func(j federation.Job) bool { return j.UID != c.UID }) {
		entry = []audit.Entry{{At: now, Who: op.By, Verb: string(op.Verb), Kind: audit.Operation, After: fmt.Sprintf("%d jobs", len(chosen)+len(op.Rest)),
			Why: strings.TrimSpace(op.Why + " (" + op.Command + ")"), Ticket: op.Ticket}}
	}
	if err := s.Store.AddOperation(ctx, &op, items, entry...); err != nil {
		return nil, answer.OfStore(err, answer.TimedOut)
	}
	s.poke()
	return s.tell(&op, nil), nil
}

// begin chooses the jobs of an operation and makes their items, of very many only the first.
func (s *operations) begin(ctx context.Context, c identity.Caller, op *action.Operation, q *v1.NewOperation) (chosen []federation.Job, items []action.OperationItem, err error) {
	ids, err := s.chooseMany(ctx, c, q)
	if err != nil {
		return nil, nil, err
	}
	if len(ids) > itemsAdded {
		jobs, err := s.jobsOf(ctx, ids[:itemsAdded])
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids[:itemsAdded] {
			if j := jobs[id]; j != nil {
				chosen = append(chosen, *j)
			}
		}
		op.Rest = ids[itemsAdded:]
		return chosen, s.items(ctx, c, op, chosen, nil), nil
	}
	if chosen, err = s.chooseOf(ctx, q); err != nil {
		return nil, nil, err
	}
	items = s.items(ctx, c, op, chosen, s.cannotMove(q))
	more, err := s.notChosen(ctx, q, chosen)
	return chosen, numbered(items, more), err
}

// chooseOf returns the jobs that an operation is to be done to.
func (s *operations) chooseOf(ctx context.Context, q *v1.NewOperation) (chosen []federation.Job, err error) {
	for page, err := range s.choose(ctx, q.Where, q.Jobs) {
		if err != nil {
			return nil, err
		}
		for i := range page {
			if q.Last == 0 || page[i].ID <= q.Last {
				chosen = append(chosen, page[i])
			}
		}
		if len(chosen) > submission.MaxJobs {
			return nil, invalidOperation(fmt.Sprintf("more than %d jobs are too many for one operation", submission.MaxJobs))
		}
	}
	return chosen, nil
}

func textOf(err error) string {
	e := answer.OnWire(err)
	return strings.TrimSpace(strings.TrimSuffix(e.Text+": "+e.Detail, ": "))
}

func (s *operations) preview(op *action.Operation, items []action.OperationItem, chosen []federation.Job) *v1.Operation {
	out := s.tell(op, nil)
	out.Jobs = len(items) + len(op.Rest)
	if n := len(op.Rest); n > 0 {
		out.Last = op.Rest[n-1]
	}
	for i := range items {
		v := itemOf(&items[i], nil)
		if i < len(chosen) {
			j := &chosen[i]
			v = itemOf(&items[i], j)
			v.User, v.Name, v.State, v.Nodes = j.User, j.Spec.Name, j.State, j.Nodes
		}
		out.Items = append(out.Items, v)
		if v.Settled > 0 {
			out.Settled++
		}
		if v.Failed {
			out.Failed++
		}
	}
	return out
}

func itemOf(v *action.OperationItem, j *federation.Job) v1.OperationItem {
	name := v.Job.String()
	switch {
	case j != nil && (j.Part != nil || v.Tasks.Len() != 1):
		name = submission.NameOf(j, v.Tasks)
	case v.Tasks.Len() == 1:
		name = fmt.Sprintf("%d_%s", v.Job, v.Tasks.Format(0))
	}
	return v1.OperationItem{N: v.N, Settled: v.Settled, Job: name, ID: v.Job, Site: v.Site, Failed: v.Failed, Note: v.Note}
}

// tell is an operation as the API shows it, with some of its items.
func (s *operations) tell(op *action.Operation, items []v1.OperationItem) *v1.Operation {
	out := &v1.Operation{ID: op.ID, Time: op.At, User: op.By.User, Verb: op.Verb, Command: op.Command, Why: op.Why, Ticket: op.Ticket, Jobs: op.Jobs, Settled: op.Settled,
		Failed: op.Failed, AskAbove: s.AskAbove, Items: items, Waiting: s.waiting.of(op.ID)}
	if !op.Ended.IsZero() {
		out.Ended = &op.Ended
	}
	return out
}

// List of operations: GET /fed/v1/operations. A user is told of his own.
func (s *operations) ListOperations(ctx context.Context, c identity.Caller, _ v1.None) ([]v1.Operation, error) {
	out := []v1.Operation{}
	all, err := s.Store.Operations(ctx, false, listedItems)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for i := range all {
		if c.Owns(all[i].By.UID) {
			out = append(out, *s.tell(&all[i], nil))
		}
	}
	return out, nil
}

// Show is GET /fed/v1/operation/{id}.
func (s *operations) Show(r *http.Request, c identity.Caller, q v1.SettledQuery) (*v1.Operation, error) {
	op, err := s.find(r, c)
	if err != nil {
		return nil, err
	}
	if op.Settled <= q.After {
		return s.tell(op, nil), nil
	}
	all, err := s.Store.SettledItems(r.Context(), op.ID, q.After, itemsShown)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	jobs, err := s.jobsOf(r.Context(), idsOfItems(all))
	if err != nil {
		return nil, err
	}
	out := make([]v1.OperationItem, len(all))
	for i := range all {
		out[i] = itemOf(&all[i], jobs[all[i].Job])
	}
	return s.tell(op, out), nil
}

// Told is POST /fed/v1/operation/{id}/told.
func (s *operations) Told(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	op, err := s.find(r, c)
	if err != nil {
		return err
	}
	if err := s.Store.OperationTold(r.Context(), op.ID, s.Now().UTC()); err != nil {
		return answer.OfStore(err, answer.TimedOut)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// find is the operation that a path names. Those of others are for operators.
func (s *operations) find(r *http.Request, c identity.Caller) (*action.Operation, error) {
	unknown := &federation.SlurmError{Kind: federation.ErrNotFound, Alone: true, Text: fmt.Sprintf("no operation %q; see: fed job operations", r.PathValue("id"))}
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, unknown
	}
	all, err := s.Store.Operations(r.Context(), false, listedItems)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	i := slices.IndexFunc(all, func(op action.Operation) bool { return op.ID == action.OperationID(n) })
	if i < 0 || !c.Owns(all[i].By.UID) {
		return nil, unknown
	}
	return &all[i], nil
}

func idsOfItems(items []action.OperationItem) []federation.JobID {
	ids := make([]federation.JobID, len(items))
	for i := range items {
		ids[i] = items[i].Job
	}
	return ids
}

// jobsOf reads jobs.
func (s *operations) jobsOf(ctx context.Context, ids []federation.JobID) (map[federation.JobID]*federation.Job, error) {
	out := make(map[federation.JobID]*federation.Job, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	jobs, err := s.Store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for i := range jobs {
		out[jobs[i].ID] = &jobs[i]
	}
	return out, nil
}
