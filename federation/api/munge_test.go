package api_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/munge"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/apitest"
	"fsub/testbed/munged"
)

// credentialOf has a process of uid make a credential.
func credentialOf(t *testing.T, uid uint32, socket, payload string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", payload)
	cmd.Env = []string{"API_TEST_MUNGE=" + socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	cred, said, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || said != "<nil>" {
		t.Fatalf("%v: %s", err, out)
	}
	return cred
}

func withMunge(t *testing.T, m *identity.Munge) *apitest.Daemon {
	return withTokens(t, identity.NewTokens([]byte("key")), api.Config{Munge: m})
}

// A credential of a site's munge key is the user whom the site's uid stands for, an ordinary one, and counts once, for this daemon.
func TestMungeCredentials(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: nobody else can be several users")
	}
	const alAtAlpha, fingerprint = 47001, "ab"
	key, sameKey, beta := munged.Start(t, "alpha"), munged.Start(t, "alpha"), munged.Start(t, "beta")
	alpha := identity.MungeSite{Socket: key, Users: identity.SiteUsers{"alice": {Name: "al", UID: alAtAlpha}, "olga": {Name: "ol"}, "carol": {Name: "c", UID: 47003}, "dave": {Name: "c", UID: 47003}}}
	d := withMunge(t, &identity.Munge{Fingerprint: fingerprint, Sites: map[string]identity.MungeSite{
		"alpha": alpha, "beta": {Socket: beta}, "down": {Socket: "/nonexistent"}, "evil": {Socket: sameKey, Users: identity.SiteUsers{"root": {Name: "al", UID: alAtAlpha}}},
	}})
	call := overTLS(t, d)
	payload := munge.PayloadFor("alpha", fingerprint)
	ask := func(header string) (who v1.Caller, status int, said string) {
		status, said = call("munge "+header, "GET", "/fed/v1/caller", nil, &who)
		return who, status, said
	}
	cred := credentialOf(t, alAtAlpha, key, payload)
	if who, status, said := ask("alpha " + cred); status != 200 || who.User != "alice" || who.UID != alice || who.From != "munge alpha" || who.Role != "None" || who.Scope != "submit" {
		t.Errorf("%d %s", status, said)
	}
	if who, status, said := ask("beta " + credentialOf(t, bob, beta, munge.PayloadFor("beta", fingerprint))); status != 200 || who.User != "bob" {
		t.Errorf("a uid that is the same here: %d %s", status, said)
	}
	for name, c := range map[string]struct{ header, says string }{
		"again":                        {"alpha " + cred, "it was used before"},
		"changed":                      {"alpha " + cred[:len(cred)-5] + "AAA=:", "another key, or was changed"},
		"another key's":                {"beta " + credentialOf(t, bob, key, payload), "another key"},
		"root's":                       {"alpha " + credentialOf(t, 0, key, payload), "root of a machine of alpha is not root here"},
		"one who becomes root":         {"evil " + credentialOf(t, alAtAlpha, key, munge.PayloadFor("evil", fingerprint)), "would be root on the daemon's machine"},
		"one who is another there":     {"alpha " + credentialOf(t, alice, key, payload), "is alice here, who is uid 47001 there"},
		"one whose uid nobody knows":   {"alpha " + credentialOf(t, olga, key, payload), "the uid is missing in the site's users"},
		"one who is two here":          {"alpha " + credentialOf(t, 47003, key, payload), "is one of several users here: carol, dave"},
		"a stranger":                   {"alpha " + credentialOf(t, 47002, key, payload), "uid 47002 of alpha is not a user of the daemon's machine"},
		"for another daemon":           {"alpha " + credentialOf(t, bob, key, munge.PayloadFor("alpha", "cd")), "made for something else"},
		"for another site":             {"alpha " + credentialOf(t, bob, key, munge.PayloadFor("beta", fingerprint)), "made for something else"},
		"for Slurm":                    {"alpha " + credentialOf(t, bob, key, ""), "made for something else"},
		"a site that is not there":     {"delta " + cred, "no munge key of a site"},
		"nothing":                      {"alpha", "munged refuses"},
		"where munged does not answer": {"down " + cred, "munged does not answer at /nonexistent"},
	} {
		if _, status, said := ask(c.header); status != 401 || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %q", name, status, said, c.says)
		}
	}
	// Another munged with the same key has not seen it, as after a restart; the daemon has.
	link := filepath.Join(filepath.Dir(key), "link")
	if err := os.Symlink(key, link); err != nil {
		t.Fatal(err)
	}
	call = overTLS(t, withMunge(t, &identity.Munge{Fingerprint: fingerprint, Sites: map[string]identity.MungeSite{"alpha": {Socket: link}}}))
	cred = credentialOf(t, bob, key, payload)
	if _, status, said := ask("alpha " + cred); status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(sameKey, link)); err != nil {
		t.Fatal(err)
	}
	if _, status, said := ask("alpha " + cred); status != 401 || !strings.Contains(said, "it was used before") {
		t.Errorf("after munged was restarted: %d %s", status, said)
	}
	// What another daemon may have taken before this one took over is refused, whoever has decoded it; one of a later second is good.
	since := time.Now()
	call = overTLS(t, withMunge(t, &identity.Munge{Fingerprint: fingerprint, Since: since, Sites: map[string]identity.MungeSite{"alpha": {Socket: key}}}))
	made := credentialOf(t, bob, sameKey, payload)
	for deadline := time.Now().Add(time.Minute); ; {
		_, status, said := ask("alpha " + made)
		if status == 200 {
			break
		}
		if status != 425 || !strings.Contains(said, "before this daemon took over") || time.Now().After(deadline) {
			t.Fatalf("early: %d %s", status, said)
		}
		if status, said := call("munge alpha "+credentialOf(t, bob, sameKey, payload), "GET", "/slurm/v0.0.42/jobs", nil, nil); status != 425 && time.Now().Unix() <= since.Unix() {
			t.Errorf("early, by REST: %d %s", status, said)
		}
		time.Sleep(50 * time.Millisecond)
		made = credentialOf(t, bob, sameKey, payload)
	}
	call = overTLS(t, withMunge(t, nil))
	if _, status, said := ask("alpha " + cred); status != 401 || !strings.Contains(said, "takes no munge credentials") {
		t.Errorf("off: %d %s", status, said)
	}
}
