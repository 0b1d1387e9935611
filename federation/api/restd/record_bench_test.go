package restd

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/sbatch"
)

// BenchmarkRecord makes the record of one job that waits, as every listing does.
func BenchmarkRecord(b *testing.B) {
	v := &View{cluster: "fed", Now: time.Now(), Default: "main", users: identity.New(identity.Config{Users: noUsers{}, Now: time.Now}).Users}
	j := &federation.Job{ID: 30000001, User: "alice", UID: 1000, GID: 1000, State: federation.Pending, Reason: "Resources", Submit: v.Now}
	j.SetSpec(sbatch.Spec{Name: "train", Account: "physics", Comment: "x", MinNodes: 2, MaxNodes: 2, NTasksPerNode: 4, CPUsPerTask: 2, GPUsPerNode: "h100:4", TimeLimit: time.Hour, WorkDir: "/home/alice",
		MemPerNode: 1000, Command: "/home/alice/job.sh"})
	p := Parts(j, nil)
	b.ReportAllocs()
	for b.Loop() {
		v.Record(&p[0])
	}
}

type noUsers struct{ identity.Users }

func (noUsers) GroupName(uint32) (string, error) { return "users", nil }
