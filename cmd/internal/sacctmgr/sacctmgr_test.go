package sacctmgr

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

type fakeDaemon struct{ err error }

// Do answers with two sites: alpha as it was when a real sacctmgr's answers were taken down, and beta.
func (d fakeDaemon) Do(_, path string, _ []byte) (int, []byte, error) {
	if d.err != nil {
		return 0, nil, d.err
	}
	switch {
	case strings.HasSuffix(path, "/sites"):
		return 200, []byte(`[{"name":"alpha"},{"name":"beta"}]`), nil
	case strings.Contains(path, "/ping"):
		return 200, []byte(`{"pings":[{"hostname":"ctl"}],"meta":{"slurm":{"cluster":"fed"}}}`), nil
	}
	a := func(cluster, account, parent, user string, id int64) v1.Association {
		return v1.Association{Cluster: cluster, Account: account, ParentAccount: parent, User: user, ID: id, Shares: 1, QOS: []string{"normal"}, Default: true}
	}
	out := v1.Associations{
		Clusters: []v1.AccountingCluster{{Name: "alpha", TRES: []wire.TRES{{Type: "cpu", ID: 1}, {Type: "gres", Name: "gpu", ID: 1001}}},
			{Name: "beta", TRES: []wire.TRES{{Type: "cpu", ID: 1}, {Type: "gres", Name: "fpga", ID: 1001}, {Type: "gres", Name: "gpu", ID: 1002}}}},
		Associations: []v1.Association{
			a("alpha", "root", "", "", 1), a("alpha", "root", "", "root", 2), a("alpha", "physics", "root", "", 3), a("alpha", "physics", "", "alice", 5),
			a("alpha", "vision", "root", "", 4), a("alpha", "vision", "", "bob", 6),
			a("beta", "root", "", "", 1), a("beta", "biology", "root", "", 3), a("beta", "biology", "", "alice", 4),
		},
	}
	out.Associations[8].QOS, out.Associations[8].DefaultQOS = []string{"high", "normal"}, "high"
	b, err := json.Marshal(out)
	return 200, b, err
}

