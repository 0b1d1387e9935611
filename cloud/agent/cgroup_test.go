package agent

import (
	"path/filepath"
	"sync"
	"testing"
)

// Agents of one machine that come and go do not take each other's place for cgroups away: a job without one has no memory limit.
func TestCgroupsOfManyAgents(t *testing.T) {
	parent := t.TempDir() // what is asked of cgroups here folders do as well
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				g := &cgroups{v2: makeOwn(parent, "i-1")}
				if above, _ := filepath.Split(g.v2); above != filepath.Join(parent, "fsub-agent")+"/" {
					t.Errorf("an agent has %q", g.v2)
				}
				g.close()
			}
		})
	}
	all.Wait()
}
