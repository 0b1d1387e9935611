package srun

import (
	"os"
	"path/filepath"
	"testing"

	"fsub/cloud/container/containertest"
)

// TestPMIxCleanupContainer: paths of programs in a container are the container's, also when nothing of it runs any more.
func TestPMIxCleanupContainer(t *testing.T) {
	g := newGang(t, 2)
	pmixProgram(t, g)
	image := containertest.Image(t, t.TempDir(), filepath.Join(g.dir, "program"))
	if err := os.Link(image, filepath.Join(g.dir, "tiny.sqsh")); err != nil {
		t.Fatal(err)
	}
	const box = "--container-image=./tiny.sqsh --container-mounts=.:/fsub.test,/usr:/usr "
	if out, errs, code := g.shell(t, "srun -n2 --mpi=pmix "+box+"/fsub.test/program end /fsub.test"); sorted(out) != "0: 0\n1: 0" || code != 0 {
		t.Errorf("%d %q\n%s", code, out, errs)
	}
	g.cleaned(t)
}
