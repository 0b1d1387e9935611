package accounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var operator = Editor{Name: "olga", Operator: true}

// example is a tree of two teams; carol coordinates science.
func example(t *testing.T) *Tree {
	t.Helper()
	empty, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, _, err := empty.Apply([]Edit{
		{Op: Add, Key: QOSKey("high"), Set: map[string]string{"Priority": "100", "UsageFactor": "2"}},
		{Op: Add, Key: AccountKey("science"), Set: map[string]string{"Fairshare": "10"}, AddCoordinators: []string{"carol"}},
		{Op: Add, Key: AccountKey("physics"), Parent: "science", Set: map[string]string{"grptresmins": "gres/gpu=6000,cpu=100"}},
		{Op: Add, Key: AccountKey("vision")},
		{Op: Add, Key: UserKey("physics", "alice"), Set: map[string]string{"share": "3"}},
		{Op: Add, Key: UserKey("science", "carol")},
		{Op: Add, Key: UserKey("vision", "alice")},
		{Op: Add, Key: UserKey("vision", "bob")},
	}, operator)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestRights(t *testing.T) {
	tree := example(t)
	set := func(k Key, option, value string) Edit {
		return Edit{Op: Modify, Key: k, Set: map[string]string{option: value}}
	}
	for _, c := range []struct {
		name string
		who  string
		edit Edit
		may  bool
	}{
		{"shares of a user below", "carol", set(UserKey("physics", "alice"), "Fairshare", "7"), true},
		{"shares of an account below", "carol", set(AccountKey("physics"), "Fairshare", "7"), true},
		{"shares of his own account", "carol", set(AccountKey("science"), "Fairshare", "99"), false},
		{"shares of his own", "carol", set(UserKey("science", "carol"), "Fairshare", "99"), false},
		{"shares elsewhere", "carol", set(UserKey("vision", "bob"), "Fairshare", "99"), false},
		{"a limit below", "carol", set(UserKey("physics", "alice"), "GrpTRES", "gres/gpu=64"), false},
		{"a QOS", "carol", set(QOSKey("high"), "Priority", "1"), false},
		{"a user more", "carol", Edit{Op: Add, Key: UserKey("physics", "dave")}, true},
		{"an account more", "carol", Edit{Op: Add, Key: AccountKey("optics"), Parent: "physics"}, true},
		{"an account elsewhere", "carol", Edit{Op: Add, Key: AccountKey("optics")}, false},
		{"an account that moves out", "carol", Edit{Op: Modify, Key: AccountKey("physics"), Parent: "vision"}, false},
		{"an account that moves in", "carol", Edit{Op: Modify, Key: AccountKey("vision"), Parent: "science"}, false},
		{"coordinator of his own account", "carol", Edit{Op: Modify, Key: AccountKey("science"), AddCoordinators: []string{"mallory"}}, false},
		{"a user more, whose default account is another's", "carol", Edit{Op: Add, Key: UserKey("physics", "bob"), Default: true}, false},
		{"a user more, by default", "carol", Edit{Op: Add, Key: UserKey("physics", "dave"), Default: true}, true},
		{"a user of another's account more", "carol", Edit{Op: Add, Key: UserKey("physics", "bob")}, true},
		{"another default account of his", "carol", Edit{Op: Add, Key: UserKey("science", "alice"), Default: true}, true},
		{"anything by others", "bob", set(UserKey("vision", "bob"), "Fairshare", "99"), false},
	} {
		_, _, err := tree.Apply([]Edit{c.edit}, Editor{Name: c.who})
		if denied := errors.As(err, new(*DeniedError)); c.may && err != nil || !c.may && !denied {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What operators have set a coordinator neither removes nor takes an account from below, in one edit or in several.
func TestLimitsOutlastCoordinators(t *testing.T) {
	tree, _, err := example(t).Apply([]Edit{
		{Op: Modify, Key: UserKey("physics", "alice"), Set: map[string]string{"Budget": "5/day", "Fairshare": "3"}},
		{Op: Add, Key: AccountKey("optics"), Parent: "physics"},
		{Op: Add, Key: UserKey("optics", "zoe")},
		{Op: Add, Key: AccountKey("free"), Parent: "science", Set: map[string]string{"Description": "without limits"}},
		{Op: Add, Key: AccountKey("sub"), Parent: "free"},
	}, operator)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		edits []Edit
		want  string
	}{
		{"a user with a budget", []Edit{{Op: Remove, Key: UserKey("physics", "alice")}, {Op: Add, Key: UserKey("physics", "alice")}},
			"user alice of account physics: only operators may remove it, for they alone may set Budget"},
		{"an account with limits", []Edit{{Op: Remove, Key: UserKey("physics", "alice")}}, "only operators may remove it"},
		{"an account from below limits", []Edit{{Op: Modify, Key: AccountKey("optics"), Parent: "science"}},
			"account optics: only operators may take it from below account physics, for they alone may set GrpTRESMins"},
		{"an account that needs nothing more", []Edit{{Op: Remove, Key: UserKey("optics", "zoe")}, {Op: Remove, Key: AccountKey("optics")}, {Op: Remove, Key: AccountKey("physics")}},
			"account physics: only operators may remove it, for they alone may set GrpTRESMins"},
		{"a user without limits", []Edit{{Op: Remove, Key: UserKey("optics", "zoe")}, {Op: Add, Key: UserKey("optics", "zoe")}}, ""},
		{"an account without limits", []Edit{{Op: Modify, Key: AccountKey("sub"), Parent: "physics"}, {Op: Remove, Key: AccountKey("free")}}, ""},
		{"an account named like a user", []Edit{{Op: Add, Key: AccountKey("bob"), Parent: "science", Default: true}}, "only a user has a default account"},
	} {
		if _, _, err := tree.Apply(c.edits, Editor{Name: "carol"}); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestApply(t *testing.T) {
	tree := example(t)
	if tree.AccountOf("alice") != "physics" {
		t.Error("the first account is the default:", tree.AccountOf("alice"))
	}
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Op: Modify, Key: UserKey("physics", "alice"), Set: map[string]string{"Fairshare": "lots"}}, "a number of shares, or parent"},
		{Edit{Op: Modify, Key: UserKey("physics", "alice"), Set: map[string]string{"Fairsh": "2", "Colour": "2"}}, "unknown option \"Colour\""},
		{Edit{Op: Modify, Key: UserKey("physics", "alice"), Set: map[string]string{"MaxJ": "2"}}, ""},
		{Edit{Op: Modify, Key: UserKey("physics", "alice"), Set: map[string]string{"MaxTRE": "cpu=2"}}, "is short for"},
		{Edit{Op: Modify, Key: AccountKey("science"), Parent: "physics"}, "circle"},
		{Edit{Op: Modify, Key: AccountKey("vision"), Parent: "nosuch"}, "no account \"nosuch\""},
		{Edit{Op: Remove, Key: AccountKey("vision")}, "is needed by user alice of account vision, user bob of account vision"},
		{Edit{Op: Add, Key: AccountKey("vision")}, "is there already"},
		{Edit{Op: Remove, Key: AccountKey("root")}, "cannot be removed"},
		{Edit{Op: Add, Key: AccountKey("a b")}, "invalid name"},
		{Edit{Op: Modify, Key: AccountKey("physics"), AddCoordinators: []string{"carol,root Names=x"}}, `account physics: coordinator: invalid name "carol,root names=x" of a user`},
		{Edit{Op: Modify, Key: AccountKey("physics"), AddCoordinators: []string{"Dave"}}, ""},
		{Edit{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"Description": "\x1b[2J"}}, "invalid Description: a control character"},
		{Edit{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"Organization": strings.Repeat("x", 256)}}, "invalid Organization: it has 256 bytes, at most 255 are allowed"},
		{Edit{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"GrpTRES": "GPU=3"}}, "want TRES as in"},
		{Edit{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"GrpTRESMins": "gres/gpu=3000P"}}, "the number is too large"},
		{Edit{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"QOS": "nosuch"}}, "there is no QOS \"nosuch\""},
	} {
		_, _, err := tree.Apply([]Edit{c.edit}, operator)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.edit, err, c.want)
		}
	}
	next, changes, err := tree.Apply([]Edit{
		{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"GrpTRESMins": "cpu=-1,mem=10G"}},
		{Op: Modify, Key: UserKey("vision", "alice"), Default: true},
	}, operator)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, c := range changes {
		text = append(text, fmt.Sprintf("%s: %s -> %s", c.Key, c.Before.Text(), c.After.Text()))
	}
	want := []string{
		"account physics: Parent=science GrpTRESMins=cpu=100,gres/gpu=6000 -> Parent=science GrpTRESMins=gres/gpu=6000,mem=10240M",
		"user alice of account physics: DefaultAccount=physics Fairshare=3 -> Fairshare=3",
		"user alice of account vision:  -> DefaultAccount=vision",
	}
	if !slices.Equal(text, want) {
		t.Errorf("%s", strings.Join(text, "\n"))
	}
	if next.AccountOf("alice") != "vision" || tree.AccountOf("alice") != "physics" {
		t.Error("default account:", next.AccountOf("alice"), tree.AccountOf("alice"))
	}
}

