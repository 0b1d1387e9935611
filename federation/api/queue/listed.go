package queue

import (
	"iter"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/submission"
	"fsub/federation/reasons"
)

// Facts are what conditions look at of a job and what jobs are counted by. Many jobs have the same.
type Facts struct {
	User, Account string
	State         federation.State // of an array: of its tasks that wait
	Reason        reasons.Reason
	Site          federation.SiteName // "": it waits in the federation's queue
	Partition     string              // where it runs or ran, else those that it asks for, with commas
	Group         string              // "": none
	GPUs          string              // the kinds that it asks for, each with a comma behind it; "": no GPU. Any kind is ""
}

// Listed is a job as lists of jobs have it: of an array one stands for the tasks that wait, and each other task is a job of its own.
type Listed struct {
	Facts
	ID     federation.JobID
	Array  federation.JobID // that it is a task of; 0: none
	Index  int              // of that task
	Name   string
	Nodes  string // hostlist
	Submit int64  // in seconds since 1970
}

// ListedOf is how lists have a job. It reports whether they do: components are told by their leader, and an array of which nothing is left by its tasks.
func ListedOf(j *federation.Job) (Listed, bool) {
	l := Listed{
		Facts: Facts{User: j.User, Account: submission.AccountOf(j), State: j.State, Reason: j.Reason, Site: j.Site, Partition: j.Partition, Group: j.Spec.GroupName()},
		ID:    j.ID, Name: j.Spec.Name, Nodes: j.Nodes, Submit: j.Submit.Unix(),
	}
	needs := j.Needs()
	if l.Partition == "" {
		l.Partition = strings.Join(needs.Partitions, ",")
	}
	for _, g := range needs.GRES {
		if g.Name == "gpu" {
			l.GPUs += g.Type + ","
		}
	}
	if j.Part != nil {
		l.Array, l.Index = j.Part.Array, j.Part.Index
	}
	spread := j.Whole != nil && j.Whole.Spread
	if spread {
		l.State = federation.Pending // what is left of it waits
	}
	return l, j.Component == nil && !(spread && (j.Spec.Array == "" || j.Cancel))
}

// PartitionList are the partitions of f.
func (f *Facts) PartitionList() iter.Seq[string] { return strings.SplitSeq(f.Partition, ",") }

// GPUKinds are the kinds of GPU that a job asks for.
func (f *Facts) GPUKinds() []string {
	if f.GPUs == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(f.GPUs, ","), ",")
}

// listing is what lists of jobs look at of a job that is not one of many that wait alike; of those their kind has it.
type listing struct {
	id                 federation.JobID
	class              int32
	array              federation.JobID
	index              int32
	submit, start, end int64 // in seconds since 1970; 0: not yet
	cost               federation.Money
	name, nodes        string
	tasks              int64 // how many it stands for
}

// listingOf is the listing of a job; nil: lists do not have it.
func (q *listings) listingOf(j *federation.Job) *listing {
	l, ok := ListedOf(j)
	if !ok {
		return nil
	}
	x := &listing{id: j.ID, class: q.classes.of(classKey{Facts: l.Facts}), array: l.Array, index: int32(l.Index), submit: l.Submit, cost: j.Cost, name: l.Name, nodes: l.Nodes, tasks: 1}
	if j.State.Started() || j.State.Ended() {
		x.start = seconds(j.Start)
	}
	if j.State.Ended() {
		x.end = seconds(j.End)
	}
	if array, err := federation.ReadArray(j.Spec.Array); err == nil && j.Part == nil && array.Len() > 0 {
		x.tasks = int64(array.Len())
	}
	return x
}

// classOfKind is the class of jobs that wait alike.
func (q *listings) classOfKind(like *federation.Job) int32 {
	l, _ := ListedOf(like) // lists have all that wait alike
	return q.classes.of(classKey{l.Facts, l.Name, true})
}

// seconds is a time in seconds since 1970; 0: not set.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// listed is k as lists have it.
func (q *listings) listed(k *queuedJob) Listed {
	if k.rest == nil {
		c := &q.classes.all[k.row.kind.class]
		return Listed{Facts: c.Facts, ID: federation.JobID(k.row.id), Name: c.name, Submit: k.row.submit}
	}
	x := k.rest.list
	return Listed{Facts: q.classes.all[x.class].Facts, ID: x.id, Array: x.array, Index: int(x.index), Name: x.name, Nodes: x.nodes, Submit: x.submit}
}

// class is that of a job in lists; it has one.
func (k *queuedJob) class() int32 {
	if k.rest == nil {
		return k.row.kind.class
	}
	return k.rest.list.class
}

// isListed reports whether lists have k.
func (k *queuedJob) isListed() bool { return k.rest == nil || k.rest.list != nil }

// tasks is how many tasks k stands for; a job without tasks is one.
func (k *queuedJob) tasks() int64 {
	if k.rest == nil {
		return 1
	}
	return k.rest.list.tasks
}

// listings are what lists and counts of jobs are made of. The queue's lock guards it.
type listings struct {
	classes classes
	indexes []*index
	news    *news // of an index that is being made; nil: none is
}

func (q *listings) add(k *queuedJob) {
	if !k.isListed() {
		return
	}
	q.classes.count(k.class(), 1, k.tasks())
	for _, x := range q.indexes {
		x.insert(q, k)
	}
	if q.news != nil {
		q.news.came = append(q.news.came, k)
	}
}

func (q *listings) remove(k *queuedJob) {
	if !k.isListed() {
		return
	}
	for _, x := range q.indexes {
		x.remove(q, k)
	}
	if q.news != nil {
		q.news.gone[k] = true
	}
	q.classes.count(k.class(), -1, -k.tasks())
}

// replace puts a job in the place of another with the same facts.
func (q *listings) replace(old, k *queuedJob) {
	for _, x := range q.indexes {
		x.remove(q, old)
		x.insert(q, k)
	}
	if q.news != nil {
		q.news.gone[old] = true
		q.news.came = append(q.news.came, k)
	}
}

// class is what listed jobs have in common.
type class struct {
	classKey
	jobs, tasks int64
}

type classKey struct {
	Facts
	name  string
	named bool // all have this name
}

// classes are those of all listed jobs, numbered. A number is used again once no job has the class.
type classes struct {
	numbers map[classKey]int32
	all     []class
	free    []int32
	views   []*countView // those that somebody has asked for
}

// of is the number of a class, which goes once the count of its jobs is back at 0.
func (c *classes) of(key classKey) int32 {
	if n, ok := c.numbers[key]; ok {
		return n
	}
	if c.numbers == nil {
		c.numbers = map[classKey]int32{}
	}
	n := int32(len(c.all))
	if last := len(c.free) - 1; last >= 0 {
		n, c.free = c.free[last], c.free[:last]
	} else {
		c.all = append(c.all, class{})
	}
	c.all[n] = class{classKey: key}
	c.numbers[key] = n
	return n
}

// count adds to the jobs and tasks of a class.
func (c *classes) count(n int32, jobs, tasks int64) {
	x := &c.all[n]
	x.jobs += jobs
	x.tasks += tasks
	for _, v := range c.views {
		v.count(&x.Facts, jobs, tasks)
	}
	if x.jobs == 0 {
		delete(c.numbers, x.classKey)
		*x = class{}
		c.free = append(c.free, n)
	}
}

// clear forgets all jobs, and keeps no index.
func (q *listings) clear() { *q = listings{} }
