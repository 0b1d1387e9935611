package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The configuration that README.md shows is understood as it stands, with the files that it names.
func TestConfigOfReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("README.md shows no configuration")
	}
	dir := t.TempDir()
	for file, content := range map[string]string{
		"alpha.key": strings.Repeat("k", 32), "beta.token": "SLURM_JWT=a.b.c", "alpha.topology": "SwitchName=s0 Nodes=a[1-2]\n",
		"aws.credentials": "[default]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = example\n",
		"fed.yaml":        strings.ReplaceAll(text, "/etc/fsub/", dir+"/"),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readConfig(filepath.Join(dir, "fed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Sites) != 4 || c.Sites[0].Prices["gres/gpu:h100"] != 3.90 || c.Sites[2].AWS == nil || c.Sites[3].Local == nil {
		t.Errorf("%+v", c.Sites)
	}
}
