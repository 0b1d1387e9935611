package restd

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

// Filter selects jobs of a listing. Beside slurmrestd's own update_time the commands pass, so that asking for
// one job does not cost a listing of all: job_id, users, states, name, partition, account, qos (lists with commas).
type Filter struct {
	Refs       map[federation.JobID]federation.TaskSet // an empty set: all of the job
	Users      []string                                // names or uids
	States     []string                                // Slurm's long names
	Names      []string
	Partitions []string
	Accounts   []string
	QOS        []string
	Clusters   []string // sites, or the federation for the jobs that have none
	Live       bool     // not those that have ended
}

// mostListed bounds each list of a Filter: each job is compared with all of it.
const mostListed = 1024

func ReadFilter(q url.Values, c identity.Caller) (Filter, error) {
	f := Filter{
		Users: CSV(q, "users", "user"), States: Upper(CSV(q, "states", "state")), Names: CSV(q, "name", "job_name"),
		Partitions: CSV(q, "partition"), Accounts: CSV(q, "account"), QOS: CSV(q, "qos"),
		Clusters: CSV(q, "cluster"), Live: q.Get("live") != "",
	}
	for name, list := range map[string][]string{"users": f.Users, "states": f.States, "name": f.Names, "partition": f.Partitions, "account": f.Accounts, "qos": f.QOS, "cluster": f.Clusters} {
		if len(list) > mostListed {
			return f, answer.BadBody(fmt.Sprintf("%s: %d values, at most %d are allowed", name, len(list), mostListed))
		}
	}
	for i := range f.Users {
		if f.Users[i] == v1.OfCaller {
			f.Users[i] = strconv.FormatUint(uint64(c.UID), 10)
		}
	}
	var total submission.TaskCount
	for _, text := range hostlist.Split(strings.Join(append(q["job_id"], q["step"]...), ",")) {
		id, tasks, err := ParseRef(text)
		if err != nil {
			return f, err
		}
		if err := total.Add(max(tasks.Scattered(), 1)); err != nil { // ranges take no more than themselves
			return f, err
		}
		f.Add(id, tasks)
	}
	return f, nil
}

// Add selects tasks of a job, all of it if there are none.
func (f *Filter) Add(id federation.JobID, tasks federation.Array) {
	if f.Refs == nil {
		f.Refs = map[federation.JobID]federation.TaskSet{}
	}
	have, known := f.Refs[id]
	switch {
	case tasks.Len() == 0 || known && have.Len() == 0:
		f.Refs[id] = federation.TaskSet{}
	default:
		more := tasks.Set()
		f.Refs[id] = have.Or(&more)
	}
}

// Meant reports whether a reference to an array, or to some of its tasks, means task i.
func Meant(tasks federation.TaskSet, i int) bool { return tasks.Len() == 0 || tasks.Has(i) }

// Query is the part of f that the store can answer.
func (f *Filter) Query(users identity.Users) federation.JobQuery {
	var q federation.JobQuery
	for id := range f.Refs {
		q.IDs = append(q.IDs, id)
	}
	slices.Sort(q.IDs)
	if len(f.Users) == 1 {
		q.User = f.Users[0]
		if uid, err := strconv.ParseUint(q.User, 10, 32); err == nil {
			q.User, _ = users.UserName(uint32(uid)) // unknown: all, and none matches
		}
	}
	if len(f.Names) == 1 {
		q.Name = f.Names[0]
	}
	// A task may wait while its array has ended in part, but not when it has ended.
	q.Live = f.Live || len(f.States) > 0 && !slices.ContainsFunc(f.States, func(s string) bool { return federation.State(s).Ended() })
	return q
}

// job reports whether j is selected, state and tasks aside.
func (f *Filter) job(v *View, j *federation.Job) bool {
	return (len(f.Users) == 0 || slices.Contains(f.Users, j.User) || slices.Contains(f.Users, strconv.Itoa(int(j.UID)))) &&
		OneOf(f.Names, j.Spec.Name) && OneOf(f.Partitions, v.partitionOf(j)) &&
		OneOf(f.Accounts, cmp.Or(j.Account, j.Spec.Account)) && OneOf(f.QOS, cmp.Or(j.Spec.QOS, "normal")) &&
		OneOf(f.Clusters, cmp.Or(string(j.Site), v.cluster))
}

// part reports whether a part of a selected job is selected. Of tasks that have not started, those not asked for are taken away.
func (f *Filter) part(p *Part) bool {
	if f.Live && p.State.Ended() || len(f.States) > 0 && !slices.Contains(f.States, string(p.State)) && !slices.ContainsFunc(p.States(), func(s string) bool { return slices.Contains(f.States, s) }) {
		return false
	}
	if _, asked := f.Refs[p.Job.ID]; asked && p.Job.Part != nil {
		return true // by its own number
	}
	return p.array == 0 || p.task == nil || Meant(f.Refs[p.array], p.task.Index)
}

func OneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

func CSV(q url.Values, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range q[name] {
			for item := range strings.SplitSeq(v, ",") {
				if item != "" {
					out = append(out, item)
				}
			}
		}
	}
	return out
}

func Upper(list []string) []string {
	for i := range list {
		list[i] = strings.ToUpper(list[i])
	}
	return list
}

// ParseRef reads one job as Slurm writes it: "17", "17_3", "17_[1-3]", "17+1" (a component). A step after it is left out of account.
func ParseRef(text string) (federation.JobID, federation.Array, error) {
	none := federation.Array{}
	base, _, _ := strings.Cut(text, ".")
	idText, taskText, hasTask := strings.Cut(base, "_")
	idText, component, isComponent := strings.Cut(idText, "+")
	n, err := strconv.ParseUint(idText, 10, 32)
	if isComponent && err == nil {
		var offset uint64
		offset, err = strconv.ParseUint(component, 10, 8)
		n += offset
	}
	if err != nil || n == 0 {
		return 0, none, answer.Detailed(answer.InvalidJobID, fmt.Sprintf("no job %q", text))
	}
	if !hasTask {
		return federation.JobID(n), none, nil
	}
	array, err := federation.ReadArray(taskText)
	if err != nil || array.Len() > federation.MaxArrayIndex+1 || array.Scattered() > federation.MaxNamed {
		return 0, none, answer.Detailed(answer.InvalidJobID, fmt.Sprintf("no job %q", text))
	}
	return federation.JobID(n), array, nil
}
