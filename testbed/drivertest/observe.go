package drivertest

import (
	"slices"
	"time"

	"fsub/federation"
)

func (s *suite) observe() *federation.Observation {
	s.Helper()
	o, err := s.Driver.Observe(s.ctx)
	if err != nil {
		s.Fatalf("Observe: %v", err)
	}
	return o
}

func testObserve(s *suite) {
	o := s.observe()
	if o.Cluster == "" || o.Version == "" || o.Mode == "" || o.At.IsZero() {
		s.Errorf("cluster %q, version %q, mode %q, at %s", o.Cluster, o.Version, o.Mode, o.At)
	}
	i := slices.IndexFunc(o.Partitions, func(p federation.Partition) bool { return p.Name == s.Partition })
	if i < 0 || !o.Partitions[i].Up || len(o.Partitions[i].Nodes) != s.Nodes {
		s.Fatalf("partition %s with %d nodes: %+v", s.Partition, s.Nodes, o.Partitions)
	}
	defaults := 0
	for _, p := range o.Partitions {
		if p.Default {
			defaults++
		}
	}
	if defaults != 1 {
		s.Errorf("%d default partitions", defaults)
	}
	if !slices.IsSortedFunc(o.Nodes, func(a, b federation.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		s.Error("nodes are not sorted by name")
	}
	for _, n := range o.Nodes {
		if !slices.Contains(o.Partitions[i].Nodes, n.Name) {
			continue
		}
		gpu := slices.IndexFunc(n.GRES, func(g federation.GRES) bool { return g.Name == "gpu" && g.Type == s.GPUType })
		if n.CPUs < 1 || n.Mem < 1 || len(n.State) == 0 || gpu < 0 || n.GRES[gpu].Total < 1 || !slices.Contains(n.Partitions, s.Partition) {
			s.Errorf("node %+v", n)
		}
	}
	if o.Associations == nil {
		return // everybody may run
	}
	for user, account := range map[string]string{s.User.Name: s.Account, s.Other.Name: s.OtherAccount} {
		if !slices.ContainsFunc(o.Associations[user], func(a federation.Association) bool { return a.Account == account }) {
			s.Errorf("associations of %s: %+v, want account %s", user, o.Associations[user], account)
		}
	}
}

func testObserveRunning(s *suite) {
	id := s.submit(s.job("sleep 300", func(sub *federation.Submission) {
		sub.Job.Spec.GPUsPerNode, sub.Job.Spec.MinNodes, sub.Job.Spec.TimeLimit = s.GPUType+":1", 2, 30*time.Minute
	}))
	j := s.untilState(id, federation.Running)
	for range 2 { // the second look may come from what the driver remembers
		o := s.observe()
		i := slices.IndexFunc(o.Running, func(r federation.RunningJob) bool { return r.Job == id })
		if i < 0 {
			s.Fatalf("the running job is not among %d", len(o.Running))
		}
		r := o.Running[i]
		if end := j.Start.Add(30 * time.Minute); r.End.Before(end.Add(-2*time.Second)) || r.End.After(end.Add(2*time.Second)) {
			s.Errorf("ends %s, want %s", r.End, end)
		}
		gpu := slices.IndexFunc(r.GRES, func(g federation.GRES) bool { return g.Name == "gpu" && g.Used == 1 })
		if len(r.Nodes) != 2 || r.CPUs < 1 || gpu < 0 {
			s.Errorf("running job %+v", r)
		}
		for _, n := range o.Nodes {
			if slices.Contains(r.Nodes, n.Name) {
				gpu := slices.IndexFunc(n.GRES, func(g federation.GRES) bool { return g.Name == "gpu" && g.Used >= 1 })
				if gpu < 0 || n.CPUsUsed < 1 {
					s.Errorf("node of a running job: %+v", n)
				}
			}
		}
	}
	s.cancel(id, nil)
	s.eventually("the job is no longer among the running ones", s.Patience, func() string {
		if slices.ContainsFunc(s.observe().Running, func(r federation.RunningJob) bool { return r.Job == id }) {
			return "it is"
		}
		return ""
	})
}

func testStranger(s *suite) {
	if s.Stranger == nil {
		s.Skip("SKIPPED: the harness has no driver with bad credentials")
	}
	_, err := s.Stranger.Observe(s.ctx)
	s.wants("Observe with credentials that the site refuses", err, federation.ErrDenied)
	_, err = s.Stranger.Submit(s.ctx, s.job("exit 0", nil))
	s.wants("Submit with credentials that the site refuses", err, federation.ErrDenied)
}
