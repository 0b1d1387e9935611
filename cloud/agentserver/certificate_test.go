package agentserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCertificateIsKept(t *testing.T) {
	cert, key := filepath.Join(t.TempDir(), "c"), filepath.Join(t.TempDir(), "k")
	first, err := Certificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := Pin(first)
	if err != nil || len(pin) != 44 {
		t.Fatalf("pin %q: %v", pin, err)
	}
	again, err := Certificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := Pin(again); p != pin {
		t.Errorf("pin %q, then %q", pin, p)
	}
	if st, err := os.Stat(key); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", st.Mode(), err)
	}
	if err := os.WriteFile(cert, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Certificate(cert, key); err == nil {
		t.Error("a damaged certificate was made anew: machines would not know the daemon any more")
	}
}
