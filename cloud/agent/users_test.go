package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fsub/cloud/agentapi"
)

// The first jobs of a user on a machine begin at the same moment.
func TestMakeUserAtOnce(t *testing.T) {
	etc, home := t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			u := agentapi.User{Name: fmt.Sprintf("user%d", i%4), UID: uint32(7001 + i%4), GID: uint32(7001 + i%4), Home: home}
			if err := makeUserIn(etc, u); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(etc, "passwd"))
	if err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("%v %q", err, text)
	}
}
