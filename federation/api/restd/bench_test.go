package restd

import (
	"testing"

	"fsub/slurm/wire"
)

// BenchmarkJob brings one job into the shape of another version.
func BenchmarkJob(b *testing.B) {
	job := wire.Job{JobID: 7, Name: "train", UserName: "alice", Partition: "main", State: wire.Strings{"PENDING"}}
	elem := versionShapes()["v0.0.43"]["GET slurm/jobs"].fields["jobs"].elem
	b.ReportAllocs()
	for b.Loop() {
		if _, err := elem.json(&job); err != nil {
			b.Fatal(err)
		}
	}
}
