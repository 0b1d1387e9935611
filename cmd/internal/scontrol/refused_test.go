package scontrol

import (
	"strings"
	"testing"
)

// TestRefusedVerbs: commands that the federation does not have say in one line what to do, by as few letters as real scontrol takes.
func TestRefusedVerbs(t *testing.T) {
	for word, want := range map[string]string{
		"token": "need no token", "pidinfo": "run scontrol pidinfo", "pid": "run scontrol pidinfo", "getent": "run scontrol getent", "gethost": "run scontrol gethost",
	} {
		if said, ok := refusedVerb(word); !ok || !strings.Contains(said, want) || strings.Contains(said, "\n") {
			t.Errorf("%s: %q, want %q in one line", word, said, want)
		}
	}
	if said, ok := refusedVerb("nosuch"); ok {
		t.Errorf("nosuch: %q", said)
	}
}
