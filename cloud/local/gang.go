package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fsub/cloud/local/inside"
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

func (p *Provider) gangFile(token string) string {
	return filepath.Join(p.cfg.Dir, "gangs", token+".json")
}

func (p *Provider) dir(id provider.InstanceID) string {
	return filepath.Join(p.cfg.Dir, "machines", string(id))
}

// load reads the records of an earlier provider.
func (p *Provider) load() error {
	dir := filepath.Join(p.cfg.Dir, "gangs")
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
		p.gangs[g.Token] = g
	}
	return p.sweep()
}

// sweep removes directories of machines that are ended, or of no gang: a provider that died while
// it ended them has left them.
func (p *Provider) sweep() error {
	entries, err := os.ReadDir(filepath.Join(p.cfg.Dir, "machines"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		m := machine{ID: provider.InstanceID(e.Name())}
		if g, known := p.find(m.ID); g != nil && known.Ended.IsZero() {
			continue
		}
		if err := p.stop(&m); err != nil {
			return err
		}
		if err := os.RemoveAll(p.dir(m.ID)); err != nil {
			return err
		}
	}
	return nil
}

// save writes a gang's record. It is not synced: a crash of the host that loses it ends the machines too.
func (p *Provider) save(g *gang) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return replaceFile(p.gangFile(g.Token), text)
}

// forget drops a gang, unless another has its token by now.
func (p *Provider) forget(g *gang) error {
	if p.gangs[g.Token] != g {
		return nil
	}
	delete(p.gangs, g.Token)
	return os.Remove(p.gangFile(g.Token))
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

// process is who the machine is. begun is false as long as nobody is.
func (p *Provider) process(m *machine) (proc inside.Process, begun bool, err error) {
	text, err := os.ReadFile(filepath.Join(p.dir(m.ID), inside.ProcessFile))
	if errors.Is(err, os.ErrNotExist) {
		return inside.Process{}, false, nil
	}
	if err == nil {
		proc, err = inside.ParseProcess(strings.TrimSpace(string(text)))
	}
	return proc, err == nil, err
}