// TestTables: layouts and selections as a real sacctmgr 24.11 had them, of the first site.
func TestTables(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"list user where clusters=alpha", "" +
			"      User   Def Acct     Admin \n" +
			"---------- ---------- --------- \n" +
			"     alice    physics      None \n" +
			"       bob     vision      None \n" +
			"      root       root Administ+ \n"},
		{"-P list user", "User|Def Acct|Admin\nalice|physics|None\nbob|vision|None\nroot|root|Administrator\n"},
		{"-p list user bob", "User|Def Acct|Admin|\nbob|vision|None|\n"},
		{"-nP list user withassoc alice", "alice|physics|None|alpha|physics||1||||||||normal|\nalice|physics|None|beta|biology||1||||||||high,normal|high\n"},
		{"show user user=alice,bob format=user%5,defaultaccount%-12,adminlevel", "" +
			" User Def Acct         Admin \n" +
			"----- ------------ --------- \n" +
			"alice physics           None \n" +
			"  bob vision            None \n"},
		{"-nP show users withassoc format=account,qos where user=alice cluster=alpha", "physics|normal\n"},
		{"-n -s list user alice format=account%9", "  physics \n  biology \n"},
		{"list user nosuch -n", ""},
		{"LIST Users names=bob -n", "       bob     vision      None \n"},
		{"list us alice format=us list -n", "     alice \n"},
		{"-nP list user user=alice format=user,account", "alice|\n"},
		{"list account cluster=alpha", "" +
			"   Account                Descr                  Org \n" +
			"---------- -------------------- -------------------- \n" +
			"   physics              physics              physics \n" +
			"      root                 root                 root \n" +
			"    vision               vision               vision \n"},
		{"-nP list ac withassoc physics", "physics|physics|physics|alpha|root||1|||||||||||||||normal|\nphysics|physics|physics|alpha||alice|1|||||||||||||||normal|\n"},
		{"-P list assoc user=bob", "Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|GrpSubmit|GrpWall|GrpTRESMins|MaxJobs|MaxTRES|MaxTRESPerNode|" +
			"MaxSubmit|MaxWall|MaxTRESMins|QOS|Def QOS|GrpTRESRunMins\nalpha|vision|bob||1|||||||||||||normal||\n"},
		{"-nP list assoc tree format=account,user cluster=alpha", "root|\n root|root\n physics|\n  physics|alice\n vision|\n  vision|bob\n"},
		{"list assoc tree format=account,user account=physics", "" +
			"Account                    User \n" +
			"-------------------- ---------- \n" +
			" physics                        \n" +
			"  physics                 alice \n"},
		{"list assoc qos=high format=cluster,acc,u,id,defaultqos -n", "      beta    biology      alice      4      high \n"},
		{"-P list cluster format=cluster,qos,share", "Cluster|QOS|Share\nalpha|normal|1\nbeta|normal|1\nfed||\n"},
		{"-nP list assoc where cluster=fed user=bob format=cluster,account", "alpha|vision\n"},
		{"-nP list assoc where cluster=nosuch", ""},
		{"-n list cluster nosuch", ""},
		{"-nP list qos format=name", "high\nnormal\n"},
		{"-nP show qos normal", "normal|0|00:00:00|||cluster|||1.000000|||||||||||||||||||\n"},
		{"-p show qos high format=description,grpjobsaccrue,id,limitfactor,maxjobsperaccount,maxjobspa,maxjobsperuser,maxjobsaccrueperaccount,maxjobsaccrueperuser," +
			"maxsubmitjobsperaccount,maxsubmitjobsperuser,maxsubmitpa,maxsubmitjobs,maxtresminsperjob,maxtresperaccount,maxtresperjob,maxtresperuser," +
			"maxtresrunminsperaccount,maxtresrunminsperuser,maxwalldurationperjob,minpriothreshold,mintresperjob",
			"Descr|GrpJobsAccrue|ID|LimitFactor|MaxJobsPA|MaxJobsPA|MaxJobsPU|MaxJobsAccruePA|MaxJobsAccruePU|MaxSubmitPA|MaxSubmitPU|MaxSubmitPA|MaxSubmit|MaxTRESMins|" +
				"MaxTRESPA|MaxTRES|MaxTRESPU|MaxTRESRunMinsPA|MaxTRESRunMinsPU|MaxWall|MinPrioThres|MinTRES|\n||||||||||||||||||||||\n"},
		{"-p show user bob format=defaultwckey,maxsubmitjobsperuser,name", "Def WCKey|MaxSubmitPU|Name|\n|||\n"},
		{"-p show cluster alpha format=clusternodes,flags,nodecount,nodenames,tres,federation,name", "Cluster Nodes|Flags|NodeCount|NodeName|TRES|Federation|Name|\n|||||||\n"},
		{"show reservation", "" +
			"   Cluster            Name                           TRES           TimeStart             TimeEnd UnusedWall \n" +
			"---------- --------------- ------------------------------ ------------------- ------------------- ---------- \n"},
		{"show federation", "Federation    Cluster ID             Features     FedState \n---------- ---------- -- -------------------- ------------ \n"},
		{"-nP show transactions", ""},
		{"ping", "slurmdbd(primary) at ctl is UP\n"},
		{"list tres", "" +
			"    Type            Name     ID \n" +
			"-------- --------------- ------ \n" +
			"     cpu                      1 \n" +
			"    gres            fpga   1001 \n" +
			"    gres             gpu   1002 \n"},
		{"-nP list tres type=gres", "gres|fpga|1001\ngres|gpu|1002\n"},
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(test.args), &stdout, &stderr, fakeDaemon{}); rc != 0 || stdout.String() != test.want {
			t.Errorf("%s: exit %d %s\n got\n%s\nwant\n%s", test.args, rc, &stderr, &stdout, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	const here = " is not possible here: change the federation's own account tree with fed account and fed qos; change a site's own accounts with its sacctmgr there"
	for args, want := range map[string]string{
		"-i add user x":                 `sacctmgr: error: "add"` + here,
		"modify user alice set qos=low": `sacctmgr: error: "modify"` + here,
		"remove user alice":             `sacctmgr: error: "remove"` + here,
		"list":                          noEntity,
		"list bogus":                    noEntity,
		"list coord":                    noEntity,
		"list runaway":                  "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs",
		"--json list event":             "sacctmgr: error: the federation has no document of events: leave out --json and --yaml",
		"bogus":                         "invalid keyword: bogus",
		"li user":                       "invalid keyword: li",
		"list user format=bogus":        "Unknown field 'bogus'",
		"list user where bogus=1":       " Unknown condition: bogus=1\n Use keyword 'set' to modify value",
		"--bogus":                       "sacctmgr: unrecognized option '--bogus'\nTry \"sacctmgr --help\" for more information",
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(args), &stdout, &stderr, fakeDaemon{}); rc != 1 || stdout.Len() > 0 || stderr.String() != want+"\n" {
			t.Errorf("%s: exit %d, %q, %q, want %q", args, rc, &stdout, &stderr, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if rc := run([]string{"list", "user"}, &stdout, &stderr, fakeDaemon{conn.ErrConnect}); rc != 1 || stdout.Len() > 0 ||
		stderr.String() != "sacctmgr: error: Unable to contact slurm controller (connect failure)\n" {
		t.Errorf("outage: exit %d, %q, %q", rc, &stdout, &stderr)
	}
}
