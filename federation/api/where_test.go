package api

import (
	"strings"
	"testing"

	"fsub/federation"
)

func TestReadWhere(t *testing.T) {
	for text, want := range map[string]string{
		"site=alpha": "", "site!=alpha,beta": "", "reason=a,b=c": "", "state!=id*": "",
		"color=red": "want KEY=VALUE or KEY!=VALUE, with one of the keys site, gpu", "site": "with one of the keys", "site=": "it has no value", "site!alpha": "want site!=VALUE",
		"site<3": "want site=VALUE or site!=VALUE", "state=[": `"[" is not a pattern`,
	} {
		_, err := readWheres([]string{text}, nodeKeys)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), `invalid condition "`+text+`": `) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestNodesWhere(t *testing.T) {
	site := &federation.Site{Name: "alpha"}
	node := &memberNode{site: site, node: &federation.Node{Name: "n1", State: []string{"MIXED", "DRAIN"}, Partitions: []string{"main", "long"}, Features: []string{"ib"},
		Reason: "Cooling, rack 3", GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 8}}}}
	for text, want := range map[string]bool{
		"site=*": true, "site=alpha": true, "site!=alpha": false, "site!=beta": true, "partition=long": true, "partition!=long": false, "state=draining": true, "state=drained,mixed": true,
		"state!=idle": true, "gpu=any": true, "gpu=H100": true, "gpu=a100": false, "gpu!=a100": true, "feature=nvme": false, "reason=cooling, rack": true, "reason!=cooling": false,
		"owner=ann": false, "owner!=ann": true,
	} {
		all, err := readWheres([]string{text}, nodeKeys)
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].holds(node); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
