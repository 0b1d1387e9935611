package store

import (
	"strings"
	"testing"
)

func TestUpgradeFits(t *testing.T) {
	u := Upgrade{From: 41, To: 42, Copy: 100 << 20, Room: 105 << 20}
	if err := u.fits("/var/lib/fsub/fed.db"); err == nil || !strings.Contains(err.Error(), "that takes 111 MiB, and 105 are free: free some in /var/lib/fsub") {
		t.Error(err)
	}
	if u.Room = 111 << 20; u.fits("/x") != nil {
		t.Error("room enough is refused")
	}
}
