// Package build names the program that runs, so that a report of a defect can say which build it is about.
package build

import (
	"runtime/debug"
	"strings"
)

// version is set by the linker (-X fsub/cmd/internal/build.version=v0.4.0) where a release is built without its Git checkout.
var version string

// Info is a build.
type Info struct {
	// Version is that of the module: "v0.4.0"; between releases Go's pseudo-version, which has the time and the hash of the commit; "(devel)" if nothing is known.
	Version string `json:"version"`
	// Commit is the hash of the commit. "" if the program was built outside its checkout.
	Commit string `json:"commit,omitempty"`
	// Date is when the commit was made, in RFC 3339.
	Date string `json:"date,omitempty"`
	// Modified: the checkout had changes that were not committed.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// Read is this build.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: orDevel(version)}
	}
	b := Info{Version: orDevel(version), Go: info.GoVersion}
	if version == "" {
		b.Version = orDevel(info.Main.Version)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func orDevel(v string) string {
	if v == "" {
		return "(devel)"
	}
	return v
}

// String is "v0.4.0 (commit 1963265c04d2, 2026-11-28, go1.26.8)".
func (b Info) String() string {
	var facts []string
	if b.Commit != "" {
		c := "commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			c += " with changes"
		}
		facts = append(facts, c)
	}
	if day, _, _ := strings.Cut(b.Date, "T"); day != "" {
		facts = append(facts, day)
	}
	if b.Go != "" {
		facts = append(facts, b.Go)
	}
	if len(facts) == 0 {
		return b.Version
	}
	return b.Version + " (" + strings.Join(facts, ", ") + ")"
}
