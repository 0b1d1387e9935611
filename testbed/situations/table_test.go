package situations

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reasons"
	"fsub/testbed/daemon"
)

// situation is a job, what the federation looks like when it comes, and where it has to go.
type situation struct {
	title string
	why   string // of the site, for the page
	// What is otherwise than in the table at the head of the page: at the sites, before the daemon sees them; in its configuration; and by its operators.
	sites  func(t *testing.T)
	config func(t *testing.T) func(config map[string]any)
	fed    [][]string
	others func(t *testing.T, d *daemon.Daemon) // have jobs of the federation's own run before

	user   string // alice if not set
	script string // what follows "#!/bin/bash"

	task   string              // that is explained, too: "_19"
	site   federation.SiteName // "": no one
	reason reasons.Reason      // for which it waits; "": it runs
	queued bool                // at the site, since it does not start at once
	says   []string            // of fed explain
}

var situations = []situation{
	{
		title: "The cheapest site that can run it",
		why:   "Any GPU will do. An A100 takes twice as long as an H100, and is cheaper by the job all the same; a V100 is the cheapest by the hour and the most expensive by the job.",
		script: `#SBATCH --gpus=1 --time=2:00:00
`,
		site: "alpha",
		says: []string{"0.50 h at $1.20/h", "0.25 h at $2.80/h", "1.00 h at $0.90/h"},
	},
	{
		title:  "A job without GPUs",
		why:    "CPUs are cheapest at gamma. Nodes with GPUs are taken because there are no others.",
		script: "#SBATCH --cpus-per-task=8 --time=2:00:00\n",
		site:   "gamma",
	},
	{
		title:  "A certain type of GPU",
		why:    "Only beta has it.",
		script: "#SBATCH --gres=gpu:h100:1 --time=2:00:00\n",
		site:   "beta",
		says:   []string{"no gpu of type h100"},
	},
	{
		title: "One H100, or two A100 in its place",
		why:   "The script takes what it finds, and says how many of each it needs. The one H100 is cheaper than the two A100.",
		script: `#SBATCH --gpus=1 --time=2:00:00
#FSUB --accelerators=h100,a100:2
`,
		site: "beta",
	},
	{
		title: "A site that the user does not want",
		why:   "Without alpha the job goes to beta: its GPUs are more expensive than gamma's by the hour, and four times as fast.",
		script: `#SBATCH --gpus=1 --time=2:00:00
#FSUB --exclude-sites=alpha
`,
		site: "beta",
	},
	{
		title: "Four nodes under one switch are only at beta",
		why:   "Alpha is cheaper, but its topology/block ignores the option, and its racks have two nodes, as gamma's switches have.",
		script: `#SBATCH --nodes=4 --gpus-per-node=1 --time=2:00:00
#SBATCH --switches=1@1:00:00
`,
		site: "beta",
		says: []string{"its topology plugin ignores --switches"},
	},
	{
		title: "Distance has a price",
		why:   "The job may run anywhere. At alpha its traffic would cross racks, and take longer, which costs more than beta's higher price.",
		script: `#SBATCH --nodes=4 --gpus-per-node=1 --time=2:00:00
#FSUB --traffic=all-to-all
`,
		site: "beta",
		says: []string{"topology "},
	},
	{
		title: "Segments of two nodes",
		why:   "Every two nodes must share a rack or a leaf switch. Gamma's Slurm 22.05 has no such option.",
		script: `#SBATCH --nodes=4 --gpus-per-node=1 --time=2:00:00
#SBATCH --segment=2
`,
		site: "alpha",
		says: []string{"gamma"},
	},
	{
		title:  "A feature of the nodes",
		why:    "Only gamma's nodes have local NVMe.",
		script: "#SBATCH --nodes=2 --gpus-per-node=1 --constraint=nvme --time=2:00:00\n",
		site:   "gamma",
	},
	{
		title:  "Longer than the partition allows",
		why:    "Alpha's partition has a MaxTime of one day.",
		script: "#SBATCH --gpus=1 --time=3-00:00:00\n",
		site:   "beta",
		says:   []string{"PartitionTimeLimit"},
	},
	{
		title:  "A licence",
		why:    "Gamma has two licences of ansys, the others none.",
		script: "#SBATCH --gpus=1 --licenses=ansys:1 --time=2:00:00\n",
		site:   "gamma",
		says:   []string{"no license ansys there"},
	},
	{
		title:  "Local users fill the cheapest site",
		why:    "Users of alpha who know nothing of the federation hold all of it, and more of their jobs wait.",
		sites:  func(t *testing.T) { local(t, "alpha", 4, 3, "4:00:00") },
		script: "#SBATCH --gpus=1 --time=2:00:00\n",
		site:   "beta",
	},
	{
		title:  "The wait at the cheap site costs more than the dear site",
		why:    "All of alpha is busy for 40 minutes. Waiting for it would cost more than what is saved there.",
		sites:  func(t *testing.T) { local(t, "alpha", 4, 0, "40") },
		script: "#SBATCH --gpus=1 --time=2:00:00\n",
		site:   "beta",
		says:   []string{"wait "},
	},
	{
		title:  "A short wait is worth it",
		why:    "All of alpha is busy for twelve minutes. The job waits for it in the federation's queue, so that it can still go elsewhere.",
		sites:  func(t *testing.T) { local(t, "alpha", 4, 0, "12") },
		script: "#SBATCH --gpus=4 --nodes=1 --time=8:00:00\n",
		site:   "alpha",
		reason: reasons.Resources,
		queued: true,
	},
	{
		title: "A deadline buys the dear site",
		why:   "At alpha the job is expected to end too late, on an H100 in time.",
		script: `#SBATCH --gpus=1 --time=2:00:00 --time-min=20
#SBATCH --deadline=now+25minutes
`,
		site: "beta",
		says: []string{"after the deadline"},
	},
	{
		title:  "A site that is drained",
		why:    "The operators let nothing new start at alpha.",
		fed:    [][]string{{"fed", "site", "drain", "alpha", "--reason", "cooling"}},
		script: "#SBATCH --gpus=1 --time=2:00:00\n",
		site:   "beta",
		says:   []string{"FedSiteDrain: FedState is DRAIN: cooling"},
	},
	{
		title:  "Maintenance that the job would run into",
		why:    "Alpha is free now. Its maintenance begins in an hour, and the job may take two. One of 30 minutes would go there.",
		fed:    [][]string{{"fed", "maintenance", "add", "alpha", "--from", "1h", "--to", "4h", "--reason", "new switches"}},
		script: "#SBATCH --gpus=1 --time=2:00:00\n",
		site:   "beta",
		says:   []string{"maintenance"},
	},
	{
		title:  "Power is dear at this hour",
		why:    "Electricity at alpha costs $3 per kWh in this hour and the next, $0.10 else and elsewhere.",
		config: dearPower,
		script: "#SBATCH --gpus=1 --time=2:00:00\n",
		site:   "beta",
		says:   []string{"power "},
	},
	{
		title: "A bound on the cost",
		why:   "Nothing may cost more than 65 cents: only alpha will do, though it is full.",
		sites: func(t *testing.T) { local(t, "alpha", 4, 0, "40") },
		script: `#SBATCH --gpus=1 --time=2:00:00
#FSUB --max-cost=0.65
`,
		reason: reasons.Resources,
		says:   []string{"FedMaxCost"},
	},
	{
		title:  "The budget is used up",
		why:    "The account has a budget of 50 cents a month. The job could cost more at every site, so it waits.",
		fed:    [][]string{{"fed", "account", "add", "physics", "Budget=0.50/month"}, {"fed", "account", "add", "physics", "--user", "alice"}},
		script: "#SBATCH --gpus=1 --time=2:00:00\n",
		reason: "FedAccountBudget",
		says:   []string{"waits (FedAccountBudget)"},
	},
	{
		title: "The data is at the dear site",
		why:   "Four TB would have to be copied to alpha or beta. Nobody charges for what leaves gamma, but the copy takes an hour.",
		script: `#SBATCH --gpus=1 --time=2:00:00
#FSUB --input=4T@gamma
`,
		site: "gamma",
		says: []string{"data 0.00 (4 TB from gamma at $0/GB, as configured)", "copy "},
	},
	{
		title:  "The data is in a cloud",
		why:    "Amazon charges for each GB that leaves it. A machine in the data's own region is cheaper than that.",
		config: rent,
		script: `#SBATCH --gpus=1 --cpus-per-task=2 --time=2:00:00
#FSUB --input=100G@aws:us-east-2
`,
		site:   "cloud",
		queued: true,
	},
	{
		title:  "An array goes where there is room",
		why:    "Sixteen of the twenty tasks fill alpha, the others are at beta: the first and the last of them.",
		script: "#SBATCH --array=0-19 --gpus=1 --time=2:00:00\n",
		task:   "_19",
		site:   "alpha",
		says:   []string{"_19 -> beta"},
	},
	{
		title: "A heterogeneous job",
		why:   "A component without GPUs and one with two nodes of H100: they start together, at the site that has both.",
		script: `#SBATCH --cpus-per-task=4 --time=2:00:00
#SBATCH hetjob
#SBATCH --nodes=2 --gpus-per-node=h100:4
`,
		site: "beta",
	},
	{
		title:  "A GPU that only a cloud has: spot",
		why:    "Nobody has an L4 but the cloud, where spot machines are cheapest although they may be taken back.",
		config: rent,
		script: "#SBATCH --gres=gpu:l4:1 --cpus-per-task=2 --time=2:00:00\n",
		site:   "cloud",
		queued: true,
		says:   []string{"spot", "risk "},
	},
	{
		title:  "The same, on demand",
		why:    "The job must not be interrupted.",
		config: rent,
		script: `#SBATCH --gres=gpu:l4:1 --cpus-per-task=2 --time=2:00:00
#SBATCH --constraint=on-demand
`,
		site:   "cloud",
		queued: true,
	},
	{
		title: "Borrowed quota is given back by preemption",
		why: "Account physics is guaranteed eight H100. Carol's six jobs, of account vision, have borrowed all 24, as nobody else wanted them. " +
			"One of them makes room: it is queued again, and the other five run on.",
		fed: [][]string{{"fed", "account", "add", "physics", "Guarantee=gres/gpu:h100=8"}, {"fed", "account", "add", "physics", "--user", "alice"},
			{"fed", "account", "add", "vision"}, {"fed", "account", "add", "vision", "--user", "carol"}, {"fed", "qos", "add", "normal", "PreemptMode=requeue"}},
		others: func(t *testing.T, d *daemon.Daemon) { borrow(t, d, 6, "--gres=gpu:h100:4") },
		script: "#SBATCH --nodes=1 --gres=gpu:h100:4 --time=2:00:00\n",
		site:   "beta",
		says:   []string{"1 job makes room: "},
	},
}

