package bed

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestRenderConf compares every file of every site with testdata/SITE/FILE.
func TestRenderConf(t *testing.T) {
	for _, s := range Sites {
		t.Run(s.Name, func(t *testing.T) {
			l := siteLink(netip.MustParsePrefix("10.255.7.0/24"), s.Index)
			files, err := renderConf(confVars{Site: s, Dir: "/bed/sites/" + s.Name, MinJobAge: 120, HostAddr: l.HostAddr.String()})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				golden := filepath.Join("testdata", s.Name, f.name)
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, []byte(f.text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), f.text); diff != "" {
					t.Errorf("%s (-golden +got; go test -update writes it):\n%s", f.name, diff)
				}
			}
		})
	}
}

// TestSecretsAreClosed holds that slurmdbd.conf, which has the database's password, is for its owner only.
func TestSecretsAreClosed(t *testing.T) {
	files, err := renderConf(confVars{Site: Sites[0], Dir: "/bed"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.text, "StoragePass") && f.mode != 0o600 {
			t.Errorf("%s has mode %o", f.name, f.mode)
		}
	}
}

func TestAppendUsers(t *testing.T) {
	passwd, group := appendUsers("root:x:0:0:root:/root:/bin/bash", "root:x:0:\n", []User{{Name: "alice", UID: 7001}, restUser}, "/bed/home")
	wantPasswd := "root:x:0:0:root:/root:/bin/bash\nalice:*:7001:7001:alice:/bed/home/alice:/bin/bash\nslurmrest:*:7900:7900:slurmrest:/nonexistent:/bin/bash\n"
	if passwd != wantPasswd {
		t.Errorf("passwd:\n%s", cmp.Diff(wantPasswd, passwd))
	}
	if want := "root:x:0:\nalice:x:7001:\nslurmrest:x:7900:\n"; group != want {
		t.Errorf("group:\n%s", cmp.Diff(want, group))
	}
	again, _ := appendUsers(passwd, group, []User{{Name: "alice", UID: 7001}}, "/bed/home")
	if again != passwd {
		t.Errorf("a second time changed it:\n%s", cmp.Diff(passwd, again))
	}
}

// TestSiteTable holds what the table promises: no index twice, room for it in the subnet, whole leaves.
func TestSiteTable(t *testing.T) {
	index := map[int]string{}
	for _, s := range Sites {
		if other := index[s.Index]; other != "" {
			t.Errorf("%s and %s have the same index", s.Name, other)
		}
		index[s.Index] = s.Name
		if s.Index < 1 || s.Index > 62 || s.LeafNodes < 1 || s.Nodes < 1 || s.GPUs < 1 {
			t.Errorf("%s: bad entry %+v", s.Name, s)
		}
		for _, u := range s.Without {
			if _, err := FindUser(u); err != nil {
				t.Errorf("%s is without %s: %v", s.Name, u, err)
			}
		}
	}
	if _, err := pickSites([]string{"alpha", "nowhere"}); err == nil || !strings.Contains(err.Error(), "alpha, beta") {
		t.Errorf("an unknown site: %v", err)
	}
}