// A site that the commands were carried out at has nothing that differs; nothing of others is removed.
func TestCompare(t *testing.T) {
	tree := example(t)
	at := &Import{Cluster: "alpha", Limits: true, Records: []Record{
		{Key: AccountKey("root")}, {Key: UserKey("root", "root")}, {Key: QOSKey("normal")},
		{Key: AccountKey("science"), Parent: "root", Set: Settings{"Fairshare": "5", "MaxJobs": "4"}, Coordinators: []string{"eve"}},
		{Key: AccountKey("theirs"), Parent: "root"}, {Key: AccountKey("ours"), Parent: "root"},
		// made here, and taken up by the site for its own
		{Key: AccountKey("lent"), Parent: "root"}, {Key: AccountKey("below"), Parent: "lent"}, {Key: UserKey("below", "zoe")}, {Key: UserKey("below", "ours")},
	}}
	var commands []string
	for _, d := range tree.Compare(at, func(k Key) bool { return k.Name == "ours" || k.Name == "lent" || k.Name == "below" }) {
		for _, c := range d.Commands {
			commands = append(commands, strings.Join(c, " "))
		}
	}
	want := []string{
		"add qos Name=high", "modify qos where Name=high set Priority=100 UsageFactor=2",
		"modify account where Name=science Cluster=alpha set Fairshare=10",
		"modify account where Name=science Cluster=alpha set MaxJobs=-1",
		"add account Name=physics Cluster=alpha Parent=science GrpTRESMins=cpu=100,gres/gpu=6000",
		"add account Name=vision Cluster=alpha Parent=root",
		"add user Name=carol Account=science Cluster=alpha", "modify user where Name=carol Cluster=alpha set DefaultAccount=science", "add user Name=alice Account=physics Cluster=alpha Fairshare=3", "modify user where Name=alice Cluster=alpha set DefaultAccount=physics",
		"add user Name=alice Account=vision Cluster=alpha", "add user Name=bob Account=vision Cluster=alpha", "modify user where Name=bob Cluster=alpha set DefaultAccount=vision",
		"add coordinator Account=science Names=carol", "remove coordinator Account=science Names=eve",
		"remove user where Name=ours Account=below Cluster=alpha", "remove account where Name=ours Cluster=alpha",
	}
	if !slices.Equal(commands, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(commands, "\n"), strings.Join(want, "\n"))
	}
	same := &Import{Cluster: "alpha", Limits: true}
	for _, r := range tree.Records() {
		same.Records = append(same.Records, *r)
	}
	if d := tree.Compare(same, func(Key) bool { return true }); len(d) > 0 {
		t.Errorf("an equal site differs: %+v", d)
	}
}

