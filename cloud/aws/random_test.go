package aws

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

// TestAnyOrder does what a daemon does in any order, with replies lost and the daemon killed in between. Whatever happens, a token never has more machines than
// were asked for, all or none of them were made, and in the end nothing is left.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			anyOrder(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func anyOrder(t *testing.T, dice *rand.Rand) {
	w := newSweepWorld(t)
	gangs := map[string]*provider.Request{}
	ended := map[string]bool{}
	for step := range 40 {
		switch dice.IntN(8) {
		case 0, 1: // a new gang
			zone := []string{"us-east-2a", "us-east-2b", "us-east-2"}[dice.IntN(3)]
			r := gang(providertest.Offer(t, w.p, "c7i.large/"+zone+"/on-demand"), fmt.Sprint("g-", step), 1+dice.IntN(4))
			r.Near = dice.IntN(2) == 0
			gangs[r.Token] = &r
			w.p.Create(t.Context(), r)
		case 2: // one that is asked for again
			if r := pick(dice, gangs); r != nil {
				if made, err := w.p.Create(t.Context(), *r); err == nil && len(made) != r.Count {
					t.Fatalf("step %d: %d machines of %s, not %d", step, len(made), r.Token, r.Count)
				}
			}
		case 3: // an end
			if r := pick(dice, gangs); r != nil {
				var ids []provider.InstanceID
				for _, i := range w.c.Instances() {
					if i.Tags[tagGang] == r.Token {
						ids = append(ids, provider.InstanceID(i.ID))
					}
				}
				if w.p.Delete(t.Context(), ids) == nil && len(ids) > 0 {
					ended[r.Token] = true
				}
			}
		case 4:
			w.p = open(t, w.cfg)
		case 5:
			kind := []ec2.FaultKind{ec2.LoseReply, ec2.LoseRequest}[dice.IntN(2)]
			action := []string{"RunInstances", "CreateFleet", "CreatePlacementGroup", "CreateLaunchTemplate", "DeleteLaunchTemplate", "TerminateInstances"}[dice.IntN(6)]
			w.c.Inject(ec2.Fault{Action: action, Kind: kind, Times: 1})
		case 6:
			w.now = w.now.Add(time.Duration(dice.IntN(200)) * time.Second)
			w.p.List(t.Context())
		case 7:
			w.c.SetStock(ec2.Pool{Zone: "us-east-2b"}, dice.IntN(4))
		}
		for token, n := range counts(w.c) {
			if r := gangs[token]; n != r.Count && n != 0 {
				t.Fatalf("step %d: %d machines of %s, not %d", step, n, token, r.Count)
			}
		}
	}
	w.c.ClearFaults()
	w.finish(ended)
}

// counts are the machines that were ever made, by token.
func counts(c *ec2.Cloud) map[string]int {
	n := map[string]int{}
	for _, i := range c.Instances() {
		n[i.Tags[tagGang]]++
	}
	return n
}

func pick(dice *rand.Rand, gangs map[string]*provider.Request) *provider.Request {
	if len(gangs) == 0 {
		return nil
	}
	tokens := slices.Sorted(maps.Keys(gangs))
	return gangs[tokens[dice.IntN(len(tokens))]]
}

// finish ends all that the listing shows, as a sweeper does, and looks for what is left.
func (w *sweepWorld) finish(ended map[string]bool) {
	w.Helper()
	providertest.Wait(w.T, "all machines ended", func() bool {
		all, err := w.p.List(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		var ids []provider.InstanceID
		for _, m := range all {
			if m.State == provider.InstancePending || m.State == provider.InstanceRunning {
				if ended[m.Token] {
					w.Errorf("%s of %s lives again", m.ID, m.Token)
				}
				ids = append(ids, m.ID)
			}
		}
		if err := w.p.Delete(w.Context(), ids); err != nil {
			w.Fatal(err)
		}
		return w.c.Live() == 0 && allEnded(w.T, w.p)
	})
	w.later(8 * time.Minute)
	if got := leftIn(w.T, w.p); len(got) > 0 {
		w.Errorf("%v is left", got)
	}
}
