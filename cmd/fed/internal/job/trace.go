package job

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/spans"
)

func newTraceCommand() *cobra.Command {
	cmd := newAboutCommand("trace", "Show a job's life as a waterfall: what it waited, was handed over, stood in a queue and ran",
		func(ctx context.Context, c *client.Client, id federation.JobID) (any, func(io.Writer), error) {
			r, err := c.Job(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			if r.Job.Whole != nil {
				return nil, nil, fmt.Errorf("it is an array: trace one of its tasks, as %d_TASK; fed job show %d lists them", id, id)
			}
			all := spans.Of(&r.Job, r.Attempts, time.Now())
			return all, func(w io.Writer) { waterfall(w, &r.Job, all) }, nil
		})
	cmd.Long = `Shows a job's life as spans of time within each other, each with its length and a bar: = is the whole job or an attempt, - is waiting, # is running, and > at the end of a bar
says that it lasts. With --json the spans are an array, the outer ones first.`
	return cmd
}

// barWidth is how wide the whole job is drawn, in characters.
const barWidth = 44

// waterfall draws spans.
func waterfall(w io.Writer, j *federation.Job, all []spans.Span) {
	whole := all[0]
	fmt.Fprintf(w, "Job %d  %s  user %s  %s, submitted %s\n", j.ID, j.Spec.Name, j.User, j.State, cli.When(j.Submit))
	titles, widest := make([]string, len(all)), 0
	for i := range all {
		s := &all[i]
		titles[i] = strings.Repeat("  ", s.Depth) + s.Title()
		if s.State != "" && (s.Kind == spans.Runs || s.Kind == spans.Whole && !s.Open) {
			titles[i] += ", " + string(s.State)
		}
		widest = max(widest, len(titles[i]))
	}
	for i := range all {
		fmt.Fprintf(w, "%-*s  %6s  %s\n", widest, titles[i], length(all[i].Length()), bar(&whole, &all[i]))
	}
}

// bar draws a span beside the whole, a character wide at least.
func bar(whole, s *spans.Span) string {
	at := func(t time.Time) int {
		return int(float64(barWidth) * t.Sub(whole.Begin).Seconds() / max(whole.Length().Seconds(), 1e-9))
	}
	from := min(at(s.Begin), barWidth-1)
	to := max(min(at(s.End), barWidth), from+1)
	mark := "-"
	switch s.Kind {
	case spans.Whole, spans.Tried:
		mark = "="
	case spans.Runs:
		mark = "#"
	}
	drawn := strings.Repeat(" ", from) + strings.Repeat(mark, to-from)
	if s.Open {
		drawn = drawn[:len(drawn)-1] + ">"
	}
	return drawn
}

// length is a span's length: to a tenth of a second where that is much of it.
func length(d time.Duration) string {
	if d = max(d, 0); d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return v1.Age(d)
}
