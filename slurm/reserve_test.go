package slurm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/sbatch"
)

// TestReservationCommand: the words that reservation_command gets, what becomes of its refusals, and what the script that we ship for it lets through.
func TestReservationCommand(t *testing.T) {
	dir := t.TempDir()
	script, err := filepath.Abs("../deploy/slurm/fsub-reservation")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("sudo", `echo "$*" >> `+dir+`/told
case "$*" in
*"update"*_9*) echo "slurm_update error: Requested reservation is invalid"; exit 1 ;;
*"delete"*_9*) echo "delete_reservation ReservationName=x: Requested reservation is invalid"; exit 1 ;;
*_8*) echo "Error updating the reservation: Requested reservation overlaps with another reservation" ;;
*_7*) echo "Error creating the reservation: Invalid user id"; exit 1 ;;
*_6*) echo "slurm_update error: Unable to contact slurm controller (connect failure)"; exit 1 ;;
esac
`)
	ssh := write("ssh", `export PATH=`+dir+`:/usr/bin:/bin SSH_ORIGINAL_COMMAND="$*"; exec `+script)
	d, err := Open(Config{Name: "alpha", URL: "http://nowhere:1", ReservationCommand: []string{ssh}})
	if err != nil {
		t.Fatal(err)
	}
	p := driver.Promise{User: "alice", Nodes: []string{"n1", "n2"}, Start: time.Unix(1000, 0), End: time.Unix(1900, 0), Idle: 5 * time.Minute}
	for id, want := range map[federation.JobID]error{30: nil, 90: nil, 80: federation.ErrConflict, 70: federation.ErrDenied, 60: federation.ErrUnavailable} {
		p.Name = driver.PromiseName("fed", decision.Promised{Job: id})
		if err := d.reserve.Reserve(t.Context(), p); !errors.Is(err, want) {
			t.Errorf("job %d: %v, want %v", id, err, want)
		}
	}
	p.Name, p.Start = "fsub_fed_31", time.Time{}
	if err := d.reserve.Reserve(t.Context(), p); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"fsub_fed_31", "fsub_fed_91"} {
		if err := d.reserve.Unreserve(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	p.Name = "maintenance"
	if err := d.reserve.Reserve(t.Context(), p); err == nil || !strings.Contains(err.Error(), "not what a federation asks") {
		t.Errorf("somebody else's reservation: %v", err)
	}
	told, _ := os.ReadFile(dir + "/told")
	const flags = "Users=alice Flags=FLEX,PURGE_COMP=00:05:00,IGNORE_JOBS,NO_HOLD_JOBS_AFTER_END"
	for _, want := range []string{"update ReservationName=fsub_fed_30 StartTime=uts1000 EndTime=uts1900 Nodes=n[1-2]",
		"create reservation ReservationName=fsub_fed_90 StartTime=uts1000 EndTime=uts1900 Nodes=n[1-2] " + flags,
		"update ReservationName=fsub_fed_31 EndTime=uts1900 Nodes=n[1-2]", "delete ReservationName=fsub_fed_31"} {
		if !strings.Contains(string(told), fmt.Sprintf("-n -u slurm scontrol %s\n", want)) {
			t.Errorf("%q is not among what was told:\n%s", want, told)
		}
	}
	if strings.Contains(string(told), "maintenance") {
		t.Errorf("told: %s", told)
	}
}

// TestPromisedComponents: all components of a heterogeneous job go into its reservation, and the job itself is left as it is.
func TestPromisedComponents(t *testing.T) {
	j := federation.Job{Spec: &sbatch.Spec{Name: "x", Het: []sbatch.Spec{{Name: "y"}, {Name: "z"}}}}
	s := promised(federation.Submission{Job: &j, Promise: "fsub_fed_1"}).Job.Spec
	if s.Reservation != "fsub_fed_1" || s.Het[0].Reservation != "fsub_fed_1" || s.Het[1].Reservation != "fsub_fed_1" {
		t.Errorf("submitted: %+v", s)
	}
	if j.Spec.Reservation != "" || j.Spec.Het[0].Reservation != "" {
		t.Errorf("changed: %+v", j.Spec)
	}
}
