package agentapi

import (
	"strings"
	"testing"
	"time"
)

// FuzzParseBoot reads boot data: what is taken is written as it was read, and an error names the line but never the value, which may be the token.
func FuzzParseBoot(f *testing.F) {
	f.Add((Boot{URL: "https://door:1", Pin: "PIN", Token: "fo1.secret", Expires: time.Unix(1e9, 5), Agent: "aa", Lease: time.Minute, Metadata: "ec2", PowerOff: true, Hosts: "/a b"}).Lines())
	f.Add([]byte("# comment\r\n\r\nurl=\"a\\nb\"\npoweroff=yes\nlease=-1s\n"))
	f.Add([]byte("nosuch=1\n"))
	f.Add([]byte(strings.Repeat("S", 1000) + `="`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBoot(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "boot data, line ") || len(err.Error()) > 300 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := ParseBoot(b.Lines())
		if err != nil || !again.Expires.Equal(b.Expires) {
			t.Fatalf("%q: %+v became %+v, %v", text, b, again, err)
		}
		if again.Expires = b.Expires; again != b {
			t.Errorf("%q: %+v became %+v", text, b, again)
		}
	})
}
