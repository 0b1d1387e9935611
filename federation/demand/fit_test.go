package demand_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fsub/federation/demand"
	"fsub/sbatch"
)

// anyNodes are nodes that are free in part.
func anyNodes(t *rapid.T) []demand.Node {
	nodes := make([]demand.Node, rapid.IntRange(0, 12).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = demand.Node{Name: fmt.Sprintf("n%d", i), CPUs: rapid.IntRange(0, 32).Draw(t, "cpus"), Mem: sbatch.MemMiB(rapid.IntRange(0, 64000).Draw(t, "mem")),
			GPUs: rapid.IntRange(0, 8).Draw(t, "gpus"), GPUType: rapid.SampledFrom([]string{"h100", "a100", ""}).Draw(t, "type"), Busy: rapid.Bool().Draw(t, "busy"),
			Threads: rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "threads")}
		nodes[i].CPUs -= nodes[i].CPUs % max(1, nodes[i].Threads)
	}
	return nodes
}

func anySpec(t *rapid.T) *sbatch.Spec {
	s := &sbatch.Spec{}
	number := func(name string, most int) int { return max(0, rapid.IntRange(-most, most).Draw(t, name)) }
	gpus := func(name string) string {
		n := number(name, 6)
		if n == 0 {
			return ""
		}
		return rapid.SampledFrom([]string{"", "h100:"}).Draw(t, name+" type") + fmt.Sprint(n)
	}
	s.MinNodes = number("min nodes", 5)
	if s.MinNodes > 0 {
		s.MaxNodes = s.MinNodes + number("more nodes", 4)
	}
	s.NTasks, s.NTasksPerNode, s.CPUsPerTask = number("tasks", 30), number("per node", 6), number("cpus", 6)
	switch rapid.IntRange(0, 4).Draw(t, "memory") {
	case 0:
		s.MemPerNode = sbatch.MemMiB(rapid.IntRange(1, 50000).Draw(t, "mem"))
	case 1:
		s.MemPerCPU = sbatch.MemMiB(rapid.IntRange(1, 8000).Draw(t, "mem per cpu"))
	case 2:
		s.MemPerNode = sbatch.MemAll
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind of gpus") {
	case 0:
		s.GPUs = gpus("gpus")
	case 1:
		s.GPUsPerNode = gpus("per node")
	case 2:
		s.GPUsPerTask = gpus("per task")
	case 3:
		if g := gpus("gres"); g != "" {
			s.GRES = "gpu:" + g
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "exclusive") == 0 {
		s.Exclusive = "exclusive"
	}
	if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		s.More = &sbatch.More{Overcommit: rapid.Bool().Draw(t, "overcommit"), MinCPUs: number("mincpus", 8), CPUsPerGPU: number("per gpu", 4), NTasksPerGPU: number("tasks per gpu", 3),
			ThreadsPerCore: rapid.IntRange(0, 1).Draw(t, "threads per core")}
		if s.NTasksPerNode > 0 || s.GPUsPerTask != "" {
			s.More.NTasksPerGPU = 0 // sbatch refuses both
		}
	}
	return s
}

// A job never gets more of a node than is free, gets what it asked for, and no node twice.
func TestFitNever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, nodes := anySpec(t), anyNodes(t)
		o := demand.Options{Whole: rapid.IntRange(0, 3).Draw(t, "whole") == 0, DefMemPerCPU: sbatch.MemMiB(rapid.SampledFrom([]int{0, 500}).Draw(t, "default"))}
		shares, err := demand.Fit(demand.Of(s), nodes, o)
		if err != nil {
			if shares != nil {
				t.Fatalf("an error and shares: %v", err)
			}
			return
		}
		tasks, gpus, last := 0, 0, -1
		for _, sh := range shares {
			n := nodes[sh.Node]
			if sh.Node <= last {
				t.Fatalf("nodes are not in order, or twice: %+v", shares)
			}
			last = sh.Node
			if sh.CPUs > n.CPUs || sh.Mem > n.Mem || sh.GPUs > n.GPUs || sh.CPUs < 1 || sh.Tasks < 1 {
				t.Fatalf("%+v of %+v", sh, n)
			}
			whole := o.Whole || s.Exclusive == "exclusive"
			if whole && (n.Busy || sh.CPUs != n.CPUs || sh.GPUs != n.GPUs) || s.MemPerNode == sbatch.MemAll && (n.Busy || sh.Mem != n.Mem) {
				t.Fatalf("not all of it, or it is not free: %+v of %+v", sh, n)
			}
			if s.MemPerNode > 0 && sh.Mem < s.MemPerNode {
				t.Fatalf("memory: %+v", sh)
			}
			if s.NTasksPerNode > 0 && sh.Tasks > s.NTasksPerNode {
				t.Fatalf("%d tasks on a node, want at most %d", sh.Tasks, s.NTasksPerNode)
			}
			if overcommit := s.More != nil && s.More.Overcommit; !overcommit && sh.Tasks*max(1, s.CPUsPerTask) > sh.CPUs {
				t.Fatalf("%d tasks of %d CPUs: %+v", sh.Tasks, s.CPUsPerTask, sh)
			}
			if typed := strings.Contains(s.GPUs+s.GPUsPerNode+s.GPUsPerTask+s.GRES, "h100"); typed && sh.GPUs > 0 && !whole && n.GPUType != "h100" {
				t.Fatalf("GPUs of another type: %+v of %+v", sh, n)
			}
			tasks += sh.Tasks
			gpus += sh.GPUs
		}
		if tied := s.More != nil && s.More.NTasksPerGPU > 0; s.NTasks > 0 && tasks != s.NTasks && !tied { // tasks of a GPU put -n away

			t.Fatalf("%d tasks, want %d: %+v", tasks, s.NTasks, shares)
		}
		if s.MaxNodes > 0 && s.GPUsPerNode == "" && len(shares) > max(s.MaxNodes, needed(s)) || s.NTasks == 0 && len(shares) < s.MinNodes {
			t.Fatalf("%d nodes, want %d-%d: %+v", len(shares), s.MinNodes, s.MaxNodes, shares)
		}
	})
}

