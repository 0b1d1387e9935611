package elsewhere

import (
	"os"
	"strings"
	"time"

	"fsub/federation/api/identity"
)

// mistakes are those that a user of the second machine makes, or whoever has set it up: each command says what is wrong and what to do.
func (w *world) mistakes(token string) {
	key, err := os.ReadFile(w.dir + "/state/token.key")
	if err != nil {
		w.t.Fatal(err)
	}
	tokens := identity.NewTokens(key)
	old := identity.Issued{Owner: "fsubalice", Name: "old", UID: alice, Scope: identity.ScopeSubmit, Created: time.Now().Add(-2 * time.Hour), Expires: time.Now().Add(-time.Hour)}
	tokens.Issue(&old)
	revoked := old
	revoked.Expires = time.Now().Add(time.Hour)
	tokens.Issue(&revoked)
	w.write(w.there+"/other-ca.yaml", "server: "+w.server+"\nca_file: "+w.there+"/other.pem\n")
	w.write(w.there+"/typo.yaml", "sever: "+w.server+"\n")
	w.write(w.there+"/other.pem", "")
	for _, c := range []struct{ name, env, says string }{
		{"expired", "FSUB_TOKEN=" + old.Text, "the token has expired at "},
		{"revoked", "FSUB_TOKEN=" + revoked.Text, `fsubalice's token "old" was revoked`},
		{"guess", "FSUB_TOKEN=guess", "the token was not made by this daemon"},
		{"no server", "FSUB_SERVER=" + w.host() + ":1 FSUB_TOKEN=" + token, "nothing listens there"},
		{"no host", "FSUB_SERVER=no-such-host.invalid FSUB_TOKEN=" + token, "no host of the name no-such-host.invalid"},
		{"other CA", "FSUB_CLIENT_FILE=" + w.there + "/other-ca.yaml FSUB_TOKEN=" + token, "there is no certificate in"},
		{"typo", "FSUB_CLIENT_FILE=" + w.there + "/typo.yaml FSUB_TOKEN=" + token, `unknown key "sever"`},
		{"no CA", "FSUB_CLIENT_FILE=/none FSUB_SERVER=" + w.server + " FSUB_TOKEN=" + token, "signed by no authority that this machine trusts"},
		{"fingerprint", "FSUB_CLIENT_FILE=/none FSUB_SERVER=" + w.server + "#ab FSUB_TOKEN=" + token, "another certificate than the one whose fingerprint"},
		{"munged down", "FSUB_CLIENT_FILE=" + w.there + "/none.yaml", "munged does not answer at /run/nothing"},
		{"nothing says", "FSUB_CLIENT_FILE=/none FSUB_SERVER=" + w.server, "nothing says who you are"},
	} {
		for _, command := range []string{"sbatch --wrap=hostname", "squeue", "sinfo", "sacct", "scancel 30000000", "scontrol show job 30000000", "sacctmgr list user", "sshare", "sprio", "seff 30000000", "fed job list"} {
			out, err := w.run(al, strings.Fields(c.env), strings.SplitN(command, " ", -1)...)
			if err == nil || !strings.Contains(out, c.says) || strings.Count(out, "\n") > 3 {
				w.t.Errorf("%s: %s: %v, want %q:\n%s", c.name, command, err, c.says, out)
			}
		}
	}
}
