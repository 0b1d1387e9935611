package config

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestConfigurationWithoutSecrets(t *testing.T) {
	c := Config{Federation: "test", Store: "postgres://fed:hunter2@db/fed", StorePasswordFile: "/etc/fsub/password",
		Sites: []Site{{Name: "alpha", TokenCommand: []string{"vault", "read", "--token=hunter2"}}}}
	c.Health.Webhook, c.Health.Notify = "https://hooks.example.org/T0/hunter2", []string{"curl", "-H", "Authorization: hunter2"}
	shown, err := c.WithoutSecrets()
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "hunter2") {
		t.Errorf("a secret is in\n%s", text)
	}
	for _, part := range []string{"postgres://fed:xxxxx@db/fed", "/etc/fsub/password", "https://hooks.example.org/...", "- vault", "- curl"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if c.Health.Notify[1] != "-H" {
		t.Error("the configuration itself was changed")
	}
}