// needed is how many nodes so many tasks of a node at most make.
func needed(s *sbatch.Spec) int {
	if s.NTasksPerNode == 0 {
		return 0
	}
	return (s.NTasks + s.NTasksPerNode - 1) / s.NTasksPerNode
}

// With one node less a job that may have any number does not fit; and what fits on some nodes fits on more of them.
func TestFitFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, nodes := anySpec(t), anyNodes(t)
		s.MinNodes, s.MaxNodes, s.NTasksPerNode = 0, 0, 0
		s.GPUs, s.GPUsPerTask = "", "" // by tasks alone
		for i := range nodes {         // else neighbours count
			nodes[i] = nodes[0]
		}
		if s.More != nil {
			s.More.NTasksPerGPU = 0
		}
		shares, err := demand.Fit(demand.Of(s), nodes, demand.Options{})
		if err != nil {
			return
		}
		fewer := *s
		if fewer.MaxNodes = len(shares) - 1; fewer.MaxNodes > 0 {
			fewer.MinNodes = 1
			if got, err := demand.Fit(demand.Of(&fewer), nodes, demand.Options{}); err == nil && len(got) < len(shares) {
				t.Fatalf("%d nodes do: %+v, but it got %+v", len(got), got, shares)
			}
		}
		more := append(nodes, demand.Node{Name: "more", CPUs: 4, Mem: 100})
		if got, err := demand.Fit(demand.Of(s), more, demand.Options{}); err != nil || len(got) > len(shares) {
			t.Fatalf("with one node more: %+v %v, without: %+v", got, err, shares)
		}
	})
}

// Need asks for as many fresh nodes as Fit then takes.
func TestNeedIsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		o := demand.Options{Whole: rapid.Bool().Draw(t, "whole")}
		shape := demand.Node{CPUs: 16, Mem: 64000, GPUs: 4, GPUType: "h100"}
		n, each, err := demand.Need(demand.Of(s), shape, o)
		const enough = 64
		fresh := make([]demand.Node, enough)
		for i := range fresh {
			fresh[i] = shape
		}
		shares, fitErr := demand.Fit(demand.Of(s), fresh, o)
		if (err == nil) != (fitErr == nil) {
			t.Fatalf("Need: %d %v, Fit: %d %v", n, err, len(shares), fitErr)
		}
		if err == nil && (n != len(shares) || !reflect.DeepEqual(each, shares[0])) {
			t.Fatalf("Need: %d of %+v, Fit: %+v", n, each, shares)
		}
		if err == nil {
			if _, err := demand.Fit(demand.Of(s), fresh[:n], o); err != nil {
				t.Fatalf("%d do not do: %v", n, err)
			}
		}
	})
}

func TestFitRefuses(t *testing.T) {
	node := []demand.Node{{Name: "n0", CPUs: 4, Mem: 1000, GPUs: 2, GPUType: "h100"}}
	for name, c := range map[string]struct {
		spec  sbatch.Spec
		noFit bool
	}{
		"other gres":      {sbatch.Spec{GRES: "nvme:1"}, false},
		"two types":       {sbatch.Spec{GPUs: "h100:1,a100:1"}, false},
		"another type":    {sbatch.Spec{GPUs: "a100:1"}, true},
		"no number":       {sbatch.Spec{GPUs: "h100:x"}, false},
		"bad list":        {sbatch.Spec{NodeList: "n[0"}, false},
		"named, not few":  {sbatch.Spec{NodeList: "n[0-2]", MinNodes: 1, MaxNodes: 2}, true},
		"GPUs of no task": {sbatch.Spec{GPUsPerTask: "1"}, false},
		"named, absent":   {sbatch.Spec{NodeList: "n7"}, true},
		"excluded":        {sbatch.Spec{Exclude: "n0"}, true},
		"too large":       {sbatch.Spec{CPUsPerTask: 5}, true},
	} {
		_, err := demand.Fit(demand.Of(&c.spec), node, demand.Options{})
		if err == nil || errors.Is(err, demand.ErrNoFit) != c.noFit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A dispatch asks for every pending job and every offering: with hundreds of candidates it must take microseconds.
func BenchmarkFit(b *testing.B) {
	nodes := make([]demand.Node, 500)
	for i := range nodes {
		nodes[i] = demand.Node{Name: fmt.Sprintf("aws-main-%d", i), CPUs: 4 + i%13, Mem: 64000, GPUs: i % 5, GPUType: "h100"}
	}
	for name, s := range map[string]*sbatch.Spec{"one": {NTasks: 1}, "gang": {MinNodes: 8, MaxNodes: 8, NTasksPerNode: 4, GPUsPerNode: "h100:4"}, "spread": {NTasks: 2000}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := demand.Fit(demand.Of(s), nodes, demand.Options{DefMemPerCPU: 1000}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
