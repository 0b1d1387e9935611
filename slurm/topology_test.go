package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/slurm/wire"
)

const twoLeaves = "SwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=l2 Level=0 LinkSpeed=1 Nodes=n[3-4]\nSwitchName=s Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=l[1-2]\n"

func TestWiringByCommand(t *testing.T) {
	dir := t.TempDir()
	said, script := filepath.Join(dir, "said"), filepath.Join(dir, "scontrol")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(script, "#!/bin/sh\n[ \"$*\" = 'at alpha show topology' ] || { echo \"what is $*?\" >&2; exit 1; }\ncat "+said+"\n", 0o755)
	write(said, twoLeaves, 0o644)
	w, err := openWiring(Config{NodeCommand: []string{script, "at", "alpha"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	first, err := w.of(t.Context(), now, map[string]string{"n1": "elsewhere"})
	if err != nil || first.Kind() != "tree" || first.Leaf("n3") != "l2" {
		t.Fatalf("first: %v, %v", first, err)
	}
	write(said, "BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\n", 0o644)
	if again, err := w.of(t.Context(), now.Add(time.Minute), nil); err != nil || !again.Same(first) {
		t.Errorf("a minute later: %v, %v", again, err)
	}
	if later, err := w.of(t.Context(), now.Add(wiringAge), nil); err != nil || later.Kind() != "block" {
		t.Errorf("later: %v, %v", later, err)
	}
	write(script, "#!/bin/sh\necho 'Connection refused' >&2; exit 255\n", 0o755)
	kept, err := w.of(t.Context(), now.Add(3*wiringAge), nil)
	if err == nil || !strings.Contains(err.Error(), "Connection refused") || kept.Tree.Kind() != "block" {
		t.Errorf("without an answer: %v, %v", kept, err)
	}
}

// Of several topologies the bad one is named at each look, and the others stay in use.
func TestWiringWithABadOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "topology.yaml")
	good := "- topology: good\n  cluster_default: true\n  tree:\n    switches:\n    - switch: l1\n      nodes: n[1-2]\n"
	bad := "- topology: bad\n  block:\n    block_sizes: [0]\n    blocks:\n    - block: b1\n      nodes: n[3-4]\n"
	if err := os.WriteFile(path, []byte(good+bad), 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "scontrol")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n[ \"$2\" = topoconf ] && cat "+path+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{{TopologyFile: path}, {NodeCommand: []string{script}}} {
		w, err := openWiring(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := w.of(t.Context(), time.Unix(1e9, 0), nil)
			if err == nil || !strings.Contains(err.Error(), `topology "bad" is not used: invalid block_sizes [0]`) || s.Leaf("n2") != "l1" {
				t.Errorf("%v: %v", s, err)
			}
			if of, ok := s.Named["bad"]; !ok || len(of.Switches) > 0 {
				t.Errorf("partitions that name the bad one have %v, %v", of, ok)
			}
		}
		if err := os.WriteFile(path, []byte(good), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := w.of(t.Context(), time.Unix(1e9, 0).Add(wiringAge), nil); err != nil {
			t.Errorf("the file is good now: %v", err)
		}
		if err := os.WriteFile(path, []byte(good+bad), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWiringByFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "topology.yaml")
	if _, err := openWiring(Config{TopologyFile: path}); err == nil {
		t.Error("a file that is not there passed")
	}
	if err := os.WriteFile(path, []byte("- topology: f\n  tree:\n    switches:\n    - switch: l1\n      nodes: n[1-2]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := openWiring(Config{TopologyFile: path, NodeCommand: []string{"/bin/false"}})
	if err != nil {
		t.Fatal(err)
	}
	if tree, err := w.of(t.Context(), time.Unix(1e9, 0), nil); err != nil || tree.Leaf("n2") != "l1" {
		t.Errorf("%v, %v", tree, err)
	}
}

func TestWiringByNodes(t *testing.T) {
	for text, want := range map[string]string{"": "", "default:core:rack4": "core:rack4", "topo1:s1,nvl:b7": "s1", "default": ""} {
		if got := place(&wire.Node{Topology: text}); got != want {
			t.Errorf("%q is at %q, want %q", text, got, want)
		}
	}
	w, _ := openWiring(Config{})
	tree, err := w.of(t.Context(), time.Unix(1e9, 0), map[string]string{"n1": "core:r1", "n2": "core:r2", "n3": "core:r2"})
	if err != nil || tree.Leaf("n3") != "r2" || len(tree.Switches) != 3 {
		t.Errorf("%v, %v", tree, err)
	}
}

// Where a site has several topologies each partition has its own.
func TestWiringOfPartitions(t *testing.T) {
	script := filepath.Join(t.TempDir(), "scontrol")
	if err := os.WriteFile(script, []byte(`#!/bin/sh
[ "$*" = 'show topoconf' ] || exit 1
echo '- topology: a
  cluster_default: true
  tree:
    switches:
    - switch: l1
      nodes: n[1-4]
- topology: b
  block:
    block_sizes: [2]
    blocks:
    - block: b1
      nodes: n[1-2]
    - block: b2
      nodes: n[3-4]'
`), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := openWiring(Config{NodeCommand: []string{script}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.of(t.Context(), time.Unix(1e9, 0), nil)
	if err != nil || s.Kind() != "tree" || s.Named["b"].Leaf("n3") != "b2" {
		t.Errorf("%v, %v", s, err)
	}
}

// Where there is a topology.conf and no topology.yaml, 26.05.5 answers "show topoconf" so.
func TestWiringOfTopologyConf(t *testing.T) {
	script := filepath.Join(t.TempDir(), "scontrol")
	if err := os.WriteFile(script, []byte(`#!/bin/sh
[ "$*" = 'show topology' ] && echo 'SwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[1-4]' && exit
echo '%YAML 1.1
---
- topology: default
  cluster_default: false
  block: {}
  flat: {}
  ring: {}
  torus3d: {}
  tree: {}
...'
`), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := openWiring(Config{NodeCommand: []string{script}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.of(t.Context(), time.Unix(1e9, 0), nil)
	if err != nil || s.Kind() != "tree" || s.Leaf("n3") != "l1" || len(s.Named) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}
