//go:build !remote

package conn

import (
	"os/exec"
	"strings"
	"testing"
)

// The tests of what is built for machines without the socket are run too.
func TestBuiltForOtherMachines(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("go", "test", "-tags", "remote", ".", "../login").CombinedOutput(); err != nil {
		t.Errorf("go test -tags remote: %v\n%s", err, out)
	}
}

// A program that was built for the socket says so where a server is named.
func TestServerWithoutTLS(t *testing.T) {
	_, _, err := FromEnv([]string{"FSUB_SERVER=login1"}).Do("GET", "/", nil)
	e, ok := err.(*Error)
	if !ok || !strings.Contains(e.Detail, "login1:6829") || !strings.Contains(e.Detail, "use fsub-remote") {
		t.Errorf("%+v", e)
	}
}
