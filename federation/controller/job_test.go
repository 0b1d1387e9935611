package controller

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/reasons"
)

// TestMain fails if anything was written to what jobs share.
func TestMain(m *testing.M) {
	code := m.Run()
	if !reflect.DeepEqual(neverTried, tried{stored: journal.JobStage{State: federation.Pending}}) || !reflect.DeepEqual(noFamily, family{}) ||
		!reflect.DeepEqual(notHindered, hindered{}) {
		fmt.Printf("what is the same for most jobs was written to by way of one: %+v %+v %+v\n", neverTried, noFamily, notHindered)
		code = 1
	}
	os.Exit(code)
}

// TestWaitingJobIsSmall: there may be a million of them.
func TestWaitingJobIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(job{}); size > 384 {
		t.Errorf("a job takes %d bytes: the next larger size that Go allocates is 416", size)
	}
	if j := newJob(federation.Job{State: federation.Pending, Reason: reasons.Priority, Priority: 3}); j.tried != &neverTried || j.family != &noFamily ||
		j.hindered != &notHindered {
		t.Error("a job that waits has more of its own than that")
	}
}

// TestJobsShareUserNames: a million jobs of few users hold each name once.
func TestJobsShareUserNames(t *testing.T) {
	one, other := newJob(federation.Job{User: strings.Clone("alice")}), newJob(federation.Job{User: strings.Clone("alice")})
	if unsafe.StringData(one.User) != unsafe.StringData(other.User) {
		t.Error("two jobs of a user hold his name twice")
	}
}
