package agent

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"

	"fsub/cloud/agentapi"
)

// hosts is the machine's hosts file, in which the agent keeps the names of the nodes of its runs
// between two lines of its own.
type hosts struct {
	path string // "": it is not the agent's to write
	mu   sync.Mutex
	runs map[string]map[string]string // run, name, address
}

const (
	hostsBegin = "# fsub-agent: begin\n"
	hostsEnd   = "# fsub-agent: end\n"
)

func newHosts(path string) *hosts { return &hosts{path: path, runs: map[string]map[string]string{}} }

// hostsFile is the path of the hosts file that the agent may write.
func hostsFile(b agentapi.Boot) string {
	switch {
	case b.Hosts != "":
		return b.Hosts
	case b.PowerOff && os.Geteuid() == 0:
		return "/etc/hosts"
	}
	return ""
}

// add makes the names of a run's nodes resolve.
func (h *hosts) add(l *agentapi.Launch) error {
	names := map[string]string{}
	for _, g := range l.Groups {
		for _, n := range g.Nodes {
			if n.Addr != "" {
				names[n.Name] = n.Addr
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[l.Run] = names
	return h.write()
}

func (h *hosts) remove(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, has := h.runs[run]; has {
		delete(h.runs, run)
		h.write() // names that are too many harm nobody
	}
}

// write replaces the agent's part of the file. It is done in place, since the file may be a mount,
// and in one write, so that nobody reads it empty.
func (h *hosts) write() error {
	if h.path == "" {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	old, err := os.ReadFile(h.path)
	if err != nil {
		return err
	}
	text := withNames(old, h.runs)
	if bytes.Equal(old, text) {
		return nil
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// withNames is the text of a hosts file with the names of runs in the agent's part, which comes
// first: what it says counts.
func withNames(text []byte, runs map[string]map[string]string) []byte {
	rest := string(text)
	if before, after, ok := strings.Cut(rest, hostsBegin); ok {
		_, after, _ = strings.Cut(after, hostsEnd)
		rest = before + after
	}
	lines := map[string]bool{}
	for _, names := range runs {
		for name, addr := range names {
			lines[fmt.Sprintf("%s\t%s\n", addr, name)] = true
		}
	}
	if len(lines) == 0 {
		return []byte(rest)
	}
	var sorted []string
	for line := range lines {
		sorted = append(sorted, line)
	}
	sort.Strings(sorted)
	return []byte(hostsBegin + strings.Join(sorted, "") + hostsEnd + rest)
}
