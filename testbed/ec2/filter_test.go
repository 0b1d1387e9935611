package ec2

import "testing"

func TestWild(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "a/b/c", true}, {"*c", "a/b/c", true}, {"a*c*e", "abcde", true},
		{"a*c*e", "abde", false}, {"?", "日", true}, {"?", "", false}, {"??", "a", false}, {`\*`, "*", true}, {`\*`, "a", false}, {`\?x`, "?x", true}, {`\\`, `\`, true},
		{"[ab]", "a", false}, {"[ab]", "[ab]", true}, {`a\`, `a\`, true},
	} {
		if got := wild(c.pattern, c.s); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.s, got)
		}
	}
}
