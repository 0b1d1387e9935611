package simsite

import (
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// Record is one row of slurmdbd's job table. A row that still says PENDING or RUNNING although the controller does not
// hold the job is what a forgotten job leaves behind.
type Record struct {
	JobID    uint32
	Array    uint32 // 0: none
	Task     int    // -1: none
	Tasks    string // of an array's own row: the tasks that have not started
	Desc     *wire.JobDesc
	User     string
	Account  string
	Part     string
	QOS      string
	State    federation.State
	Requeued bool // ended by a requeue
	Reason   reasons.Reason
	Submit   time.Time // to the second
	Eligible time.Time
	Start    time.Time
	End      time.Time
	Limit    time.Duration // 0: none
	Nodes    string
	TRES     string // allocated
	Exit     int32
	Restarts int
	Extra    string // written when the job ends
	Comment  string
	Admin    string
}

type row struct {
	Record
	seq int
}

// dbd is the site's slurmdbd.
type dbd struct {
	exists bool
	up     bool
	rows   []*row // by first submission
	byID   map[uint32][]*row
	queue  []func() // what the controller could not deliver yet
}

func newDBD(exists bool) dbd { return dbd{exists: exists, up: exists, byID: map[uint32][]*row{}} }

// record tells slurmdbd of a job's present state.
func (s *Site) record(j *job) {
	if !s.dbd.exists {
		return
	}
	if j.row == nil {
		j.row = s.newRow(j)
	}
	if s.dbd.up && len(s.dbd.queue) == 0 {
		s.fill(j.row, j)
		return
	}
	// Copies what it needs: the message says what was true when it was written.
	was, r := *j, j.row
	s.dbd.queue = append(s.dbd.queue, func() { s.fill(r, &was) })
}

// newRow finds or makes the row of a job: the table's key is the ID and the second of submission.
func (s *Site) newRow(j *job) *row {
	submit := stamp(j.submit).Truncate(time.Second)
	for _, r := range s.dbd.byID[j.id] {
		if r.Submit.Equal(submit) && r.JobID == j.id {
			r.Record = Record{Submit: submit, JobID: j.id}
			return r
		}
	}
	return &row{Record: Record{Submit: submit, JobID: j.id}, seq: -1}
}

// addGhost adds the row that 24.11 leaves when an array's record becomes that of its last task: younger than the real
// one, PENDING forever, eligible at no time.
func (s *Site) addGhost(j *job) {
	if s.modern() || !s.dbd.up || j.row == nil || stamp(s.now).Truncate(time.Second).Equal(j.row.Submit) {
		return
	}
	r := &row{Record: j.row.Record, seq: -1}
	s.fill(r, j)
	r.Submit, r.State, r.Eligible, r.Start, r.Nodes, r.TRES = stamp(s.now).Truncate(time.Second), federation.Pending, time.Time{}, time.Time{}, "", ""
}

// fill writes a job's state into its row, and the row into the table if it is new there.
func (s *Site) fill(r *row, j *job) {
	if r.seq < 0 {
		r.seq = len(s.dbd.rows)
		s.dbd.rows = append(s.dbd.rows, r)
		s.dbd.byID[j.id] = append(s.dbd.byID[j.id], r)
		if j.array != 0 && j.array != j.id {
			s.dbd.byID[j.array] = append(s.dbd.byID[j.array], r)
		}
	}
	r.Array, r.Task, r.Desc, r.User = j.array, j.task, j.desc, j.user.Name
	r.Account, r.QOS, r.Restarts = j.account, j.qos, j.restarts
	r.State, r.Reason, r.Exit = j.state, reasons.Reason(j.stateText), j.exit
	if j.part != nil {
		r.Part = j.part.Name
	}
	r.Eligible, r.Start, r.End = stamp(j.eligible), stamp(j.start), stamp(j.end)
	r.Limit, r.Nodes, r.TRES = time.Duration(j.limit), j.nodes, j.tres
	r.Tasks = ""
	if len(j.waiting) > 0 {
		r.Tasks = hostlist.Ranges(j.waiting)
	}
	if j.state.Ended() {
		r.Extra, r.Comment, r.Admin = j.desc.Extra, j.comment, j.desc.AdminComment
	}
}

// closeRecord ends the row of a job that goes back into the queue.
func (s *Site) closeRecord(j *job, o Outcome) {
	r := j.row
	if r == nil {
		return
	}
	state, at, extra, comment := federation.Cancelled, stamp(s.now), j.desc.Extra, j.comment
	if o == RunNodeFail {
		state = federation.NodeFail
	}
	end := func() {
		r.State, r.Requeued, r.End, r.Extra, r.Comment, r.Admin = state, true, at, extra, comment, j.desc.AdminComment
	}
	if s.dbd.up && len(s.dbd.queue) == 0 {
		end()
		return
	}
	s.dbd.queue = append(s.dbd.queue, end)
}

// flush delivers what the controller had to keep while slurmdbd was down.
func (s *Site) flush() {
	if !s.dbd.up || s.down {
		return
	}
	for _, f := range s.dbd.queue {
		f()
	}
	s.dbd.queue = nil
}

// tresOf writes what a job holds: "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=4,gres/gpu:h100=4".
func tresOf(j *job) string {
	cpus, mem := 0, int64(0)
	type counted struct {
		name string
		n    int
	}
	var gres []counted
	add := func(name string, n int) {
		for i := range gres {
			if gres[i].name == name {
				gres[i].n += n
				return
			}
		}
		gres = append(gres, counted{name, n})
	}
	for i := range j.shares {
		sh := &j.shares[i]
		cpus += sh.cpus
		mem += int64(sh.mem)
		for k, n := range sh.gres {
			if n == 0 {
				continue
			}
			g := sh.n.gres[k]
			add(g.Name, n)
			if g.Type != "" {
				add(g.Name+":"+g.Type, n)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cpu=%d,", cpus)
	if mem > 0 {
		fmt.Fprintf(&b, "mem=%dM,", mem)
	}
	fmt.Fprintf(&b, "node=%d,billing=%d", len(j.shares), cpus)
	for _, g := range gres {
		fmt.Fprintf(&b, ",gres/%s=%d", g.name, g.n)
	}
	return b.String()
}
