package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestSmall holds the packages that would make every call slower: each costs more before main than a submission takes.
func TestSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, heavy := range []string{"net", "net/http", "regexp", "crypto/tls", "text/template", "log/slog",
		"github.com/go-resty/resty/v2", "github.com/spf13/cobra", "database/sql"} {
		if slices.Contains(deps, heavy) {
			t.Errorf("cmd/fsub depends on %s; go list -deps tells through what", heavy)
		}
	}
}
