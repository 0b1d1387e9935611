package queue

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/share"
	"fsub/federation/spending"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// queueFilter is what GET /fed/v1/queue selects by: lists with commas of which one must fit, where a list is given at all.
type queueFilter struct {
	restd.Filter
	one bool // job_id names one job: that it is not known is an error
}

func readQueueFilter(q *v1.QueueQuery, c identity.Caller) (f queueFilter, err error) {
	refs := hostlist.Split(strings.Join(q.JobID, ","))
	for i, text := range refs {
		refs[i], _, _ = strings.Cut(text, "+") // a component stands for its job, as in squeue
	}
	chosen := *q
	chosen.JobID = refs
	f.Filter, err = restd.ReadFilter(v1.URLQuery(&chosen), c)
	f.one = len(refs) == 1
	return f, err
}

// row reports whether r is selected, what names jobs aside.
func (f *queueFilter) row(r *queueRow, ended time.Time) bool {
	facts := r.kind.facts.Value()
	switch {
	case f.Live && r.ended, r.endedBefore(ended):
		return false
	case len(f.States) > 0 && !slices.Contains(f.States, facts.state) && !slices.Contains(f.States, facts.base):
		return false
	}
	return (len(f.Users) == 0 || slices.Contains(f.Users, facts.user) || slices.Contains(f.Users, strconv.Itoa(int(facts.uid)))) &&
		restd.OneOf(f.Partitions, facts.part) && restd.OneOf(f.Accounts, facts.account) && restd.OneOf(f.QOS, facts.qos) && restd.OneOf(f.Clusters, facts.cluster) &&
		(len(f.Names) == 0 || restd.OneOf(f.Names, r.name()))
}

// name is the job's: few ask for it.
func (r *queueRow) name() string {
	var w wire.Job
	if v1.ReadRow(r.bytes(nil), &w) != nil {
		return ""
	}
	return w.Name
}

// named are the rows of the jobs that the filter names, known or not. A task that has started must be named itself; tasks
// that wait are in one row, of which the client shows those that were asked for.
func (q *Queue) named(f *queueFilter) (rows []*queueRow, known bool) {
	add := func(k *queuedJob, tasks federation.TaskSet) {
		known = true
		for r := range k.rows {
			if r.task() == waitingTasks || restd.Meant(tasks, int(r.task())) {
				rows = append(rows, r)
			}
		}
	}
	for id, tasks := range f.Refs {
		if k := q.jobs[id]; k != nil {
			add(k, tasks)
		}
		for _, k := range q.groups[id] {
			add(k, tasks)
		}
	}
	slices.SortFunc(rows, squeueOrder)
	return slices.Compact(rows), known
}

// selected are the rows that f selects, in squeue's order.
func (q *Queue) selected(f *queueFilter, user string) (rows []*queueRow, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shown = true
	known := true
	switch {
	case len(f.Refs) > 0:
		rows, known = q.named(f)
	case user != "":
		rows = q.rowsOf(user)
	default:
		rows = q.rows()
	}
	if f.one && !known {
		return nil, answer.InvalidJobID
	}
	return rows, nil
}

// Get is GET /fed/v1/queue: what squeue lists, as rows of package v1. With start, jobs that wait
// have the start that is expected of them; with cost, jobs that run have what they have come to.
func (q *Queue) Get(w http.ResponseWriter, r *http.Request, c identity.Caller, query v1.QueueQuery) error {
	f, err := readQueueFilter(&query, c)
	if err != nil {
		return err
	}
	order, err := readOrder(query.Sort)
	if err != nil {
		return err
	}
	age, err := q.age(r.Context())
	if err != nil {
		return err
	}
	all, err := q.selected(&f, q.onlyUser(&f.Filter))
	if err != nil {
		return err
	}
	ended := q.cfg().Now().Add(-q.cfg().Keep)
	rows := make([]*queueRow, 0, len(all))
	for _, row := range all {
		if f.row(row, ended) {
			rows = append(rows, row)
		}
	}
	var starts decision.Starts
	if query.Start {
		starts = q.cfg().Lister.Foretold(r.Context())
	}
	if len(order) > 0 {
		if rows, err = sortRows(rows, starts, order, q.cfg().Now()); err != nil {
			return err
		}
	}
	var spent spending.Spendings
	if query.Cost {
		spent = q.cfg().Lister.Spent(r.Context())
	}
	share.Hold(r.Context(), 8*len(rows)+64*(len(starts)+len(spent)))
	head := v1.QueueHead{Cluster: q.cfg().Cluster, Age: age.Seconds()}
	for _, warning := range q.cfg().Lister.UnknownUsers(&f.Filter) {
		head.InvalidUsers = append(head.InvalidUsers, strings.TrimPrefix(warning.Description, "Invalid user: "))
	}
	if head.InvalidNodes = unknownNodes(q.cfg().Lister, query.Nodes); len(head.InvalidNodes) > 0 {
		rows = nil
	}
	return writeRows(w, head, rows, starts, spent)
}

