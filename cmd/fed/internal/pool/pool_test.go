package pool

import (
	"strings"
	"testing"
	"time"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reasons"
)

// A pipe gets a line for each pool and machine, with tabs, and a dash where there is nothing.
func TestPoolTables(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 5, 0, 0, time.Local)
	var out strings.Builder
	err := cli.PrintRows(&out, &v1.Pools, []v1.Pool{
		{Site: "local", Name: "main", Max: 4},
		{Site: "aws", Name: "gpu", Starting: 1, Idle: 2, Busy: 3, Ending: 4, Max: 16, Waiting: 5, PricePerHour: 2.5 * federation.Dollar, Today: 0.004 * federation.Dollar, Month: 123.456 * federation.Dollar, Daily: 50 * federation.Dollar, Monthly: 500 * federation.Dollar,
			BoundToday: 1.5 * federation.Dollar, BoundMonth: 30 * federation.Dollar, Stopped: "has spent\n$50.00", Note: "more", Cooling: []v1.Cooling{{What: "zone g6 us-east-2a", Reason: reasons.StockOut, Until: at}}},
	}, cli.View{})
	want := "SITE\tPOOL\tSTARTING\tIDLE\tBUSY\tENDING\tMAX\tWAITING\t$/H\tTODAY\tMONTH\tBUDGET\tNOTE\n" +
		"local\tmain\t0\t0\t0\t0\t4\t0\t0.00\t$0.00\t$0.00\t-\t-\n" +
		"aws\tgpu\t1\t2\t3\t4\t16\t5\t2.50\t<$0.01\t$123.46\t$50.00/day,$500.00/month\thas spent $50.00; $1.50 of today's budget bound by running jobs; $30.00 of this month's bound by running jobs; zone g6 us-east-2a: FedStockOut until 12:05:00; more\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n got %s\nwant %s", err, out.String(), want)
	}
	out.Reset()
	err = cli.PrintRows(&out, &v1.Machines, []v1.Machine{
		{Site: "aws", Pool: "gpu", ID: "aws:17.0", Name: "aws-gpu-1", Instance: "i-1", Offering: "g6.xlarge/us-east-2a/spot", State: "busy", PricePerHour: 0.4 * federation.Dollar, Job: 30000001, Array: 30000000, Task: new(0), Created: at, Cost: 0.2 * federation.Dollar},
		{Site: "local", Pool: "main", ID: "local:1.0", Name: "local-main-1", Offering: "small", State: "ended", Created: at, Ended: at.Add(time.Hour), IdleCost: 0.25 * federation.Dollar, Cost: 1 * federation.Dollar, Why: "idle\nfor 5m"},
	}, cli.View{})
	want = "SITE\tPOOL\tMACHINE\tNODE\tINSTANCE\tOFFERING\tSTATE\tSINCE\tENDED\tJOB\t$/H\tCOST\tIDLE\tWHY\n" +
		"aws\tgpu\taws:17.0\taws-gpu-1\ti-1\tg6.xlarge/us-east-2a/spot\tbusy\t" + at.Format(time.RFC3339) + "\t-\t30000000_0\t0.40\t$0.20\t$0.00\t-\n" +
		"local\tmain\tlocal:1.0\tlocal-main-1\t-\tsmall\tended\t" + at.Format(time.RFC3339) + "\t" + at.Add(time.Hour).Format(time.RFC3339) + "\t-\t0.00\t$1.00\t$0.25\tidle for 5m\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n got %s\nwant %s", err, out.String(), want)
	}
}
