package jobmail

import (
	"slices"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/journal"
)

// What the rule idle-held says is mailed to the user, who need not have asked for mail, but may have said NONE, and then to the account's coordinators; once,
// also where another daemon reads the log again.
func TestIdle(t *testing.T) {
	w := newWorld(t)
	j, no := w.job(""), w.job("NONE")
	w.starts(j)
	w.starts(no)
	says := func(j *federation.Job, act, why, denied string) {
		f := health.PastFinding{At: w.now, Rule: idle.Name, Act: act, Job: j.ID, Node: federation.NodeID{Site: "alpha"}, Why: why, Denied: denied}
		w.must(w.st.Commit(t.Context(), &journal.Batch{Findings: []health.PastFinding{f}}))
	}
	says(j, string(idle.TellUser), "its 8 GPUs were used below 5 % since 12:03", "")
	says(no, string(idle.TellUser), "its 8 GPUs were used below 5 % since 12:03", "")
	w.must(w.run())
	says(j, string(idle.TellLead), "its 8 GPUs were used below 5 % since 12:03; its user was told", "")
	says(no, string(idle.TellLead), "its GPU was used below 5 %", "")
	says(j, string(idle.Requeue), "it was requeued", "it was submitted with --no-requeue")
	w.start(w.st) // a new daemon
	w.must(w.run())
	w.must(w.run())
	head := func(j *federation.Job) string {
		return "Slurm Job_id=" + j.ID.String() + " Name=train Idle, Run time 00:01:00"
	}
	w.wants(head(j), head(j), head(no))
	all := w.box.Mails()
	if len(all) != 3 {
		t.Fatalf("%d mails", len(all))
	}
	for i, want := range []struct {
		to   []string
		text string
	}{{[]string{"ann@example.org"}, "its 8 GPUs were used below 5 % since 12:03"}, {[]string{"eve@example.org", "bo@example.org"}, "its user was told"}, {[]string{"eve@example.org", "bo@example.org"}, "user       ann"}} {
		if !slices.Equal(all[i].To, want.to) || !strings.Contains(all[i].Text, want.text) {
			t.Errorf("mail %d to %v:\n%s", i, all[i].To, all[i].Text)
		}
	}
}
