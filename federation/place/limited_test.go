package place

import (
	"reflect"
	"testing"

	"fsub/federation"
)

// What waiting for owned nodes costs others counts for those who could have rented ones, and not for those whom the site of these does not take now: the two had one shape.
func TestLimitsWhereNodesAreRented(t *testing.T) {
	lines := newWorld()
	lines.read(t, `
		site own
		price cpu=1
		partition main default nodes=n1
		nodes n1 cpus=16 mem=64000
		running n1 cpus=16 mem=400 end=40m
		site rented
		partition main default nodes=r1
		nodes r1 cpus=16 mem=64000 rent=t2/z/demand@9 shared
		job 1 alice -c16 -t60m
		job 2 bob -c16 -t60m
		job 3 alice -c16 -t60m
		job 4 bob -c16 -t60m`)
	w := lines.made()
	w.Plan()
	site := *lines.sites[1]
	site.Limited = []federation.Limited{{User: "bob"}}
	lines.sites[1] = &site
	w.SetSite(&site)
	s := w.Snapshot()
	got, want := w.Plan(), newWorldOf(&s, lines.policy).Plan()
	for i := range want.Decisions {
		if !reflect.DeepEqual(got.Decisions[i], want.Decisions[i]) {
			t.Errorf("decision %d is\n%s, a new World says\n%s", i, tellAll(got.Decisions[i]), tellAll(want.Decisions[i]))
		}
	}
}
