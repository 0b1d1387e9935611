package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// FuzzConfig reads configurations, and descriptions of sites as operators send them: what is taken has names that files and tags can bear, and an error has words.
func FuzzConfig(f *testing.F) {
	f.Add("name: fed\nstate_dir: /s\nsocket: /s/fed.sock\nsites:\n  - name: alpha\n    url: http://a:6820\n    key_file: /k\n    prices: {cpu: 0.1, gres/gpu: 2}\n")
	f.Add("name: alpha\nurl: http://a:6820\ntoken_file: /t\ntimeout: 5s\nmode: mapped\n")
	f.Add("sites:\n  - name: aws\n    kind: aws\n    region: us-east-1\n    offers: [{type: p5.48xlarge, max: 2}]\n")
	f.Add("!\nsites:")
	f.Add("sites: &a [*a]\nname: *a\n")
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, page := range []string{"../../../../README.md", "../../../../docs/sites.md", "../../../../docs/clouds.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range examples.FindAllSubmatch(text, -1) {
			f.Add(string(m[1]))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse([]byte(text))
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Error("an error without words")
		}
		if err == nil {
			for i := range c.Sites {
				if !NameForm.MatchString(string(c.Sites[i].Name)) {
					t.Errorf("site %q", c.Sites[i].Name)
				}
			}
			c.resolve("/etc/fed")
		}
		s, err := ParseSite(text)
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Error("an error without words")
		}
		if err == nil && !NameForm.MatchString(string(s.Name)) {
			t.Errorf("site %q", s.Name)
		}
	})
}