// mostUnknown is how many nodes that no site has are told one by one.
const mostUnknown = 1000

// foretell fills in the predicted start of a job that waits, if that is later than its begin time. It reports whether it is.
func foretell(r *queueRow, w *wire.Job, starts decision.Starts) bool {
	s, known := starts[federation.JobID(r.raw())]
	if !known || r.kind.facts.Value().base != wire.StatePending || w.StartTime.Value() >= s.At.Unix() {
		return false
	}
	w.StartTime = wire.Time(s.At)
	return true
}

// foretold appends the row as v1 writes it, with the expected start of a job that waits and what is known of that, or what a job that runs has come to.
func (r *queueRow) foretold(b []byte, starts decision.Starts, spent spending.Spendings) ([]byte, error) {
	row := r.bytes(b)
	if is := spent[federation.JobID(r.raw())]; is != nil && !r.ended && r.kind.facts.Value().base != wire.StatePending {
		return v1.AppendForetold(row, &v1.Foretold{Spent: wire.Num(int64(is.SoFar))}), nil
	}
	s, known := starts[federation.JobID(r.raw())]
	if !known || r.kind.facts.Value().base != wire.StatePending {
		return row, nil
	}
	var w wire.Job
	if err := v1.ReadRow(row[len(b):], &w); err != nil {
		return nil, err
	}
	f := v1.Foretold{Site: string(s.Site), Price: accounting.MoneyOf(float64(s.Price))}
	if foretell(r, &w, starts) {
		f.Shown = v1.ReadForetold(row[len(b):]).Shown
		shared, own := v1.AppendRow(nil, nil, &w)
		row = append(append(b, shared...), own...)
	}
	if s.Within.Unix() >= w.StartTime.Value() { // else the row's start is another's word
		f.Within = s.Within.Unix()
	}
	return v1.AppendForetold(row, &f), nil
}

// unknownNodes are the nodes of a hostlist that no site has.
func unknownNodes(sites *restd.Lister, list string) []string {
	if list == "" {
		return nil
	}
	known := map[string]bool{}
	for _, site := range sites.All() {
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Nodes {
			known[site.Seen.Nodes[i].Name] = true
		}
	}
	n, err := hostlist.Count(list)
	if err != nil || n > len(known)+mostUnknown {
		return []string{list}
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return []string{list}
	}
	return slices.DeleteFunc(names, func(name string) bool { return known[name] })
}

// onlyUser is the name of the only user that f selects, "" if there are more or it is not known.
func (q *Queue) onlyUser(f *restd.Filter) string {
	if len(f.Users) != 1 {
		return ""
	}
	name := f.Users[0]
	if uid, err := strconv.ParseUint(name, 10, 32); err == nil {
		name, _ = q.cfg().Users.UserName(uint32(uid))
	}
	return name
}

// writeRows writes the answer: with its length, unless jobs have an expected start or a cost, which is worked out as their rows go out.
func writeRows(w http.ResponseWriter, head v1.QueueHead, rows []*queueRow, starts decision.Starts, spent spending.Spendings) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	text = append(binary.AppendUvarint(nil, uint64(len(text))), text...)
	var prefix []byte
	buffer := 64 << 10
	w.Header().Set("Content-Type", "application/octet-stream")
	if starts == nil && spent == nil {
		size := len(text)
		for _, r := range rows {
			n := r.size()
			prefix = binary.AppendUvarint(prefix[:0], uint64(n))
			size += len(prefix) + n
		}
		w.Header().Set("Content-Length", strconv.Itoa(size))
		buffer = min(size, buffer)
	}
	out := bufio.NewWriterSize(w, buffer)
	out.Write(text)
	for _, r := range rows {
		if text, err = r.foretold(text[:0], starts, spent); err != nil {
			panic(err) // the row was written by us
		}
		prefix = binary.AppendUvarint(prefix[:0], uint64(len(text)))
		out.Write(prefix)
		if _, err := out.Write(text); err != nil {
			return nil // the client has gone
		}
	}
	out.Flush()
	return nil
}
