package gres

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]Resource{
		"gpu":               {{"gpu", "", 1}},
		"gpu:2":             {{"gpu", "", 2}},
		"gpu:h100":          {{"gpu", "h100", 1}},
		"gpu:h100:2,nvme:1": {{"gpu", "h100", 2}, {"nvme", "", 1}},
		"gres/gpu:h100=2":   {{"gpu", "h100", 2}},
		"gpu=1":             {{"gpu", "", 1}},
		"gpu:0,":            {{"gpu", "", 0}},
		"shard:1k":          {{"shard", "", 1024}},
		"bw:1kb":            {{"bw", "", 1000}},
		"none":              nil,
	} {
		if got, err := Parse(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"gpu:", "gpu:2(S:0)", "gpu=h100", ":2", "gpu:a100:1,gpu:h100:"} {
		if got, err := Parse(bad); err != ErrSyntax {
			t.Errorf("%q = %v, %v", bad, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("gpu:h100:2,nvme:1")
	f.Add("4")
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) ([]Resource, error){Parse, ParseGPUs} {
			list, _ := parse(s)
			for _, r := range list {
				if r.Count < 0 || r.Name == "" {
					t.Fatalf("%q is %+v", s, r)
				}
			}
		}
	})
}
