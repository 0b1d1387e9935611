package situations

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fsub/federation"
)

var update = flag.Bool("update", false, "write docs/situations.md anew")

const (
	page  = "../../docs/situations.md"
	begin = "<!-- situations -->\n"
	end   = "<!-- end of situations -->\n"
)

// TestSituations submits each script, looks where the job goes, and compares what fed explain says with the page.
func TestSituations(t *testing.T) {
	world.Need(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), begin)
	old, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no %s ... %s", page, begin, end)
	}
	var all strings.Builder
	for i := range situations {
		s := &situations[i]
		t.Run(s.title, func(t *testing.T) {
			section := show(t, i, s)
			all.WriteString(section)
			if *update {
				return
			}
			if was := sectionOf(old, s.title); !alike(was, section) {
				t.Errorf("%s says otherwise (if the new text is right: go test ./testbed/situations -update):\n%s", page, section)
			}
		})
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(page, []byte(head+begin+all.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// show submits a situation's job and returns its section of the page.
func show(t *testing.T, number int, s *situation) string {
	defer clear(t)
	if s.sites != nil {
		s.sites(t)
	}
	var change func(map[string]any)
	if s.config != nil {
		change = s.config(t)
	}
	d := federate(t, number, change)
	defer d.Stop()
	for _, args := range s.fed {
		at(t, d, "", args...)
	}
	if s.others != nil {
		s.others(t, d)
	}
	user := s.user
	if user == "" {
		user = "alice"
	}
	name := fmt.Sprintf("job%d.sbatch", number+1)
	script := "#!/bin/bash\n" + s.script + "./train\n"
	if err := os.WriteFile(filepath.Join(world.Bed.Home(user), name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	said := at(t, d, user, "fsub", "-o", "/dev/null", name)
	id, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(said, "Submitted batch job ")), 10, 32)
	if err != nil {
		t.Fatal(said)
	}
	c := d.Client()
	defer c.Close()
	if state := decided(t, c, federation.JobID(id), s); state.Ended() {
		t.Errorf("the job has ended: %s", state)
	}
	of := fmt.Sprint(id)
	if s.task != "" {
		of += fmt.Sprintf("_0,%d%s", id, s.task)
	}
	explained := at(t, d, user, "fed", "explain", of)
	t.Log(explained)
	first, _, _ := strings.Cut(explained, "\n")
	if want := fmt.Sprintf("-> %s ", s.site); s.site != "" && !s.queued && !strings.Contains(first, want) || s.site != "" && !strings.Contains(first, string(s.site)+" ") {
		t.Errorf("want %s", s.site)
	}
	for _, text := range s.says {
		if !strings.Contains(explained, text) {
			t.Errorf("want %q", text)
		}
	}
	return section(s, name, script, explained)
}

// section is a situation on the page.
func section(s *situation, name, script, explained string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.title, s.why)
	if len(s.fed) > 0 {
		b.WriteString("\n```sh\n")
		for _, args := range s.fed {
			for i, a := range args {
				if strings.Contains(a, " ") {
					a = strconv.Quote(a)
				}
				if i > 0 {
					a = " " + a
				}
				b.WriteString(a)
			}
			b.WriteString("\n")
		}
		b.WriteString("```\n")
	}
	fmt.Fprintf(&b, "\n```bash %s\n%s```\n\n", name, script)
	for line := range strings.Lines(explained) {
		b.WriteString("    " + line)
	}
	return b.String()
}

// sectionOf is what a page has under a title.
func sectionOf(text, title string) string {
	_, after, _ := strings.Cut(text, "\n## "+title+"\n")
	body, _, _ := strings.Cut(after, "\n## ")
	return "\n## " + title + "\n" + body
}

var (
	passing = regexp.MustCompile(`\b3\d{7}(_\d+)?\b|\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z?)?|\b\d+s lost`) // job IDs, times, and work that others lose
	cost    = regexp.MustCompile(`(?m)^ *(it has cost|costs) .* at most.*\n?`)                           // the first once the site says that the job runs
	figure  = regexp.MustCompile(`\d+(\.\d+)?`)
)

// alike reports whether two sections say the same but for what no two runs have in common: job IDs, times, what a run has cost so far,
// and the last tenth of figures, since waits pass by.
func alike(a, b string) bool {
	plain := func(s string) string {
		return strings.TrimSpace(passing.ReplaceAllString(cost.ReplaceAllString(s, ""), "-"))
	}
	a, b = plain(a), plain(b)
	if figure.ReplaceAllString(a, "N") != figure.ReplaceAllString(b, "N") {
		return false
	}
	x, y := figure.FindAllString(a, -1), figure.FindAllString(b, -1)
	for i := range x {
		p, _ := strconv.ParseFloat(x[i], 64)
		q, _ := strconv.ParseFloat(y[i], 64)
		if math.Abs(p-q) > max(0.1*max(p, q), 0.05) {
			return false
		}
	}
	return true
}
