package simsite

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

func (s *Site) pingReply(c *call, up bool) response {
	p := wire.Ping{Hostname: s.cfg.Name + "-ctl", Pinged: "DOWN", Responding: up, Latency: 120, Mode: "primary", Primary: true}
	if up {
		p.Pinged = "UP"
	}
	return s.encode(http.StatusOK, &wire.PingResponse{Pings: wire.List[wire.Ping]{p}, Reply: s.meta(c)})
}

func (s *Site) getPing(c *call) { c.reply = s.pingReply(c, true) }

func (s *Site) getDiag(c *call) {
	d := wire.Diag{ReqTime: wire.Num(seconds(s.now)), ReqTimeStart: wire.Num(seconds(s.boot)), JobsSubmitted: int64(s.stats.Submitted),
		JobsStarted: int64(s.stats.Started), JobsCompleted: int64(s.stats.Ended - s.stats.Cancelled), JobsCanceled: int64(s.stats.Cancelled),
		JobsPending: int64(s.pending), JobsRunning: int64(s.running), DBDAgentQueueSize: int64(len(s.dbd.queue)),
		JobStatesTS: wire.Num(seconds(s.now))}
	s.ok(c, &wire.DiagResponse{Statistics: d, Reply: s.meta(c)})
}

func (s *Site) postSubmit(c *call) {
	var q wire.JobSubmitRequest
	if err := json.Unmarshal(c.body, &q); err != nil || q.Job == nil {
		c.reply = textResponse(http.StatusBadRequest, "Rejecting request. Failure parsing request.")
		return
	}
	if q.Script != "" {
		q.Job.Script = q.Script
	}
	id, warnings, err := s.submit(c.caller, q.Job)
	if err != nil {
		s.refuse(c, err, "slurm_submit_batch_job()")
		return
	}
	a := wire.JobSubmitResponse{JobID: int64(id), StepID: "batch", Reply: s.meta(c)}
	for _, w := range warnings {
		a.Warnings = append(a.Warnings, wire.Warning{Description: w, Source: "slurm_submit_batch_job()"})
	}
	s.ok(c, &a)
}

// getState writes its rows by hand: it is what a driver polls. A task that has started is
// named by its own raw number, "41_2", one that waits by the array's.
func (s *Site) getState(c *call) {
	buf := make([]byte, 0, 128+72*len(s.jobs))
	buf = append(buf, `{"jobs":[`...)
	n := len(buf)
	row := func(j *job, task int) {
		if len(buf) > n {
			buf = append(buf, ',')
		}
		buf = append(buf, `{"job_id":"`...)
		buf = strconv.AppendUint(buf, uint64(j.id), 10)
		if j.array != 0 && task >= 0 {
			buf = append(buf, '_')
			buf = strconv.AppendInt(buf, int64(task), 10)
		} else if j.array != 0 {
			buf = append(buf, "_*"...)
		}
		buf = append(buf, `","state":["`...)
		buf = append(buf, j.state...)
		if j.closing {
			buf = append(buf, `","COMPLETING`...)
		}
		buf = append(buf, `"]}`...)
	}
	rows := func(j *job, only []int) {
		if len(j.waiting) == 0 && (only == nil || slices.Contains(only, j.task)) {
			row(j, j.task)
		}
		for _, t := range j.waiting {
			if only == nil || slices.Contains(only, t) {
				row(j, t)
			}
		}
	}
	if ids := c.query.Get("job_id"); ids != "" {
		for id := range strings.SplitSeq(ids, ",") {
			t, _ := s.parseTarget(id)
			for _, j := range s.records(t) {
				rows(j, t.tasks)
			}
		}
	} else {
		for _, j := range s.order {
			if j != nil {
				rows(j, nil)
			}
		}
	}
	meta, _ := json.Marshal(s.meta(c))
	buf = append(buf, "],"...)
	buf = append(buf, meta[1:]...)
	c.reply = response{status: http.StatusOK, body: buf}
}

func (s *Site) getJobs(c *call) {
	a := wire.JobsResponse{LastBackfill: wire.Num(0), LastUpdate: wire.Num(seconds(s.now)), Reply: s.meta(c)}
	for _, j := range s.order {
		if j != nil {
			a.Jobs = append(a.Jobs, s.wireJob(j))
		}
	}
	s.ok(c, &a)
}

// getJob: for the ID of an array all its records, for a task's own number that task. Array names like "17_2" are refused.
func (s *Site) getJob(c *call) {
	id, err := strconv.ParseUint(c.arg, 10, 32)
	list := s.records(target{id: uint32(id)})
	if err != nil || id >= 1<<26-1 || len(list) == 0 {
		s.refuse(c, errJobID, "slurm_load_job()")
		return
	}
	a := wire.JobsResponse{LastBackfill: wire.Num(0), LastUpdate: wire.Num(seconds(s.now)), Reply: s.meta(c)}
	for _, j := range list {
		a.Jobs = append(a.Jobs, s.wireJob(j))
	}
	s.ok(c, &a)
}

func (s *Site) postJob(c *call) {
	var d wire.JobDesc
	id, err := strconv.ParseUint(c.arg, 10, 32)
	if err != nil || id >= 1<<26-1 {
		s.refuse(c, errJobID, "slurm_update_job2()")
		return
	}
	if json.Unmarshal(c.body, &d) != nil {
		c.reply = textResponse(http.StatusBadRequest, "Rejecting request. Failure parsing request.")
		return
	}
	if err := s.update(c.caller, uint32(id), &d); err != nil {
		s.refuse(c, err, "slurm_update_job2()")
		return
	}
	s.ok(c, &wire.JobUpdateResponse{Reply: s.meta(c)})
}

