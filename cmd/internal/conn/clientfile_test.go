package conn

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestClientFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "client.yaml")
	read := func(text string) (Client, error) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return ReadClientFile([]string{"FSUB_CLIENT_FILE=" + path})
	}
	for text, want := range map[string]Client{
		"":                                     {},
		"# of the site\n---\nserver: login1\n": {Servers: []string{"login1"}},
		"server: login1:7, login2:7 # both\nca_file: \"/etc/my ca\"\n":    {Servers: []string{"login1:7", "login2:7"}, CAFile: "/etc/my ca"},
		"server: [login1, 'login2:7#ab']\nca_file: /etc/ca.pem\r\n":       {Servers: []string{"login1", "login2:7#ab"}, CAFile: "/etc/ca.pem"},
		"server: h\nmunge: alpha\nmunge_socket: /run/m":                   {Servers: []string{"h"}, Munge: "alpha", MungeSocket: "/run/m"},
		"server:\n- login1\n  - \"login2\"\n\nca_file: /etc/ca.pem # x\n": {Servers: []string{"login1", "login2"}, CAFile: "/etc/ca.pem"},
	} {
		if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"servers: x\n":             `line 1: unknown key "servers": want server, ca_file, munge or munge_socket`,
		"\nserver: [a, b\n":        "line 2: a list ends in ]",
		"server: a\n- b\n":         "line 2: want KEY: VALUE",
		"server: a\n  ca_file: x":  "line 2: want KEY: VALUE",
		"token: secret\n":          "line 1: a token is not for all users",
		"hello\n":                  "line 1: want KEY: VALUE",
		strings.Repeat("#", 65537): "larger than 64 KiB",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %v, want %q", text, err, says)
		}
	}
	if got, err := ReadClientFile([]string{"FSUB_CLIENT_FILE=" + path + ".none"}); err != nil || got.Servers != nil {
		t.Errorf("no file: %+v, %v", got, err)
	}
}

func TestAddresses(t *testing.T) {
	for server, want := range map[string]string{
		"h": "tls://h:6829", "h:7": "tls://h:7", "h#ab": "tls://h:6829#ab", "h:7#ab": "tls://h:7#ab",
		"10.0.0.1": "tls://10.0.0.1:6829", "::1": "tls://[::1]:6829", "[::1]": "tls://[::1]:6829", "[::1]:7": "tls://[::1]:7",
	} {
		if got := address(server); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
}

// A token lies in a file of the user's alone, and goes to no servers but those that it was given for.
func TestFindServers(t *testing.T) {
	dir := t.TempDir()
	env := func(more ...string) []string {
		return append([]string{"HOME=" + dir, "FSUB_CLIENT_FILE=" + dir + "/client.yaml"}, more...)
	}
	if got, err := find(env()); err != nil || got.Servers != nil {
		t.Errorf("nothing is said: %+v, %v", got, err)
	}
	if err := os.WriteFile(dir+"/client.yaml", []byte("server: site1, site2\nca_file: /ca\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	login := LoginFile(env())
	for name, c := range map[string]struct {
		login Client // none: nobody is signed in
		more  []string
		want  Client
	}{
		"the machine's":                {Client{}, nil, Client{Servers: []string{"site1", "site2"}, CAFile: "/ca"}},
		"the environment's":            {Client{}, []string{"FSUB_SERVER=a,b", "FSUB_TOKEN=t"}, Client{Servers: []string{"a", "b"}, CAFile: "/ca", Token: "t"}},
		"the user's":                   {Client{Servers: []string{"u:7#ab"}, Token: "s"}, nil, Client{Servers: []string{"u:7#ab"}, Token: "s"}},
		"the user's, another token":    {Client{Servers: []string{"u"}, CAFile: "/u", Token: "s"}, []string{"FSUB_TOKEN=t"}, Client{Servers: []string{"u"}, CAFile: "/u", Token: "t"}},
		"the user's, by name":          {Client{Servers: []string{"u", "v"}, Token: "s"}, []string{"FSUB_SERVER=v:6829"}, Client{Servers: []string{"v:6829"}, Token: "s"}},
		"others than the user's":       {Client{Servers: []string{"u"}, Token: "s"}, []string{"FSUB_SERVER=evil"}, Client{Servers: []string{"evil"}, CAFile: "/ca"}},
		"others beside the user's":     {Client{Servers: []string{"u"}, Token: "s"}, []string{"FSUB_SERVER=u,evil"}, Client{Servers: []string{"u", "evil"}, CAFile: "/ca"}},
		"another certificate is wrong": {Client{Servers: []string{"u#ab"}, Token: "s"}, []string{"FSUB_SERVER=u#cd"}, Client{Servers: []string{"u#cd"}, CAFile: "/ca"}},
	} {
		os.Remove(login)
		if c.login.Servers != nil {
			if err := c.login.Save(login); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := find(env(c.more...)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if st, err := os.Stat(login); err != nil && !os.IsNotExist(err) || err == nil && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if err := (&Client{Servers: []string{"u"}, Token: "s"}).Save(login); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(login, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := find(env()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
}
