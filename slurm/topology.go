package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/slurm/wire"
	"fsub/topology"
	"fsub/topology/conf"
)

// wiring finds out how the site's nodes are wired. The first of these that there is counts: a fixed tree; a file, which is read again when it
// changes; "scontrol show topoconf", or "show topology", by NodeCommand; what the records of the nodes say of their place, which is only set for nodes that
// are made with it (cloud and dynamic nodes, v0.0.43 and later).
type wiring struct {
	path    string
	command []string

	mu    sync.Mutex
	last  conf.Site
	stamp string
	asked time.Time // when the command was last run
}

// wiringAge is how old what scontrol said may be: it changes when nodes are built in.
const wiringAge = 10 * time.Minute

// wiringTime is how long scontrol may take.
const wiringTime = 15 * time.Second

func openWiring(cfg Config) (*wiring, error) {
	w := &wiring{path: cfg.TopologyFile, last: conf.Site{Tree: cfg.Tree}, command: cfg.NodeCommand}
	if w.path == "" {
		return w, nil
	}
	err := w.readFile()
	return w, err
}

// of returns how the site is wired, on an error as it was known last. places is what the nodes' records say.
func (w *wiring) of(ctx context.Context, now time.Time, places map[string]string) (conf.Site, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	switch {
	case w.path != "":
		err = w.readFile()
	case len(w.command) > 0 && (w.asked.IsZero() || now.Sub(w.asked) >= wiringAge):
		w.asked = now
		err = w.ask(ctx)
	case len(w.command) == 0 && len(places) > 0:
		if t := topology.FromPaths(places); !t.Same(w.last.Tree) {
			w.last = conf.Site{Tree: t}
		}
	}
	return w.last, errors.Join(append([]error{err}, w.last.Bad...)...)
}

func (w *wiring) readFile() error {
	st, err := os.Stat(w.path)
	if err != nil {
		return fmt.Errorf("topology_file: %w", err)
	}
	stamp := fmt.Sprint(st.ModTime().UnixNano(), st.Size())
	if stamp == w.stamp {
		return nil
	}
	text, err := os.ReadFile(w.path)
	if err != nil {
		return fmt.Errorf("topology_file: %w", err)
	}
	s, err := conf.Parse(string(text))
	if err != nil {
		return fmt.Errorf("topology_file %s: %w", w.path, err)
	}
	w.last, w.stamp = s, stamp
	return nil
}

// ask asks for all topologies of the site, which 25.05 and later tell where there is a topology.yaml, else for the one that there is.
func (w *wiring) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, wiringTime)
	defer cancel()
	show := func(what string) ([]byte, error) {
		return exec.CommandContext(ctx, w.command[0], slices.Concat(w.command[1:], []string{"show", what})...).Output()
	}
	if out, err := show("topoconf"); err == nil {
		// Where there is a topology.conf, 26.05.5 names one topology, "default", and tells nothing of it.
		if s, err := conf.Parse(string(out)); err == nil && s.Wired() {
			if s.Same(w.last) { // which is known by its place
				w.last.Bad = s.Bad
			} else {
				w.last = s
			}
			return nil
		}
	}
	out, err := show("topology")
	if err != nil {
		var exit *exec.ExitError
		said := ""
		if errors.As(err, &exit) {
			said, _, _ = strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		}
		return fmt.Errorf("node_command show topology: %v %s", err, said)
	}
	t, err := topology.Parse(string(out))
	if err != nil {
		return fmt.Errorf("node_command show topology: %w", err)
	}
	if s := (conf.Site{Tree: t}); !s.Same(w.last) {
		w.last = s
	}
	return nil
}

// place is where a node's record says that it is: the switches above it, or its block, in the first topology that it names
// ("default:core:rack4,nvl:b7" is core:rack4).
func place(n *wire.Node) string {
	first, _, _ := strings.Cut(n.Topology, ",")
	_, path, _ := strings.Cut(first, ":")
	return path
}