// borrow has jobs of carol run in the federation.
func borrow(t *testing.T, d *daemon.Daemon, jobs int, gres string) {
	t.Helper()
	for range jobs {
		at(t, d, "carol", "fsub", "-o", "/dev/null", "--nodes=1", gres, "--time=2:00:00", "--wrap=./train")
	}
	c := d.Client()
	defer c.Close()
	err := await(t.Context(), "carol's jobs to run", func() (string, bool) {
		all, err := client.List(t.Context(), c, &v1.Jobs, v1.JobQuery{Where: []string{"state=RUNNING"}})
		return fmt.Sprint(len(all), err), len(all) == jobs
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dearPower has electricity cost much at alpha now.
func dearPower(t *testing.T) func(config map[string]any) {
	return func(config map[string]any) {
		file := filepath.Join(filepath.Dir(config["socket"].(string)), "power.csv")
		hour := time.Now().UTC().Truncate(time.Hour)
		text := "site,hour,usd_per_kwh,g_per_kwh\n*,*,0.10,200\nalpha,*,0.10,200\n"
		for i := range 2 {
			text += fmt.Sprintf("alpha,%s,3.00,200\n", hour.Add(time.Duration(i)*time.Hour).Format("2006-01-02T15:04Z"))
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		config["power"] = map[string]any{"file": file}
	}
}
