package elsewhere

import (
	"bufio"
	"context"
	"regexp"
	"strings"
)

// signIn signs a stranger of the second machine in as fsubalice, by the provider, and out again.
func (w *world) signIn() {
	const stranger = 47998 // munge does not know whom to take this uid for
	home := w.there + "/home"
	w.inside("mkdir -m 700 " + home + " && chown 47998 " + home)
	env := []string{"HOME=" + home}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	login := w.command(ctx, stranger, env, "fsub", "login", "--oidc", "--name", "pad")
	said, err := login.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	var out strings.Builder
	login.Stdout = &out
	w.idp.Devices.Interval = 1
	if err := login.Start(); err != nil {
		w.t.Fatal(err)
	}
	code := regexp.MustCompile(`confirm that the code there is:  (\S+)`)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if found := code.FindStringSubmatch(lines.Text()); found != nil && !w.idp.Devices.Confirm(found[1], map[string]any{"preferred_username": "fsubalice"}) {
			w.t.Errorf("the provider does not know the code %s", found[1])
		}
	}
	if err := login.Wait(); err != nil || !strings.Contains(out.String(), "Signed in as fsubalice at ") {
		w.t.Fatalf("fsub login --oidc: %v: %s", err, &out)
	}
	for _, c := range []struct {
		args, says string
		exit       bool
	}{
		{"squeue -h --me -t all -o %u", "fsubalice", true},
		{"fsub logout", "the token pad is revoked", true},
		{"squeue -h --me", "uid 47998 of alpha is not a user", false},
	} {
		if out, err := w.run(stranger, env, strings.Fields(c.args)...); (err == nil) != c.exit || !strings.Contains(out, c.says) {
			w.t.Errorf("%s: %v: %s, want %q", c.args, err, out, c.says)
		}
	}
	if out, err := w.onDaemon(alice, "fed", "token", "list").CombinedOutput(); err != nil || strings.Contains(string(out), "pad") {
		w.t.Errorf("after logout: %v: %s", err, out)
	}
}
