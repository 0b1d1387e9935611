package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/sbatch"
)

// TestGangsAvoidABadRail: one port of all nodes below a switch goes down, by their health checks. Gangs get none of these nodes while it is, and none of the nodes is
// drained or suspected by itself.
func TestGangsAvoidABadRail(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.cheap.leaf, b.cheap.extra = 16, 8, map[string]string{}
	b.wait(time.Minute)
	excluded := func() string {
		t.Helper()
		gang := b.submit(func(s *sbatch.Spec) { s.MinNodes, s.MaxNodes, s.Fed = 2, 2, &sbatch.Fed{Sites: []string{"cheap"}} })
		b.rounds(5)
		if b.cheap.asked[gang] == nil {
			t.Fatalf("the gang is not submitted: %+v", b.job(gang))
		}
		return b.cheap.asked[gang].Exclude
	}
	tell := func(from, to int, checks ...health.Check) {
		for n := from; n <= to; n++ {
			b.cheap.extra[fmt.Sprint("n", n)] = health.WriteChecks(checks)
		}
		b.wait(2 * time.Minute)
	}
	down := health.Check{Code: "check-link", Text: "port 1 of mlx5_3 is DOWN", Device: "mlx5_3:1"}
	tell(1, 2, down)
	if got := excluded(); got != "" {
		t.Fatalf("two ports are down, and a gang goes to the site with --exclude=%s", got)
	}
	tell(3, 6, down)
	if got := excluded(); got != "n[1-6]" {
		t.Fatalf("a gang goes to the site with --exclude=%s", got)
	}
	tell(7, 8, down)
	if got := excluded(); got != "n[1-8]" {
		t.Fatalf("a gang goes to the site with --exclude=%s", got)
	}
	report := b.ctl.Health()
	open := slices.IndexFunc(report.Breakers, func(k health.Breaker) bool { return k.Name == "part:cheap/leaf0:mlx5_3:1" && !k.Open.IsZero() })
	if open < 0 || !strings.HasPrefix(report.Breakers[open].Why, "port mlx5_3:1 is down on 8 of 8 nodes below leaf0 (n1 n2 n3 ...) since ") {
		t.Errorf("%+v", report.Breakers)
	}
	for _, n := range report.Nodes {
		if !n.Until.IsZero() || n.Drain != "" || slices.ContainsFunc(n.Fails, func(f health.Fail) bool { return f.Rail == "" }) {
			t.Errorf("%+v", n)
		}
	}
	site := b.ctl.rules.sites.byName["cheap"]
	if i := slices.IndexFunc(site.Conditions, func(c federation.Condition) bool { return c.Name == federation.CondBadPart }); i < 0 || site.Conditions[i].Detail != "gangs are kept off leaf0:mlx5_3:1 (nodes below it: 8)" {
		t.Errorf("%+v", site.Conditions)
	}
	tell(1, 8)
	if got := excluded(); got != "" {
		t.Errorf("the ports are back, and a gang goes there with --exclude=%s", got)
	}
}
