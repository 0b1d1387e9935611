package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/cloud/provider"
)

// gang is the record of a request, and all that is known of its machines that is not in their
// directories. It is written before the first of them starts.
type gang struct {
	Token    string    `json:"token"`
	Request  string    `json:"request"` // hash of what was asked for
	Offering string    `json:"offering"`
	Created  time.Time `json:"created"`
	Machines []machine `json:"machines"`

	// life is held to start machines, and shared by those who end them: a machine that is being
	// ended is not started beside that.
	life sync.RWMutex
}

// machine is one of a gang.
type machine struct {
	ID     provider.InstanceID `json:"id"`
	Name   string              `json:"name"`
	Addr   string              `json:"addr"`
	GPUs   []int               `json:"gpus,omitempty"` // which of the host's
	Ended  time.Time           `json:"ended,omitzero"` // when that was seen. Its directory is gone then
	Reason string              `json:"reason,omitempty"`

	begun bool // its process was seen
}

// keepEnded is how long a gang without machines stays known, so that a late repetition of its
// Create starts nothing.
const keepEnded = time.Hour

// gangTable is the gangs that are there or have ended lately, each with a file.
type gangTable struct {
	cfg *Config

	mu      sync.Mutex
	byToken map[string]*gang
}

func newGangTable(c *Config) *gangTable { return &gangTable{cfg: c, byToken: map[string]*gang{}} }

func (t *gangTable) file(token string) string {
	return filepath.Join(t.cfg.Dir, "gangs", token+".json")
}

// load reads the records of an earlier provider.
func (t *gangTable) load() error {
	dir := filepath.Join(t.cfg.Dir, "gangs")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue // one that was not written whole
		}
		file := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		g := new(gang)
		if err := json.Unmarshal(text, g); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		t.byToken[g.Token] = g
	}
	return nil
}

// save writes a gang's record. It is not synced: a crash of the host that loses it ends the machines too.
func (t *gangTable) save(g *gang) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return replaceFile(t.file(g.Token), text)
}

// forget drops a gang, unless another has its token by now.
func (t *gangTable) forget(g *gang) error {
	if t.byToken[g.Token] != g {
		return nil
	}
	delete(t.byToken, g.Token)
	return os.Remove(t.file(g.Token))
}

// known reports whether a gang is that of its token still.
func (t *gangTable) known(g *gang) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byToken[g.Token] == g
}

// machines is a copy of a gang's machines.
func (t *gangTable) machines(g *gang) []machine {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(g.Machines)
}

func (t *gangTable) find(id provider.InstanceID) (*gang, machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, _, _ := strings.Cut(string(id), ".")
	if g := t.byToken[token]; g != nil {
		for _, m := range g.Machines {
			if m.ID == id {
				return g, m
			}
		}
	}
	return nil, machine{}
}

func (t *gangTable) noteBegun(g *gang, m *machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(g.Machines, func(mine machine) bool { return mine.ID == m.ID })
	g.Machines[i].begun = true
}

// enterEnd writes the end of a machine down, unless that has been done.
func (t *gangTable) enterEnd(g *gang, m *machine, reason string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(g.Machines, func(mine machine) bool { return mine.ID == m.ID })
	mine := &g.Machines[i]
	if mine.Ended.IsZero() {
		mine.Ended, mine.Reason = t.cfg.Now().UTC(), reason
		if t.byToken[g.Token] == g {
			if err := t.save(g); err != nil {
				mine.Ended = time.Time{}
				return err
			}
		}
		t.cfg.Logger.Info("local machine ended", "machine", m.ID, "reason", reason)
	}
	*m = *mine
	return nil
}

func (g *gang) ended() bool {
	for i := range g.Machines {
		if g.Machines[i].Ended.IsZero() {
			return false
		}
	}
	return true
}

// replaceFile writes a file that only its owner may read, whole or not at all.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
