//go:build !nocloud

package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/cloud/agentapi"
	"fsub/cloud/clouds"
)

// TestMapped: an entry with IDs says all of a user, and what it leaves out has a meaning; one
// without is another user of this system.
func TestMapped(t *testing.T) {
	s := Site{Name: "a", Kind: "aws", Users: map[string]User{
		"al":  {Name: "albert", UID: 5000, GID: 5001, Groups: []uint32{6000}, Group: "lab", Home: "/fsx/albert", Shell: "/bin/zsh"},
		"bo":  {Name: "bo", UID: 5002, GID: 5001},
		"bob": {Name: "bo", UID: 5002, GID: 5001}, // two may be one
		"cy":  {Name: "cyril"},
	}}
	if err := s.checkUsers(); err != nil {
		t.Fatal(err)
	}
	got, err := s.MappedUsers()
	bo := agentapi.User{Name: "bo", UID: 5002, GID: 5001, Home: "/home/bo", Shell: "/bin/bash"}
	want := map[string]agentapi.User{
		"al": {Name: "albert", UID: 5000, GID: 5001, Groups: []uint32{6000}, Group: "lab", Home: "/fsx/albert", Shell: "/bin/zsh"}, "bo": bo, "bob": bo,
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	s.Kind = clouds.Local
	if _, err := s.MappedUsers(); (err == nil) != (os.Geteuid() == 0) || err != nil && !strings.Contains(err.Error(), "only root's daemon") {
		t.Error(err)
	}
}
