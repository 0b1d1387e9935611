package spine

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
)

// What scontrol token prints at a site is taken for that user, from commands of one of its machines that have nothing else.
func TestTokenOfASite(t *testing.T) {
	const user = "carol"
	var own v1.Token
	if out := login(t, user, "fed", "token", "create", "laptop", "--json"); json.Unmarshal([]byte(out.stdout), &own) != nil || own.Server == "" {
		t.Fatalf("fed token create: %+v", out)
	}
	made := at(t, "gamma", user, "scontrol", "token", "lifespan=600")
	token, ok := strings.CutPrefix(strings.TrimSpace(made.stdout), "SLURM_JWT=")
	if !ok {
		t.Fatalf("scontrol token: %+v", made)
	}
	ask := func(token string) output {
		return run(t, bed.Cmd{Site: "gamma", User: user, Args: []string{"fsub", "--parsable", "--hold", "--wrap=:"}, Env: []string{
			"PATH=" + filepath.Join(world.Bin, "remote") + ":/usr/bin:/bin", "FSUB_SERVER=" + own.Server, "FSUB_TOKEN=" + token}})
	}
	for what, token := range map[string]string{"scontrol's": token, "ours": own.Token} {
		out := ask(token)
		if out.code != 0 {
			t.Errorf("%s: %+v", what, out)
			continue
		}
		if id := strings.TrimSpace(out.stdout); login(t, user, "scancel", id).code != 0 {
			t.Errorf("%s: job %s is not %s's", what, id, user)
		}
	}
	if out := ask(token[:len(token)-3] + "AAA"); out.code == 0 || !strings.Contains(out.stderr, "nor by a site") {
		t.Errorf("a token that was changed: %+v", out)
	}
}
