package site

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// What is lost with a site is shown before, with a warning where its silence is short.
func TestLostText(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for silent, warns := range map[time.Duration]bool{12 * time.Second: true, 2 * time.Hour: false} {
		s := &v1.SiteDetail{Site: v1.Site{Name: "beta", Running: 1, Bound: 3, Conditions: []v1.Condition{{Name: federation.CondNoAnswer, Since: now.Add(-silent)}}}}
		text := lostText(s, now)
		if !strings.HasPrefix(text, "beta: 1 jobs run there, 2 wait; silent for "+silent.String()) || strings.Contains(text, "\nwarning: ") != warns {
			t.Errorf("after %v: %q", silent, text)
		}
	}
	if text := lostText(&v1.SiteDetail{Site: v1.Site{Name: "beta"}}, now); !strings.HasSuffix(text, "it was never seen by this daemon") {
		t.Errorf("got %q", text)
	}
}
