package arrays

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// looks are the newest looks at the queues of both sides at each site. All arrays that are tried at once share them.
var looks = struct {
	sync.Mutex
	of map[string]*look
}{of: map[string]*look{}}

// look is what squeue last showed of all tasks.
type look struct {
	sync.Mutex
	began time.Time
	rows  map[string][]string // by the number of their array
}

// rows returns what squeue shows of an array's tasks that have not ended. It has been called after rows was.
func (s *side) rows(t *testing.T, array string) []string {
	now := time.Now()
	looks.Lock()
	l := looks.of[s.site+s.name]
	if l == nil {
		l = &look{}
		looks.of[s.site+s.name] = l
	}
	looks.Unlock()
	l.Lock()
	defer l.Unlock()
	if l.began.Before(now) {
		began := time.Now()
		out := s.run(t, "squeue", "-h", "-r", "-u", "alice", "-o", "%F|%K|%t|%r|%l|%k")
		if out.code != 0 {
			t.Fatalf("squeue of %s: %+v", s.name, out)
		}
		l.began, l.rows = began, map[string][]string{}
		for line := range strings.Lines(out.stdout) {
			of, row, _ := strings.Cut(strings.TrimSpace(line), "|")
			l.rows[of] = append(l.rows[of], row)
		}
	}
	return l.rows[array]
}

// heldAgain is what slurmctld says of a task that was requeued and held, until it has looked at it once more.
const heldAgain = "job requeued in held state"

// queue is what squeue shows of the tasks of both arrays that have not ended, in order. An array that is forgotten has none.
func (s *side) queue(t *testing.T) []string {
	var all []string
	for _, letter := range []string{"A", "B"} {
		if s.ids[letter] == "" {
			continue
		}
		for _, row := range s.rows(t, s.ids[letter]) {
			if letter == "B" { // here what waits of an array has one reason: that of those that may still start
				row = strings.Replace(row, "DependencyNeverSatisfied", "Dependency", 1)
			}
			row = strings.Replace(row, heldAgain, "JobHeldUser", 1)
			all = append(all, letter+"_"+row)
		}
	}
	slices.Sort(all)
	return all
}
