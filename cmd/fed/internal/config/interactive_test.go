package config

import (
	"strings"
	"testing"
)

// TestInteractive: what cannot be a way to a site's srun is refused.
func TestInteractive(t *testing.T) {
	const site = "{name: a, url: \"unix:/s\", key_file: /k, interactive: "
	for text, want := range map[string]string{
		site + "{}}":                                        "",
		site + "{ssh: login.alpha.example.org}}":            "",
		site + "{ssh: login, srun: [srun, -M, a]}}":         "",
		site + "{srun: [/opt/a/bin/srun]}}":                 "",
		site + "{ssh: \"-oProxyCommand=x\"}}":               `invalid host "-oProxyCommand=x"`,
		site + "{ssh: me@login}}":                           `invalid host "me@login"`,
		site + "{srun: [srun]}}":                            `invalid program "srun": want an absolute path`,
		site + "{srun: [/opt/a/bin/srun, \"\"]}}":           `invalid word ""`,
		"{name: a, kind: local, interactive: {ssh: login}}": "it is for Slurm clusters",
		site + "{command: [x]}}":                            "command",
	} {
		_, err := Parse([]byte("sites: [" + text + "]"))
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
