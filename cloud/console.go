package cloud

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"

	"fsub/cloud/provider"
)

// consoleState is whether the cloud was asked for the console of a gang's machine that did not come up: one of a gang speaks for all.
type consoleState int8

const (
	consoleUnasked consoleState = iota
	consoleAsked
	consoleRead
)

// consoleTime is how long that may take, and consoleShown how much of it the log gets.
const consoleTime, consoleShown = 20 * time.Second, 4 << 10

// lastWords calls fn, under the lock, when m.said has what the console of a machine that did not come up ends with: at once where there is none to be had, and
// not at all while the cloud is being asked. Whoever sees the machine again calls it again.
func (f *fleet) lastWords(m *machine, fn func()) {
	c, ok := f.cfg.Provider.(provider.Consoler)
	switch g := m.gang; {
	case !ok || g.console == consoleRead:
		fn()
	case g.console == consoleUnasked:
		g.console = consoleAsked
		f.spawn(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, consoleTime)
			defer cancel()
			text, err := c.Console(ctx, m.Instance)
			f.locked(func() {
				g.console = consoleRead
				switch m.said = summary(text); {
				case err != nil:
					f.log.Warn("read the console of a machine that did not come up", "machine", m.id, "instance", m.Instance, "err", err)
				case m.said != "":
					f.log.Warn("a machine did not come up", "machine", m.id, "instance", m.Instance, "console", strings.ToValidUTF8(text[max(0, len(text)-consoleShown):], ""))
				}
				fn()
			})
		})
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// summary is the end of a console in a sentence's length. What the boot script and the programs with which it fetches the agent say comes before all else: a
// machine that switches itself off writes a hundred lines about that.
func summary(text string) string {
	const lines, most = 3, 400
	var all, ours []string
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		line = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, strings.ToValidUTF8(line, ""))
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		all = append(all, line)
		if strings.Contains(line, "fsub:") || strings.Contains(line, "curl:") || strings.Contains(line, "wget:") || strings.Contains(line, "urlopen error") {
			ours = append(ours, line)
		}
	}
	if len(ours) > 0 {
		all = ours
	}
	if len(all) == 0 {
		return ""
	}
	said := []rune(strings.Join(all[max(0, len(all)-lines):], " / "))
	return "; its console ends: " + string(said[max(0, len(said)-most):])
}
