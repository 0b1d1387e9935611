package cli

import (
	"fmt"
	"strings"
	"time"
)

// PastTime is a flag for a point in time before now: how long ago, or when.
type PastTime time.Time

// String implements pflag.Value.
func (p *PastTime) String() string {
	if t := time.Time(*p); !t.IsZero() {
		return When(t)
	}
	return ""
}

// Type implements pflag.Value.
func (p *PastTime) Type() string { return "time" }

// Set implements pflag.Value.
func (p *PastTime) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint16
		if _, err := fmt.Sscanf(days+"\n", "%d\n", &n); err == nil {
			*p = PastTime(time.Now().AddDate(0, 0, -int(n)))
			return nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		*p = PastTime(time.Now().Add(-d))
		return nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			*p = PastTime(t)
			return nil
		}
	}
	return fmt.Errorf("invalid time %q: want how long ago, as 90m, 2h or 3d, or when, as 2026-11-22 or 2026-11-22T18:00", text)
}
