package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/driver"
)

// TestReboot: the words that node_command gets, what becomes of its refusals, and what is said where there is none.
func TestReboot(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "scontrol")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\" >> "+dir+"/told\ncase \"$*\" in *n9*) echo 'scontrol_reboot_nodes error: Invalid node name specified'; exit 1;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	open := func(command ...string) *Driver {
		d, err := Open(Config{Name: "alpha", URL: "http://nowhere:1", NodeCommand: command})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	err := open().nodes.RebootNodes(t.Context(), driver.RebootOrder{Nodes: []string{"n1", "n2"}})
	if !errors.Is(err, federation.ErrInvalid) || !strings.Contains(err.Error(), "set node_command in the site's configuration, or run there: scontrol reboot n[1-2]") {
		t.Errorf("without node_command: %v", err)
	}
	d := open(program, "-M", "x")
	for _, o := range []driver.RebootOrder{
		{Nodes: []string{"n1", "n2", "n3"}},
		{Nodes: []string{"n1", "n2"}, Cancel: true},
		{Nodes: []string{"n1"}, ASAP: true, NextState: "RESUME", Reason: "fed:olga: new firmware"},
	} {
		if err := d.nodes.RebootNodes(t.Context(), o); err != nil {
			t.Error(err)
		}
	}
	if err := d.nodes.RebootNodes(t.Context(), driver.RebootOrder{Nodes: []string{"n9"}}); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("a node that is not there: %v", err)
	}
	if err := open(dir+"/nothing").nodes.RebootNodes(t.Context(), driver.RebootOrder{Nodes: []string{"n1"}}); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("a program that is not there: %v", err)
	}
	told, _ := os.ReadFile(dir + "/told")
	if want := "-M x reboot n[1-3]\n-M x cancel_reboot n[1-2]\n-M x reboot ASAP nextstate=RESUME reason=fed:olga: new firmware n1\n-M x reboot n9\n"; string(told) != want {
		t.Errorf("told %q, want %q", told, want)
	}
}