// deleteJob answers 200 even when it was refused: status[] tells.
func (s *Site) deleteJob(c *call) {
	sig := federation.Signal{Name: c.query.Get("signal")}
	flags := strings.Split(c.query.Get("flags"), ",")
	sig.Batch = slices.Contains(flags, wire.KillBatch)
	a := wire.KillJobsResponse{Reply: s.meta(c)}
	id, _, _ := strings.Cut(c.arg, "_")
	if n, err := strconv.ParseUint(id, 10, 32); err != nil || n >= 1<<26-1 {
		s.refuse(c, errJobID, "slurm_kill_jobs()")
		return
	}
	s.tell(&a, c.arg, s.kill(c.caller, c.arg, sig))
	s.ok(c, &a)
}

// tell puts what became of a job into the answer: only refusals are listed.
func (s *Site) tell(a *wire.KillJobsResponse, id string, err error) {
	r, ok := err.(*Refusal)
	if !ok {
		return
	}
	t, _ := s.parseTarget(id)
	a.Status = append(a.Status, wire.KillStatus{Error: wire.KillError{Text: r.Text, Code: r.Number, Message: r.Text}, StepID: id,
		JobID: wire.Num(int64(t.id))})
}

func (s *Site) deleteJobs(c *call) {
	var q wire.KillJobs
	if json.Unmarshal(c.body, &q) != nil {
		c.reply = textResponse(http.StatusBadRequest, "Rejecting request. Failure parsing request.")
		return
	}
	a := wire.KillJobsResponse{Reply: s.meta(c)}
	sig := federation.Signal{Name: q.Signal, Batch: slices.Contains(q.Flags, wire.KillBatch)}
	for _, id := range q.Jobs {
		s.tell(&a, id, s.kill(c.caller, id, sig))
	}
	s.ok(c, &a)
}

// postRequeue requeues the jobs that it names, as scontrol does. There is no such operation before v0.0.45.
func (s *Site) postRequeue(c *call) {
	var q wire.KillJobs
	if json.Unmarshal(c.body, &q) != nil {
		c.reply = textResponse(http.StatusBadRequest, "Rejecting request. Failure parsing request.")
		return
	}
	a := wire.KillJobsResponse{Reply: s.meta(c)}
	for _, id := range q.Jobs {
		s.tell(&a, id, s.requeueNamed(c.caller, id))
	}
	s.ok(c, &a)
}

func (s *Site) getNodes(c *call) {
	a := wire.NodesResponse{LastUpdate: wire.Num(seconds(s.now)), Reply: s.meta(c)}
	list := s.nodes
	if c.arg != "" {
		n := s.nodeByName[c.arg]
		if n == nil {
			s.refuse(c, errNodeName, "slurm_load_node_single()")
			return
		}
		list = []*node{n}
	}
	for _, n := range list {
		a.Nodes = append(a.Nodes, s.wireNode(n))
	}
	s.ok(c, &a)
}

func (s *Site) postNode(c *call) {
	var q struct {
		Name   wire.Strings `json:"name"`
		State  wire.Strings `json:"state"`
		Reason string       `json:"reason"`
	}
	if json.Unmarshal(c.body, &q) != nil {
		c.reply = textResponse(http.StatusBadRequest, "Rejecting request. Failure parsing request.")
		return
	}
	if c.arg != "" {
		q.Name = wire.Strings{c.arg}
	}
	for _, name := range q.Name { // those before one that is refused stay changed
		if err := s.setNode(c.caller, name, q.State, q.Reason); err != nil {
			s.refuse(c, err, "slurm_update_node()")
			return
		}
	}
	s.ok(c, s.meta(c))
}

func (s *Site) getPartitions(c *call) {
	a := wire.PartitionsResponse{LastUpdate: wire.Num(seconds(s.now)), Reply: s.meta(c)}
	for _, p := range s.parts {
		if c.arg == "" || c.arg == p.Name {
			a.Partitions = append(a.Partitions, s.wirePartition(p))
		}
	}
	s.ok(c, &a)
}

func (s *Site) postReservation(c *call) {
	var d wire.ReservationDesc
	if json.Unmarshal(c.body, &d) != nil {
		c.reply = textResponse(http.StatusBadRequest, "Rejecting request. Failure parsing request.")
		return
	}
	if err := s.reserve(c.caller, &d); err != nil {
		s.refuse(c, err, "slurm_create_reservation")
		return
	}
	s.ok(c, s.meta(c))
}

func (s *Site) deleteReservation(c *call) {
	if err := s.unreserve(c.caller, c.arg); err != nil {
		s.refuse(c, err, "slurm_delete_reservation")
		return
	}
	s.ok(c, s.meta(c))
}

func (s *Site) getReservations(c *call) {
	a := wire.ReservationsResponse{LastUpdate: wire.Num(seconds(s.now)), Reply: s.meta(c)}
	for _, r := range s.resvs {
		w := wire.Reservation{Name: r.Name, StartTime: wire.Num(r.Start.Unix()), EndTime: wire.Num(r.End.Unix()), NodeCount: int64(len(r.Nodes)),
			NodeList: hostlist.Compress(r.Nodes), Users: strings.Join(r.Users, ","), Accounts: strings.Join(r.Accounts, ",")}
		if r.Maint {
			w.Flags = wire.Strings{"MAINT"}
		}
		a.Reservations = append(a.Reservations, w)
	}
	s.ok(c, &a)
}

func (s *Site) getLicenses(c *call) {
	s.ok(c, &struct {
		Licenses wire.Strings `json:"licenses"`
		wire.Reply
	}{Reply: s.meta(c)})
}
