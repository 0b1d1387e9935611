package starts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// said is a start as one of the commands foretells it; the zero value: it does not say when.
type said struct{ p50, p90 time.Time }

// bound is the time within which the job is said to start.
func (s said) bound() time.Time {
	if s.p90.IsZero() { // by time limits, or by the site's word
		return s.p50
	}
	return s.p90
}

func (s said) String() string {
	if s.p50.IsZero() {
		return "no start"
	}
	text := s.p50.Format(time.TimeOnly)
	if !s.p90.IsZero() {
		text += " to " + s.p90.Format(time.TimeOnly)
	}
	return text
}

// near reports whether two commands say the same, but for what changes in the given time.
func (s said) near(o said, within time.Duration) bool {
	if s.p50.IsZero() || o.p50.IsZero() {
		return s.p50.IsZero() == o.p50.IsZero()
	}
	return s.p50.Sub(o.p50).Abs() <= within && s.bound().Sub(o.bound()).Abs() <= within
}

var (
	trialStart  = regexp.MustCompile(`to start at (\S+) using`)
	trialWithin = regexp.MustCompile(`and in nine of ten cases within ([0-9hms.]+)`)
)

// trial asks fsub --test-only.
func trial(args []string) (said, string, error) {
	out, err := at("alice", append([]string{"fsub", "--test-only"}, args...)...)
	now := time.Now()
	m := trialStart.FindStringSubmatch(out)
	if m == nil {
		return said{}, out, fmt.Errorf("fsub --test-only %s: %v: %s", strings.Join(args, " "), err, out)
	}
	s := said{p50: stamp(m[1])}
	if w := trialWithin.FindStringSubmatch(out); w != nil && !s.p50.IsZero() {
		within, err := time.ParseDuration(w[1])
		if err != nil {
			return s, out, err
		}
		s.p90 = now.Add(within)
	}
	return s, out, nil
}

// listed asks squeue --start about all jobs of alice.
func listed(t *testing.T) map[federation.JobID]said {
	t.Helper()
	out, err := at("alice", "squeue", "--start", "-h", "-u", "alice", "-O", "JobID:12,StartTime:22,StartTimeP90:22")
	if err != nil {
		t.Fatal(err)
	}
	all := map[federation.JobID]said{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("squeue --start: %q", line)
		}
		id, err := strconv.ParseUint(f[0], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		all[federation.JobID(id)] = said{stamp(f[1]), stamp(f[2])}
	}
	return all
}

// explained asks what fed explain asks; false: the job waits no more.
func explained(t *testing.T, id federation.JobID) (said, string, bool) {
	t.Helper()
	c := world.Daemon.Client()
	defer c.Close()
	e, err := c.Explain(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	why := fmt.Sprint(e.Job.State, " ", e.Job.Reason, " at ", e.Job.Site)
	if e.Job.State != federation.Pending {
		return said{}, why, false
	}
	if e.Start == nil {
		return said{}, why, true
	}
	return said{e.Start.At, e.Start.Within}, why + ": " + e.Start.Of + "; unsure: " + e.Start.Unsure, true
}
