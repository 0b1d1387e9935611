package aws

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRenewedCredentialsFile: keys that are renewed in credentials_file are used without a restart; a file that is gone for a moment, or half written, changes nothing.
func TestRenewedCredentialsFile(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	file := filepath.Join(t.TempDir(), "credentials")
	at := time.Now().Add(-time.Hour)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(id string) string {
		return "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = secret\n"
	}
	write(keys("AKIAOLD"))
	cfg, err := (&Config{CredentialsFile: file}).load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wants := func(id string) {
		t.Helper()
		if c, err := cfg.Credentials.Retrieve(t.Context()); err != nil || c.AccessKeyID != id {
			t.Errorf("%q, %v, want %q", c.AccessKeyID, err, id)
		}
	}
	wants("AKIAOLD")
	write(keys("AKIANEW"))
	wants("AKIANEW")
	write("[default\naws_access_key_id")
	wants("AKIANEW")
	if _, err := (&Config{CredentialsFile: file}).load(t.Context()); err == nil || !strings.Contains(err.Error(), `credentials has no profile "default" with aws_access_key_id`) {
		t.Errorf("a broken file: %v", err) // not the machine's own role
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wants("AKIANEW")
	write(keys("AKIATHIRD"))
	wants("AKIATHIRD")
}
