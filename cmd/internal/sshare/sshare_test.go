package sshare

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

type fakeDaemon struct{}

// Do answers with the site at which a real sshare's answers were taken down; beta has one account more.
func (fakeDaemon) Do(_, path string, _ []byte) (int, []byte, error) {
	switch {
	case strings.HasSuffix(path, "/sites"):
		return 200, []byte(`[{"name":"alpha"},{"name":"beta"}]`), nil
	case strings.Contains(path, "/ping"):
		var r wire.PingResponse
		r.Meta.Slurm.Cluster = "fed"
		b, err := json.Marshal(r)
		return 200, b, err
	case strings.Contains(path, "/shares"):
		entry := func(cluster, name, parent, kind string) string {
			return `{"cluster":"` + cluster + `","name":"` + name + `","parent":"` + parent + `","type":["` + kind + `"],"usage":7}`
		}
		list := []string{entry("alpha", "root", "", "ASSOCIATION"), entry("alpha", "physics", "root", "ASSOCIATION"), entry("alpha", "alice", "physics", "USER"), entry("alpha", "carol", "physics", "USER")}
		if !strings.Contains(path, "=alpha") {
			list = append(list, entry("beta", "erin", "loose", "USER"))
		}
		return 200, []byte(`{"shares":{"shares":[` + strings.Join(list, ",") + `]},"meta":{"client":{"user":"alice"}},"errors":[],"warnings":[]}`), nil
	}
	uids := map[string]uint32{"root": 0, "alice": 7001, "bob": 7002, "carol": 7003, "dave": 7004}
	a := func(cluster, account, parent, user string) v1.Association {
		out := v1.Association{Cluster: cluster, Account: account, ParentAccount: parent, User: user, Shares: 1}
		if uid, ok := uids[user]; ok {
			out.UID = &uid
		}
		return out
	}
	list := []v1.Association{a("alpha", "root", "", ""), a("alpha", "root", "", "root"), a("alpha", "physics", "root", ""), a("alpha", "physics", "", "alice"),
		a("alpha", "physics", "", "carol"), a("alpha", "physics", "", "dave"), a("alpha", "vision", "root", ""), a("alpha", "vision", "", "bob"), a("alpha", "vision", "", "carol")}
	beta := []v1.Association{a("beta", "root", "", ""), a("beta", "physics", "root", ""), a("beta", "physics", "", "alice"), a("beta", "loose", "", "erin")}
	switch {
	case strings.HasSuffix(path, "=beta"):
		list = beta
	case !strings.Contains(path, "?"):
		list = append(list, beta...)
	}
	b, err := json.Marshal(v1.Associations{Associations: list})
	return 200, b, err
}

func TestRows(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"", "" + // what follows from use is empty
			"Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare \n" +
			"-------------------- ---------- ---------- ----------- ----------- ------------- ---------- \n" +
			"root                                          0.000000                                      \n" +
			" physics                                 1    0.333333                                      \n" +
			"  physics                 alice          1    0.333333                                      \n" +
			" vision                                  1    0.333333                                      \n"},
		{"-U", "" +
			"Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare \n" +
			"-------------------- ---------- ---------- ----------- ----------- ------------- ---------- \n" +
			"physics                   alice          1    0.333333                                      \n"},
		{"-nP -o account,user -u bob,7003 -M alpha", "root|\n physics|\n  physics|carol\n vision|\n  vision|bob\n  vision|carol\n"},
		{"-nP -o account,user -a -M alpha", "root|\n root|root\n physics|\n  physics|alice\n  physics|carol\n  physics|dave\n vision|\n  vision|bob\n  vision|carol\n"},
		{"-nP -o account,user -A physics", "physics|\n physics|alice\n"},
		{"-nP -o account,user -A vision -u alice", "vision|\n"},
		{"-nP -o account,user -U -A vision -a", "vision|bob\nvision|carol\n"},
		{"-nP -o account,user -A nosuch", ""},
		{"-nP -o account,user,cluster -a -U", "root|root|alpha\nphysics|alice|alpha\nphysics|carol|alpha\nphysics|dave|alpha\nvision|bob|alpha\nvision|carol|alpha\nloose|erin|beta\n"},
		{"-P -o account,user,normshares -M beta", "CLUSTER: beta\nAccount|User|NormShares\nroot||0.000000\n physics||1.000000\n  physics|alice|1.000000\n"},
		{"-p -n -o acc%3,rawsh words", "root||\n physics|1|\n  physics|1|\n vision|1|\n"},
		{"-n -o account%-6 -U", "physi+ \n"},
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(test.args), nil, &stdout, &stderr, fakeDaemon{}, 7001); rc != 0 || stdout.String() != test.want {
			t.Errorf("%s: exit %d %s\n got\n%s\nwant\n%s", test.args, rc, &stderr, &stdout, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-o bogus": "sshare: error: Invalid field requested: \"bogus\"\n",
		"--bogus":  "sshare: unrecognized option '--bogus'\nTry \"sshare --help\" for more information\n",
		"-M nosuch": "sshare: error: No cluster 'nosuch' known by database.\nsshare: error: 'nosuch' can't be reached now, or it is an invalid entry for " +
			"--cluster.  Use 'sacctmgr list clusters' to see available clusters.\nsshare: fatal: Could not get cluster information\n",
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(args), nil, &stdout, &stderr, fakeDaemon{}, 7001); rc != 1 || stdout.Len() > 0 || stderr.String() != want {
			t.Errorf("%s: exit %d, %q, %q, want %q", args, rc, &stdout, &stderr, want)
		}
	}
}

func TestHelpFormat(t *testing.T) {
	var stdout bytes.Buffer
	run([]string{"-e"}, nil, &stdout, &stdout, fakeDaemon{}, 0)
	want := "Account           Cluster           EffectvUsage      FairShare        \nGrpTRESMins       GrpTRESRaw        ID                LevelFS          \n" +
		"NormShares        NormUsage         Partition         RawShares        \nRawUsage          TRESRunMins       User             \n"
	if stdout.String() != want {
		t.Errorf("%q", &stdout)
	}
}

// TestDocument: --json and --yaml have slurmrestd's entries of the accounts and users that are asked for, and the call.
func TestDocument(t *testing.T) {
	for args, want := range map[string]string{
		"--json": "root physics alice", "--json -a": "root physics alice carol erin", "--json -A physics": "physics alice", "--json -u carol,erin": "root physics carol erin",
		"--json -a -M alpha": "root physics alice carol", "--json -U": "root physics alice", "--json -A nosuch": "",
	} {
		var stdout, stderr bytes.Buffer
		code := run(strings.Fields(args), nil, &stdout, &stderr, fakeDaemon{}, 7001)
		var doc struct {
			Shares struct {
				Shares []struct {
					Name  string
					Usage int
				}
			}
			Meta struct{ Command []string }
		}
		if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || code != 0 || doc.Meta.Command[0] != "sshare" || doc.Shares.Shares == nil {
			t.Errorf("%s: %v, exit %d\n%s%s", args, err, code, &stdout, &stderr)
			continue
		}
		var names []string
		for _, e := range doc.Shares.Shares {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--yaml"}, nil, &stdout, &stderr, fakeDaemon{}, 7001); code != 0 || !strings.Contains(stdout.String(), "name: !!str physics") {
		t.Errorf("--yaml: exit %d\n%s%s", code, &stdout, &stderr)
	}
}
