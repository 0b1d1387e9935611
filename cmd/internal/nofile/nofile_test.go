package nofile_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"fsub/cmd/internal/nofile"
)

func TestMain(m *testing.M) {
	if os.Getenv("NOFILE_CHILD") != "" {
		os.Stdout.WriteString(strconv.FormatUint(nofile.Soft, 10))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSoftLimitIsThatOfTheCaller(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "ulimit -S -n 123; exec "+self)
	cmd.Env = append(os.Environ(), "NOFILE_CHILD=1")
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "123" {
		t.Fatalf("soft limit %q, err %v; want 123", out, err)
	}
}
