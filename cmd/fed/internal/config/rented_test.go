//go:build !nocloud

package config

import (
	"strings"
	"testing"
	"time"

	"fsub/cloud/clouds"
)

func TestCloudSites(t *testing.T) {
	c, err := Parse([]byte(`
agents: {listen: "0.0.0.0:6831", address: "login1.example.org:6831"}
sites:
  - name: here
    kind: local
    local: {nodes: 4, cpus: 2, mem_mib: 1000, gpus: 8, gpu_type: h100, price: 1.5}
    filesystems: [/home]
  - name: aws
    kind: aws
    aws: {region: us-east-2, types: [g6.xlarge], credentials_file: aws.credentials}
    pools:
      - {name: gpu, types: [g6.xlarge], markets: [spot], max: 4, idle: 5m, budget_month: 500, shared: true}
      - {name: big, max: 2, near: true, default: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	c.resolve("/etc/fsub")
	aws := c.Sites[1]
	if !c.Sites[0].Rented() || c.Sites[0].Timeout != 0 || aws.AWS.CredentialsFile != "/etc/fsub/aws.credentials" || aws.Pools[0].Idle != 5*time.Minute || !*aws.Pools[0].Shared || c.Agents.Lease != 2*time.Minute {
		t.Errorf("understood as %+v", c)
	}
}

func TestCloudSiteErrors(t *testing.T) {
	for _, k := range []struct{ site, says string }{
		{"{name: a, kind: cray}", `invalid kind "cray": want slurm, ` + kindNames(" or ")},
		{"{name: a, kind: gcp}", "gcp is missing: at least project, region"},
		{"{name: a, kind: azure}", "azure is missing: at least subscription"},
		{"{name: a, kind: local, url: http://x}", "url: this is for Slurm clusters; the site's kind is local"},
		{"{name: a, kind: local, pools: [{name: x}, {name: x}]}", "pools: there are two named x"},
		{"{name: a, kind: local, pools: [{name: x, markets: [cheap]}]}", `pools[0]: invalid market "cheap"`},
		{"{name: a, kind: local, pools: [{name: x, mpi: openmpi}]}", `invalid mpi "openmpi": want none, pmi2 or pmix`},
		{"{name: a, kind: local, pools: [{name: x, min: 3, max: 2}]}", "min 3 and max 2"},
		{"{name: a, kind: local, pools: [{name: x, budget_day: .nan}]}", "budget_day and budget_month are dollars"},
		{"{name: a, kind: local, timing: {list: 1ms}}", "timing: list: 1ms is less than 100ms"},
		{"{name: a, kind: local, local: {price: -1}}", "local: invalid price -1"},
		{"{name: a, kind: local, users: {al: {uid: 5}}}", "users: al: name is missing"},
		{"{name: a, kind: local, users: {al: {name: al, uid: 5000}}}", "users: al: gid is missing"},
		{"{name: a, kind: local, users: {al: {name: al, gid: 5000}}}", "users: al: uid is missing"},
		{"{name: a, kind: local, users: {al: {name: al, groups: [7]}}}", "users: al: uid is missing"},
		{"{name: a, kind: local, users: {al: {name: root, uid: 5000, gid: 5000}}}", "users: al: nobody becomes root"},
		{"{name: a, kind: local, users: {al: {name: al, uid: 5000, gid: 5000, groups: [4, 0]}}}", "users: al: nobody becomes root"},
		{"{name: a, kind: local, users: {al: {name: 'a:l', uid: 5000, gid: 5000}}}", `users: al: invalid name "a:l": /etc/passwd`},
		{"{name: a, kind: local, users: {al: {name: al, uid: 5000, gid: 5000, home: al}}}", "users: al: home and shell are absolute"},
		{"{name: a, kind: local, users: {al: {name: al, uid: 5000, gid: 5000}, bo: {name: al, uid: 5001, gid: 5000}}}", "users: bo: al with uid 5001, and another entry has al with uid 5000"},
		{"{name: a, kind: local, users: {al: {name: al, uid: 5000, gid: 5000}, bo: {name: bo, uid: 5000, gid: 5000}}}", "users: bo: bo with uid 5000, and another entry has al with uid 5000"},
		{"{name: a, url: http://x, key_file: k, users: {al: {name: al, uid: 5, gid: 5, groups: [7]}}}", "users: al: groups, group, home and shell are for rented machines"},
		{"{name: a, kind: local, local: {network: bridge}}", `local: invalid network "bridge": want auto, host or namespace`},
		{"{name: a, kind: local, local: {subnet: 10.1.2.3}}", `local: subnet: "10.1.2.3": want ADDRESS/BITS`},
		{"{name: a, kind: local, local: {subnet: 8.8.0.0/16}}", "local: subnet: 8.8.0.0/16 is not private"},
		{"{name: a, kind: local, prices: {cpu: -1}}", "prices: cpu costs -1"},
		{"{name: a, kind: aws}", "aws is missing"},
		{"{name: a, kind: aws, aws: {types: [g6.xlarge]}}", "set agents: listen"},
		{"{name: a, kind: local, aws: {types: [g6.xlarge]}}", "aws is for sites of that kind; this one is local"},
		{"{name: a, url: http://x, key_file: k, pools: [{name: x}]}", "pools, timing, terms, " + kindNames(" and ") + " are for sites of the kinds " + kindNames(" and ")},
	} {
		_, err := Parse([]byte("sites: [" + k.site + "]"))
		if err == nil || !strings.Contains(err.Error(), k.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q in one line", k.site, err, k.says)
		}
	}
	_, err := Parse([]byte("agents: {listen: x}\nsites: []"))
	if err == nil || !strings.Contains(err.Error(), `agents: invalid listen "x": want HOST:PORT`) {
		t.Errorf("agents: %v", err)
	}
	_, err = Parse([]byte("agents: {listen: \"x:1\", lease: 1s}\nsites: []"))
	if err == nil || !strings.Contains(err.Error(), "lease: 1s is less than 10s") {
		t.Errorf("agents: %v", err)
	}
}

func TestEmbedded(t *testing.T) {
	c, err := Embedded()
	if err != nil || len(c.Sites) != 1 || c.Sites[0].Kind != clouds.Local {
		t.Errorf("without a configuration: %+v, %v", c.Sites, err)
	}
}

// TestUselessPrices: a price that would never count is refused, whichever of name and pattern is shorter.
func TestUselessPrices(t *testing.T) {
	for prices, says := range map[string]string{
		"kind: gcp, gcp: {project: p, region: us-central1, types: [e2-standard-*], prices: {e2-standard-2: 0.07}}":         "",
		"kind: gcp, gcp: {project: p, region: us-central1, types: [e2-standard-2], prices: {e2-*: 0.07}}":                  "",
		"kind: gcp, gcp: {project: p, region: us-central1, types: [e2-standard-2], prices: {n2-*: 0.07}}":                  "gcp: prices: n2-* matches none of types (e2-standard-2), so its price would never apply",
		"kind: aws, aws: {region: r, types: [p5.48xlarge], prices: {p5*: 30}}":                                             "",
		"kind: aws, aws: {region: r, types: [p5.48xlarge], prices: {p5: 30}}":                                              "aws: prices: p5 matches none of types (p5.48xlarge)",
		"kind: tpu, tpu: {project: p, zones: [us-west4-a], slices: ['v5p:4x4x8', v5litepod-16], prices: {v5p: 4, v5e: 1}}": "",
		"kind: tpu, tpu: {project: p, zones: [us-west4-a], slices: [v5litepod-16], prices: {v5litepod: 1}}":                "tpu: prices: v5litepod matches none of the generations of slices (v5e)",
	} {
		_, err := Parse([]byte(`agents: {listen: "0.0.0.0:6831", address: "10.0.0.1:6831"}` + "\nsites: [{name: x, " + prices + ", pools: [{name: x}]}]"))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", prices, err, says)
		}
	}
}

// What machines of a cloud are told is something that they can resolve and reach.
func TestAgentsAddressIsReachable(t *testing.T) {
	for address, ok := range map[string]bool{"login1": false, "localhost": false, "127.0.0.1": false, "0.0.0.0": false, "[::]": false, "10.0.0.1": true, "fed.example.org": true} {
		_, err := Parse([]byte(`
agents: {listen: "0.0.0.0:6831", address: "` + address + `:6831"}
sites: [{name: aws, kind: aws, aws: {region: us-east-2, types: [g6.xlarge]}, pools: [{name: x}]}]
`))
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
