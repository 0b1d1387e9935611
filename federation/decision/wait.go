package decision

import (
	"strings"
	"time"

	"fsub/federation/codes"

	"fsub/federation/reasons"
)

// Wait is one thing that keeps a job from being sent to a site, whatever is free there: a dependency, a hold, a time.
type Wait struct {
	Reason reasons.Reason `json:"reason"`
	Why    *codes.Why     `json:"why"`
	Since  time.Time      `json:"since,omitzero"`
	Until  time.Time      `json:"until,omitzero"` // when it ends by itself; zero: nothing says when
	// Advice is what its user can do, the first is best.
	Advice []*codes.Why `json:"advice,omitempty"`
	// Text is all of that in words, Advice aside. It is set in answers of the API only.
	Text string `json:"text,omitempty"`
}

// Lines are the waits in words for people in zone, each with its advice below it.
func Lines(waits []Wait, zone *time.Location) (lines []string) {
	for i := range waits {
		lines = append(lines, waits[i].In(zone))
		for _, advice := range waits[i].Advice {
			lines = append(lines, "  "+advice.Text())
		}
	}
	return lines
}

// Worded returns w with its Text, whose times are in zone.
func (w Wait) Worded(zone *time.Location) Wait {
	w.Text = w.In(zone)
	return w
}

// In is w in words, without its advice: "held by alice since 2026-11-24T16:42:10+01:00".
func (w *Wait) In(zone *time.Location) string {
	var b strings.Builder
	b.WriteString(w.Why.Text())
	if !w.Since.IsZero() {
		b.WriteString(" since " + w.Since.In(zone).Format(time.RFC3339))
	}
	if !w.Until.IsZero() {
		b.WriteString(", until " + w.Until.In(zone).Format(time.RFC3339))
	}
	return b.String()
}
