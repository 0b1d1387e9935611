package sbatch

import "testing"

// Scripts and their arguments are told apart, whatever the environment.
func TestDigest(t *testing.T) {
	seen := map[string]Payload{}
	for _, p := range []Payload{{Script: "a"}, {Script: "b"}, {Script: "a", Argv: []string{""}}, {Script: "a", Argv: []string{"b"}}, {Script: "a", Argv: []string{"b", "c"}}, {Script: "a", Argv: []string{"bc"}}} {
		d := p.Digest()
		if other, twice := seen[d]; twice || len(d) != 16 {
			t.Errorf("%+v and %+v have the digest %q", p, other, d)
		}
		seen[d] = p
		if p.Environment = []string{"X=1"}; p.Digest() != d {
			t.Errorf("the environment of %+v changes its digest", p)
		}
	}
}
