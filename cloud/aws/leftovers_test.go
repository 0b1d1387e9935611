package aws

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

func asError(err error, e **provider.Error) bool { return errors.As(err, e) }

// sweepWorld is a cloud with a clock.
type sweepWorld struct {
	*testing.T
	c   *ec2.Cloud
	cfg Config
	p   *Provider
	now time.Time
}

func newSweepWorld(t *testing.T) *sweepWorld {
	w := &sweepWorld{T: t, now: time.Now()}
	var url string
	w.c, url = world(t, ec2.Config{})
	w.cfg = standIn(w.c, url, credentials(t, w.c.AccessKey(), w.c.SecretKey()))
	w.cfg.AnyZone, w.cfg.Logger, w.cfg.Now = true, quiet, func() time.Time { return w.now }
	w.p = open(t, w.cfg)
	return w
}

func (w *sweepWorld) list() {
	w.Helper()
	if _, err := w.p.List(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// later lists as the daemon does, each minute.
func (w *sweepWorld) later(d time.Duration) {
	w.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(time.Minute)
		w.list()
	}
}

func (w *sweepWorld) run(zone, how string) {
	action := "RunInstances"
	if !strings.HasSuffix(zone, "a") {
		action = "CreateFleet"
	}
	r := gang(providertest.Offer(w.T, w.p, "c7i.large/"+zone+"/on-demand"), "near-1", 2)
	r.Near = true
	switch how {
	case "refused":
		w.c.SetStock(ec2.Pool{}, 0)
	case "reply lost":
		w.c.Inject(ec2.Fault{Action: action, Kind: ec2.LoseReply})
	case "crash before the machines", "crash, and asked again":
		w.c.Inject(ec2.Fault{Action: action, Kind: ec2.LoseRequest})
	}
	made, err := w.p.Create(w.Context(), r)
	if (err == nil) != (how == "deleted") {
		w.Fatalf("Create: %v", err)
	}
	w.c.ClearFaults()
	if strings.HasPrefix(how, "crash") {
		w.p = open(w.T, w.cfg)
	}
	if how == "reply lost" || how == "crash, and asked again" {
		if made, err = w.p.Create(w.Context(), r); err != nil {
			w.Fatal(err)
		}
	}
	if len(made) > 0 {
		w.later(20 * time.Minute)
		if got := leftIn(w.T, w.p); len(got) != 1 || got[0] != "fsub-aws-near-1" {
			w.Errorf("while the gang runs there is %v", got)
		}
		if err := w.p.Delete(w.Context(), idsOf(made)); err != nil {
			w.Fatal(err)
		}
		providertest.Wait(w.T, "all ended", func() bool { return w.c.Live() == 0 })
		providertest.Wait(w.T, "all shown as ended", func() bool { w.list(); return allEnded(w.T, w.p) })
	}
	if how == "refused" {
		if got := leftIn(w.T, w.p); len(got) > 0 {
			w.Errorf("right after the refusal there is %v", got)
		}
	}
	w.later(6 * time.Minute)
	if got := leftIn(w.T, w.p); len(got) > 0 {
		w.Errorf("%v is left", got)
	}
	// With nothing left there is nothing to look for.
	w.c.ResetCalls()
	w.later(time.Hour)
	if n := w.c.Count("DescribePlacementGroups"); n > 1 {
		w.Errorf("%d looks for placement groups in an hour without any", n)
	}
}

func allEnded(t *testing.T, p *Provider) bool {
	t.Helper()
	all, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.State != provider.InstanceEnded {
			return false
		}
	}
	return true
}

// templates and groups that the stand-in has, by name.
func leftIn(t *testing.T, p *Provider) []string {
	t.Helper()
	all, err := p.region.findLeft(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, one := range all {
		names[one.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// TestNothingIsLeft: whatever becomes of a gang, its placement group and its template are gone in the end, and not before its machines.
func TestNothingIsLeft(t *testing.T) {
	for _, zone := range []string{"us-east-2a", "us-east-2"} {
		for _, how := range []string{"deleted", "refused", "reply lost", "crash before the machines", "crash, and asked again"} {
			t.Run(fmt.Sprint(zone, " ", how), func(t *testing.T) {
				t.Parallel()
				newSweepWorld(t).run(zone, how)
			})
		}
	}
}
