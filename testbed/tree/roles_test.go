package tree

import (
	"strings"
	"testing"
)

// A lead sees and changes what stands below her, by each command; all that is changed is in the audit log, and that is not for her.
func TestRoles(t *testing.T) {
	world.Need(t)
	startDaemon(t)
	for _, words := range []string{
		"account add physics --coordinator carol", "account add physics --user carol", "account add physics --user dave", "account add lab Parent=physics",
		"account add vision", "account add vision --user bob", "account modify vision --user bob Fairshare=4",
	} {
		must(t, strings.Fields(words)...)
	}
	for words, want := range map[string]string{
		"account modify physics --user dave Fairshare=3 --reason thesis": "modify user dave of account physics: DefaultAccount=physics -> DefaultAccount=physics Fairshare=3",
		"account add lab --user dave":                                    "add user dave of account lab",
		"account modify lab Fairshare=7":                                 "modify account lab",
		"account modify physics Fairshare=9":                             "only operators and coordinators",
		"account modify physics --user carol Fairshare=99":               "coordinators cannot change what is their own",
		"account modify physics --user dave MaxJobs=3":                   "only operators may set MaxJobs",
		"account modify lab Budget=5/month":                              "only operators may set Budget",
		"account modify vision --user bob Fairshare=3":                   "only operators and coordinators of account vision",
		"account add vision --user dave":                                 "only operators and coordinators of account vision",
		"account modify lab Parent=vision":                               "only operators and coordinators of account \"vision\"",
		"account modify lab --coordinator carol":                         "",
		"qos add mine":                                                   "only operators",
		"account sync alpha":                                             "permission",
		"account import alpha":                                           "permission",
		"audit --kind account":                                           "permission",
	} {
		out, err := fedAs(t, "carol", strings.Fields(words)...)
		if !strings.Contains(out, want) {
			t.Errorf("carol: fed %s: %v: %s, want %q", words, err, out, want)
		}
		if refused := !strings.HasPrefix(out, "modify ") && !strings.HasPrefix(out, "add "); refused != (err != nil) {
			t.Errorf("carol: fed %s: %v: %s", words, err, out)
		}
	}
	for _, words := range []string{"fed account list", "sshare -a -P", "sacctmgr -P show association", "sacctmgr -P show user", "sshare -a -P -M alpha"} {
		if out := ours(t, "carol", strings.Fields(words)...); !strings.Contains(out, "dave") || strings.Contains(out, "bob") {
			t.Errorf("carol: %s: %s", words, out)
		}
		if out := ours(t, "", strings.Fields(words)...); !strings.Contains(out, "bob") {
			t.Errorf("root: %s: %s", words, out)
		}
	}
	log := must(t, "audit")
	for _, want := range []string{"carol", "thesis", "Fairshare=3", "Fairshare=4"} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, log)
		}
	}
	if n := strings.Count(must(t, "audit", "--json"), `"before"`); n < 4 {
		t.Errorf("%d entries of the audit log say what was before:\n%s", n, must(t, "audit", "--json"))
	}
}