// What is imported into an empty tree is what the site had; importing it again changes nothing.
func TestTake(t *testing.T) {
	at := &Import{Cluster: "alpha", Limits: true}
	for _, r := range slices.Backward(example(t).Records()) { // in any order
		at.Records = append(at.Records, *r)
	}
	empty, _ := New(nil)
	edits, left := empty.Take(at, "alpha", false)
	tree, _, err := empty.Apply(edits, operator)
	if err != nil || len(left) > 0 {
		t.Fatal(err, left)
	}
	if d := tree.Compare(at, func(Key) bool { return true }); len(d) > 0 {
		t.Errorf("%+v", d)
	}
	if edits, left := tree.Take(at, "alpha", false); len(edits)+len(left) > 0 {
		t.Errorf("again: %+v %+v", edits, left)
	}
	other, _, err := tree.Apply([]Edit{{Op: Modify, Key: AccountKey("science"), Set: map[string]string{"Fairshare": "77"}}}, operator)
	if err != nil {
		t.Fatal(err)
	}
	if edits, left := other.Take(at, "alpha", false); len(edits) != 0 || len(left) != 1 || left[0].Ours != "77" || left[0].Theirs != "10" {
		t.Errorf("a conflict: %+v %+v", edits, left)
	}
	if edits, left := other.Take(at, "alpha", true); len(edits) != 1 || len(left) != 0 {
		t.Errorf("replaced: %+v %+v", edits, left)
	}
}
