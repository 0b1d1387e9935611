package slurm

import (
	"fmt"
	"os"
	"sync"

	"fsub/topology"
	"fsub/topology/conf"
)

// topologyFile gives the switch tree: a fixed one, or one from a file that is read again when it changes.
type topologyFile struct {
	path string

	mu    *sync.Mutex
	last  topology.Tree
	stamp string
}

func openTopology(cfg Config) (topologyFile, error) {
	t := topologyFile{path: cfg.TopologyFile, last: cfg.Tree, mu: new(sync.Mutex)}
	_, err := t.tree()
	return t, err
}

// tree returns the tree, on an error the last good one.
func (t *topologyFile) tree() (topology.Tree, error) {
	if t.path == "" {
		return t.last, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	st, err := os.Stat(t.path)
	if err != nil {
		return t.last, fmt.Errorf("topology_file: %w", err)
	}
	stamp := fmt.Sprint(st.ModTime().UnixNano(), st.Size())
	if stamp == t.stamp {
		return t.last, nil
	}
	text, err := os.ReadFile(t.path)
	if err != nil {
		return t.last, fmt.Errorf("topology_file: %w", err)
	}
	tree, err := conf.Parse(string(text))
	if err != nil {
		return t.last, fmt.Errorf("topology_file %s: %w", t.path, err)
	}
	t.last, t.stamp = tree, stamp
	return tree, nil
}
