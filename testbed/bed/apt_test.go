package bed

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSystemMirror(t *testing.T) {
	const deb822 = `# comment
Types: deb deb-src
URIs: http://security.example.org/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: http://ftp.example.org/debian/
      http://other.example.org/debian
Suites: bookworm
 bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string // empty: none found
	}{
		{"deb822", map[string]string{"sources.list.d/debian.sources": deb822}, "http://ftp.example.org/debian"},
		{"one line", map[string]string{"sources.list": "deb http://mirror.example.org/debian bookworm main\n"}, "http://mirror.example.org/debian"},
		{"options and comment", map[string]string{
			"sources.list": "deb [arch=amd64 signed-by=/k.gpg] https://m.example.org/debian trixie main # mine\n"}, "https://m.example.org/debian"},
		{"not the security archive", map[string]string{
			"sources.list": "deb http://security.example.org/debian-security bookworm-security main\ndeb http://a.example.org/debian bookworm main\n"},
			"http://a.example.org/debian"},
		{"not another archive", map[string]string{
			"sources.list.d/cloud.list":     "deb https://packages.example.com/apt cloud-sdk-bookworm main\n",
			"sources.list.d/debian.sources": deb822}, "http://ftp.example.org/debian"},
		{"not sources only", map[string]string{"sources.list": "deb-src http://mirror.example.org/debian bookworm main\n"}, ""},
		{"not disabled", map[string]string{
			"sources.list.d/debian.sources": "Enabled: no\nTypes: deb\nURIs: http://off.example.org/debian\nSuites: trixie\nComponents: main\n"}, ""},
		{"not a CD", map[string]string{"sources.list": "deb cdrom:[Debian_12]/ bookworm main\n"}, ""},
		{"not a file with another suffix", map[string]string{"sources.list.d/debian.sources.bak": deb822}, ""},
		{"an Ubuntu machine", map[string]string{"sources.list": "deb http://archive.ubuntu.com/ubuntu noble main\n"}, ""},
		{"nothing", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tc.files {
				path := filepath.Join(root, "etc/apt", name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := systemMirror(t.Context(), root)
			if tc.want == "" {
				if !errors.Is(err, errNoMirror) {
					t.Fatalf("got %q, %v; want errNoMirror", got, err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Fatalf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestAcquireOptions(t *testing.T) {
	conf, proxy := acquireOptions(`Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy.example.org:3128";
Acquire::http::Proxy-Auto-Detect "/usr/bin/find-proxy";
Acquire::https::SslKey "/etc/ssl/private/me.key";
Acquire::https::Verify-Peer "true";
Acquire::Check-Valid-Until "false";
Acquire::GzipIndexes "true";
Dir::Cache "/x";
`)
	want := []string{
		`Acquire::http::Proxy "http://proxy.example.org:3128";`,
		`Acquire::https::Verify-Peer "true";`,
		`Acquire::Check-Valid-Until "false";`,
	}
	if !slices.Equal(conf, want) || proxy != "http://proxy.example.org:3128" {
		t.Errorf("got %q, proxy %q; want %q", conf, proxy, want)
	}
	if _, proxy := acquireOptions(`Acquire::http::Proxy "DIRECT";`); proxy != "" {
		t.Errorf("DIRECT taken as a proxy: %q", proxy)
	}
}

func TestHidePassword(t *testing.T) {
	for in, want := range map[string]string{
		"http://mirror.example.org/debian":  "http://mirror.example.org/debian",
		"https://me:secret@m.example.org/d": "https://***@m.example.org/d",
	} {
		if got := hidePassword(in); got != want {
			t.Errorf("hidePassword(%q) = %q, want %q", in, got, want)
		}
	}
}
