package sreport

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

type daemon struct{ asked string }

func (d *daemon) Do(_, path string, _ []byte) (int, []byte, error) {
	d.asked = path
	values := func(first, second string) string {
		if strings.Contains(path, "by=site,account") {
			return `["alpha","` + second + `","` + first + `"]`
		}
		return `["alpha","` + first + `","` + second + `"]`
	}
	return 200, []byte(`[{"values":` + values("alice", "physics") + `,"fate":"ok","cpu_seconds":7230,"gpu_seconds":600},{"values":` + values("alice", "physics") +
		`,"fate":"failed","cpu_seconds":30},{"values":` + values("bob", "vision") + `,"fate":"ok","cpu_seconds":72000}]`), nil
}

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// TestReports: headings, widths and units are those of sreport 24.11.
func TestReports(t *testing.T) {
	const line = "--------------------------------------------------------------------------------\n"
	for args, want := range map[string]string{
		"cluster accountutilizationbyuser": line + "Cluster/Account/User Utilization 2026-11-27T00:00:00 - 2026-11-27T23:59:59 (86400 secs)\nUsage reported in CPU Minutes\n" + line +
			"  Cluster         Account     Login     Proper Name     Used   Energy \n" +
			"--------- --------------- --------- --------------- -------- -------- \n" +
			"    alpha            root                               1321        0 \n" +
			"    alpha         physics                                121        0 \n" +
			"    alpha         physics     alice                      121        0 \n" +
			"    alpha          vision                               1200        0 \n" +
			"    alpha          vision       bob                     1200        0 \n",
		"-t Hours user topusage topcount=1": line + "Top 1 Users 2026-11-27T00:00:00 - 2026-11-27T23:59:59 (86400 secs)\nUsage reported in CPU Hours\n" + line +
			"  Cluster     Login     Proper Name         Account     Used   Energy \n" +
			"--------- --------- --------------- --------------- -------- -------- \n" +
			"    alpha       bob                          vision       20        0 \n",
		"-nP cluster UserUtilizationByAccount format=cluster,login,account,used":        "alpha|alice|physics|121\nalpha|bob|vision|1200\n",
		"-nP -T cpu,gres/gpu cluster userutil users=alice format=login,tresname,used%9": "alice|cpu|121\nalice|gres/gpu|10\nbob|cpu|1200\nbob|gres/gpu|0\n",
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(args), nil, &stdout, &stderr, &daemon{}, now); rc != 0 || stdout.String() != want {
			t.Errorf("sreport %s: exit %d, %s\n%s, want\n%s", args, rc, &stderr, &stdout, want)
		}
	}
}

// TestConditions: what a report is asked for goes to the books; what they do not have is refused.
func TestConditions(t *testing.T) {
	var stdout, stderr bytes.Buffer
	d := &daemon{}
	args := "cluster accountutilizationbyuser start=2026-11-01 end=2026-11-20T12:00 clusters=alpha accounts=physics,vision"
	if rc := run(strings.Fields(args), nil, &stdout, &stderr, d, now); rc != 0 || d.asked != "/fed/v1/books/sums?by=site,account,user&from=2026-11-01&until=2026-11-21&site=alpha&account=physics&account=vision" {
		t.Errorf("exit %d, asked %s", rc, d.asked)
	}
	for args, want := range map[string]string{
		"nosuch":                       "invalid keyword: nosuch\n",
		"job sizesbyaccount":           `sreport: error: the federation's books have no report "job sizesbyaccount"`,
		"user top start=2026-12-01":    "sreport: error: the report would end (2026-11-28) before it starts (2026-12-01)\n",
		"-t Percent user top":          `sreport: error: unknown time format "Percent"`,
		"user top format=login,nosuch": " Unknown field 'nosuch'\n",
		"-T energy user top":           `sreport: error: the books have no sums of "energy"`,
	} {
		stderr.Reset()
		if rc := run(strings.Fields(args), nil, &stdout, &stderr, d, now); rc != 1 || !strings.HasPrefix(stderr.String(), want) {
			t.Errorf("sreport %s: exit %d, %s", args, rc, &stderr)
		}
	}
}
