package bed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// aptSource is one entry of the machine's apt configuration.
type aptSource struct {
	types, uris, suites, components []string
	enabled                         bool
}

// parseOneLine reads a sources.list: deb [options] URI SUITE COMPONENT...
func parseOneLine(text string) []aptSource {
	var sources []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if open := strings.IndexByte(line, '['); open >= 0 {
			if end := strings.IndexByte(line, ']'); end > open {
				line = line[:open] + line[end+1:]
			}
		}
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "deb" {
			continue
		}
		sources = append(sources, aptSource{types: f[:1], uris: f[1:2], suites: f[2:3], components: f[3:], enabled: true})
	}
	return sources
}

// parseDeb822 reads a .sources file: stanzas of "Field: values", continued by lines that begin with a blank.
func parseDeb822(text string) []aptSource {
	var sources []aptSource
	current, field := aptSource{enabled: true}, ""
	flush := func() {
		if len(current.uris) > 0 {
			sources = append(sources, current)
		}
		current, field = aptSource{enabled: true}, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if line == "" {
			flush()
			continue
		}
		value := line
		if line[0] != ' ' && line[0] != '\t' {
			name, rest, _ := strings.Cut(line, ":")
			field, value = strings.ToLower(name), rest
		}
		words := strings.Fields(value)
		switch field {
		case "types":
			current.types = append(current.types, words...)
		case "uris":
			current.uris = append(current.uris, words...)
		case "suites":
			current.suites = append(current.suites, words...)
		case "components":
			current.components = append(current.components, words...)
		case "enabled":
			current.enabled = len(words) == 0 || !slices.Contains([]string{"no", "false", "0", "off", "without", "disable"}, strings.ToLower(words[0]))
		}
	}
	flush()
	return sources
}

// debianSuites are names of Debian releases, which tell a Debian mirror from another archive.
var debianSuites = []string{
	"bullseye", "bookworm", "trixie", "forky", "duke", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable",
}

var errNoMirror = errors.New("no Debian mirror in this machine's apt configuration: name one with --mirror, such as http://mirror.example.org/debian")

// pickMirror returns the first URI that serves a whole Debian release, not only its security or other updates.
func pickMirror(sources []aptSource) (string, error) {
	for _, s := range sources {
		whole := slices.ContainsFunc(s.suites, func(name string) bool { return slices.Contains(debianSuites, strings.Trim(name, "/")) })
		if !s.enabled || !whole || !slices.Contains(s.types, "deb") || !slices.Contains(s.components, "main") {
			continue
		}
		for _, uri := range s.uris {
			if u, err := url.Parse(uri); err == nil && slices.Contains([]string{"http", "https", "file"}, u.Scheme) {
				return strings.TrimRight(uri, "/"), nil
			}
		}
	}
	return "", errNoMirror
}

// systemMirror reads the mirror from the apt configuration under root.
func systemMirror(root string) (string, error) {
	dir := filepath.Join(root, "etc/apt")
	var sources []aptSource
	read := func(path string, parse func(string) []aptSource) error {
		text, err := os.ReadFile(path)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		sources = append(sources, parse(string(text))...)
		return nil
	}
	if err := read(filepath.Join(dir, "sources.list"), parseOneLine); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "sources.list.d"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		path := filepath.Join(dir, "sources.list.d", e.Name())
		switch filepath.Ext(path) {
		case ".list":
			err = read(path, parseOneLine)
		case ".sources":
			err = read(path, parseDeb822)
		}
		if err != nil {
			return "", err
		}
	}
	return pickMirror(sources)
}

// acquireOptions picks, from `apt-config dump`, what a root filesystem's apt needs to reach the mirror as the machine's own does.
// Options that name a program or a private file of the machine are left out.
func acquireOptions(dump string) (conf []string, proxy string) {
	lines := bufio.NewScanner(strings.NewReader(dump))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		value = strings.Trim(value, `";`)
		lower := strings.ToLower(name)
		if !ok || value == "" || strings.Contains(lower, "auto-detect") || strings.Contains(lower, "autodetect") ||
			strings.Contains(lower, "sslcert") || strings.Contains(lower, "sslkey") {
			continue
		}
		for _, prefix := range []string{"acquire::http::", "acquire::https::", "acquire::retries", "acquire::forceipv", "acquire::check-"} {
			if strings.HasPrefix(lower, prefix) {
				conf = append(conf, lines.Text())
				break
			}
		}
		if lower == "acquire::http::proxy" && !strings.EqualFold(value, "DIRECT") {
			proxy = value
		}
	}
	return conf, proxy
}

// hostPackages are the programs of the host that a bed needs, and the packages they are in.
var hostPackages = []struct{ file, name string }{
	{"/usr/sbin/debootstrap", "debootstrap"},
	{"/usr/bin/zstd", "zstd"},
	{"/usr/bin/gpgv", "gpgv"},
	{"/sbin/ip", "iproute2"},
	{"/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"},
}

// installHostPackages installs what the host lacks.
func (b *Bed) installHostPackages(ctx context.Context, say teller) error {
	var missing []string
	for _, p := range hostPackages {
		if _, err := os.Stat(p.file); err != nil {
			missing = append(missing, p.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	say("installing %s on this machine", strings.Join(missing, ", "))
	apt := []string{"env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"}
	install := append(slices.Clone(apt), append([]string{"install", "--no-install-recommends"}, missing...)...)
	var err error
	for range 3 {
		if err = run(ctx, install...); err == nil {
			return nil
		}
		// a source that fails is not a reason to stop: the others may have the packages
		run(ctx, append(slices.Clone(apt), "update")...)
	}
	return fmt.Errorf("install %s (is this a Debian machine with a mirror that answers?): %w", strings.Join(missing, ", "), err)
}
