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

// debianSuites are names of Debian releases, which tell a Debian mirror from another archive.
var debianSuites = []string{
	"bullseye", "bookworm", "trixie", "forky", "duke", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable",
}

var errNoMirror = errors.New("no Debian mirror in this machine's apt configuration: name one with --mirror, such as http://mirror.example.org/debian")

// systemMirror returns the first URI in the apt configuration under root that serves a whole Debian release, not only its security
// or other updates.
func systemMirror(ctx context.Context, root string) (string, error) {
	out, err := output(ctx, "apt-get", "-o", "Dir::Etc="+filepath.Join(root, "etc/apt"), "indextargets", "--no-release-info",
		"--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 3 || !slices.Contains(debianSuites, strings.Trim(f[1], "/")) || f[2] != "main" {
			continue
		}
		if u, err := url.Parse(f[0]); err == nil && slices.Contains([]string{"http", "https", "file"}, u.Scheme) {
			return strings.TrimRight(f[0], "/"), nil
		}
	}
	return "", errNoMirror
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
