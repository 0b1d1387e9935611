package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTraces(t *testing.T) {
	const good = "https://otel.example.org:4318/v1/traces"
	for text, says := range map[string]string{
		"":                                 "",
		"traces: {endpoint: " + good + "}": "",
		"traces: {endpoint: \"http://127.0.0.1:4318/v1/traces\", share: 0}": "",
		"traces: {share: 0.5}":                                      "traces: endpoint is missing",
		"traces: {endpoint: \"otel:4318\"}":                         `traces: invalid endpoint "otel:4318": want http or https://HOST:PORT/v1/traces`,
		"traces: {endpoint: \"https://ann:secret@otel/v1/traces\"}": "traces: invalid endpoint \"https://ann:xxxxx@otel/v1/traces\": a password does not belong",
		"traces: {endpoint: " + good + ", share: 1.5}":              "traces: invalid share 1.5: want a number from 0 to 1",
		"traces: {endpoint: " + good + ", share: .nan}":             "traces: invalid share",
	} {
		_, err := Parse([]byte("federation: fed\n" + text))
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is told: %v", err)
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestTraceHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	write := func(text string, mode os.FileMode) *Traces {
		t.Helper()
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return &Traces{HeadersFile: path}
	}
	all, err := write("Authorization: Bearer a:b\n\nX-Team:  physics \n", 0o600).Headers()
	if err != nil || len(all) != 2 || all["Authorization"] != "Bearer a:b" || all["X-Team"] != "physics" {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := write("no header\n", 0o600).Headers(); err == nil || !strings.Contains(err.Error(), "is not NAME: VALUE") {
		t.Error(err)
	}
	if _, err := write("A: b\n", 0o644).Headers(); err == nil || !strings.Contains(err.Error(), "may be read") {
		t.Errorf("a file that others may read: %v", err)
	}
}
