package controller

import (
	"context"
	"slices"
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

// hearing is a site that keeps what it was sent.
type hearing struct {
	*fakeSite
	got []federation.Submission
}

func (h *hearing) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	h.got = append(h.got, s)
	return h.fakeSite.Submit(ctx, s)
}

// A site is sent what it was offered for, the stored job stays what the user asked for.
func TestSubmitsWhatWasOffered(t *testing.T) {
	b := newBench(t)
	site := &hearing{fakeSite: b.cheap}
	b.drive(site)
	cheap := b.ctl.sites.byName["cheap"]
	cheap.Options, cheap.told = []federation.PluginOption{{Name: "image", Plugin: "pyxis"}}, nil
	id := b.submit(func(s *sbatch.Spec) {
		s.GPUsPerNode, s.Fed = "a100:1", &sbatch.Fed{Accelerators: []string{"a100", "h100:2"}}
		s.Plugin = []sbatch.PluginOption{{Name: "image", Value: "x"}}
	})
	b.rounds(4)
	b.want(id, federation.Pending, "", "cheap")
	if len(site.got) != 1 || site.got[0].Job.Spec.GPUsPerNode != "h100:2" || site.got[0].Offer.As != "h100:2" {
		t.Fatalf("the site was sent %+v", site.got)
	}
	if env := site.got[0].Payload.Environment; !slices.Contains(env, "_SLURM_SPANK_OPTION_pyxis_image=x") {
		t.Errorf("its environment is %q", env)
	}
	if j := b.job(id); j.Spec.GPUsPerNode != "a100:1" {
		t.Errorf("the job asks for %s now", j.Spec.GPUsPerNode)
	}
}

// Judgements are remembered by what matters: the working directory matters where a site does not have all.
func TestJudgedByWorkDir(t *testing.T) {
	b := newBench(t)
	for _, s := range b.ctl.sites.all {
		s.FileSystems = []string{"/home"}
	}
	b.ctl.published = b.ctl.published.AddDate(-1, 0, 0)
	b.ctl.publish()
	b.ctl.shown.Store(&viewOfSites{sites: b.ctl.Sites(), judged: &judgements{}})
	job := func(dir string) *federation.Job {
		return &federation.Job{User: "alice", Spec: &sbatch.Spec{WorkDir: dir}}
	}
	for _, dir := range []string{"/home/a", "/data", "/home/b", "/data", "/home/a"} {
		if err := b.ctl.Judge(job(dir)); (err == nil) != (dir != "/data") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestTry(t *testing.T) {
	b := newBench(t)
	got, err := b.ctl.Try(ended(t), &federation.Job{User: "alice", Spec: &sbatch.Spec{GPUsPerNode: "2", WorkDir: "/"}})
	if err != nil || got.Site != "cheap" || got.Partition != "main" || len(got.Nodes) != 1 || got.Processors != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err = b.ctl.Try(ended(t), &federation.Job{User: "alice", Spec: &sbatch.Spec{GPUsPerNode: "200", WorkDir: "/"}}); err == nil {
		t.Error("a job that can run nowhere would start somewhere")
	}
}

// ended is a context that is over: what asks the controller is not to wait for a round.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
