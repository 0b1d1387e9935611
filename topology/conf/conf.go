// Package conf reads how a site is wired from the text of any file that says so: a topology.conf, a topology.yaml (25.05 and later), or
// what "scontrol show topology" printed.
package conf

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"fsub/slurm/hostlist"
	"fsub/topology"
)

// entry is one topology of a topology.yaml.
type entry struct {
	Head `yaml:",inline"`
	Tree *struct {
		Switches []struct {
			Switch   string `yaml:"switch"`
			Nodes    string `yaml:"nodes"`
			Children string `yaml:"children"`
		} `yaml:"switches"`
	} `yaml:"tree"`
	Block *struct {
		Sizes  []int `yaml:"block_sizes"`
		Blocks []struct {
			Block string `yaml:"block"`
			Nodes string `yaml:"nodes"`
		} `yaml:"blocks"`
	} `yaml:"block"`

	err error // why it cannot be read
}

// Head is what an entry says of itself, of whatever kind it is.
type Head struct {
	Topology string `yaml:"topology"`
	Default  bool   `yaml:"cluster_default"`
}

// isYAML finds the first key of a topology.yaml.
var isYAML = regexp.MustCompile(`(?m)^\s*-?\s*topology\s*:`)

// Site is how a site is wired: by the cluster's default topology, or else the first, and by others that partitions may name (25.05 and later).
type Site struct {
	topology.Tree
	Named map[string]topology.Tree // all of a YAML file; nil: the text has one that has no name
	Bad   []error                  // why some of a YAML file cannot be used; as Named, and as the default, they are empty
}

// Same reports whether two sites are wired alike.
func (s Site) Same(o Site) bool {
	return s.Tree.Same(o.Tree) && maps.EqualFunc(s.Named, o.Named, topology.Tree.Same)
}

// Wired reports whether any of the named topologies has switches or blocks.
func (s Site) Wired() bool {
	for _, t := range s.Named {
		if len(t.Switches) > 0 {
			return true
		}
	}
	return false
}

// Parse reads any of the formats. It fails if nothing of the text can be used.
func Parse(text string) (Site, error) {
	if !isYAML.MatchString(text) {
		t, err := topology.Parse(text)
		return Site{Tree: t}, err
	}
	all, err := entries(text)
	if err != nil {
		return Site{}, fmt.Errorf("topology.yaml: %w", err)
	}
	site := Site{Named: map[string]topology.Tree{}}
	chosen := false
	for i := range all {
		t, err := all[i].tree()
		if err != nil {
			site.Bad, t = append(site.Bad, fmt.Errorf("topology.yaml: topology %q is not used: %w", all[i].Topology, err)), topology.Tree{}
		}
		site.Named[all[i].Topology] = t
		if i == 0 || all[i].Default && !chosen {
			site.Tree, chosen = t, all[i].Default
		}
	}
	if len(site.Bad) == len(all) {
		return Site{}, errors.Join(site.Bad...)
	}
	return site, nil
}

// entries reads a topology.yaml: of one that cannot be read as a whole, what can be. The decoder panics over some texts: this is an error like others.
func entries(text string) (all []entry, err error) {
	defer func() {
		if p := recover(); p != nil {
			all, err = nil, fmt.Errorf("no YAML that can be read: %v", p)
		}
	}()
	if err = yaml.Unmarshal([]byte(text), &all); err == nil {
		return all, nil
	}
	file, bad := parser.ParseBytes([]byte(text), 0)
	if bad != nil || len(file.Docs) != 1 {
		return nil, err
	}
	list, ok := file.Docs[0].Body.(*ast.SequenceNode)
	if !ok {
		return nil, err
	}
	all = make([]entry, len(list.Values))
	for i, node := range list.Values {
		e := &all[i]
		if e.err = yaml.NodeToValue(node, e); e.err == nil {
			continue
		}
		*e = entry{err: e.err}
		if yaml.NodeToValue(node, &e.Head) != nil {
			return nil, err
		}
	}
	return all, nil
}

func (e *entry) tree() (topology.Tree, error) {
	if e.err != nil {
		text, _, _ := strings.Cut(e.err.Error(), "\n") // the lines of the file follow
		return topology.Tree{}, errors.New(text)
	}
	var all []topology.Switch
	add := func(name, nodes, children string) error {
		s := topology.Switch{Name: name}
		var err error
		if s.Nodes, err = hostlist.ExpandLoosely(nodes); err != nil {
			return fmt.Errorf("nodes of %s: %w", name, err)
		}
		if s.Children, err = hostlist.ExpandLoosely(children); err != nil {
			return fmt.Errorf("children of %s: %w", name, err)
		}
		all = append(all, s)
		return nil
	}
	switch {
	case e.Block != nil && len(e.Block.Blocks) > 0: // "scontrol show topoconf" has all kinds, the others empty
		for _, b := range e.Block.Blocks {
			if err := add(b.Block, b.Nodes, ""); err != nil {
				return topology.Tree{}, err
			}
		}
		for _, n := range e.Block.Sizes {
			if n < 1 {
				return topology.Tree{}, fmt.Errorf("invalid block_sizes %v", e.Block.Sizes)
			}
		}
		return topology.OfBlocks(all, e.Block.Sizes), nil
	case e.Tree != nil:
		for _, s := range e.Tree.Switches {
			if err := add(s.Switch, s.Nodes, s.Children); err != nil {
				return topology.Tree{}, err
			}
		}
	}
	return topology.OfSwitches(all)
}
