package config

import (
	"errors"
	"fmt"
	"time"

	"fsub/federation/fairshare"
)

// Priority is how the queue is ordered: Slurm's multifactor priority, over all sites.
type Priority struct {
	// Time in which usage decays to a half, like PriorityDecayHalfLife. 0: it does not decay; else a minute at least.
	HalfLife time.Duration `yaml:"half_life"`
	// How often shares and priorities are worked out again, like PriorityCalcPeriod.
	Period time.Duration `yaml:"period"`
	// A job that has waited so long gets all of weight_age.
	MaxAge time.Duration `yaml:"max_age"`
	// Points of the user who has used least of the shares.
	Share float64 `yaml:"weight_fairshare"`
	// Points of a job that has waited for max_age.
	Age float64 `yaml:"weight_age"`
	// By how many times the GPU-time that it is expected to take a job counts as younger, by max_age at most: so jobs come first that are expected to
	// take little. 16 CPUs count as a GPU where a job has none. 0: what a job takes does not matter.
	Work float64 `yaml:"expected_work"`
	// Points of a job of the QOS with the highest priority.
	QOS float64 `yaml:"weight_qos"`
	// Points of a job of the partition with the highest PriorityJobFactor of all sites, like PriorityWeightPartition. A job that names no partition counts as one of
	// a default partition.
	Partition float64 `yaml:"weight_partition"`
	// Points of a job of 1000 nodes or more.
	Size float64 `yaml:"weight_job_size"`
	// Of each user and account the job that has waited longest is put before all others when it has waited so long, and one more each time that this has passed:
	// then shares, QOS and expected_work keep no job from starting for ever. 0: never.
	StarveAfter time.Duration `yaml:"starve_after"`
	// Of one user's waiting jobs with a --group, which else count alike, those go first from which the longest path of dependencies goes on, by how long jobs are expected
	// to run. They exchange their places in the queue among each other: jobs of others keep theirs.
	CriticalPath bool `yaml:"critical_path"`
	// What usage is counted in: billing (TRES-seconds) or dollars.
	Usage string `yaml:"usage"`
	// What a second of one unit counts, by TRES, like TRESBillingWeights: gres/gpu:h100, gres/gpu, cpu, mem (GiB), node. Not set: what the site counts as
	// billing, else CPUs.
	Billing map[string]float64 `yaml:"billing_weights,omitempty"`
}

func defaultPriority() Priority {
	p := fairshare.Default()
	return Priority{HalfLife: p.HalfLife, Period: p.Period, MaxAge: p.MaxAge, Share: p.Share, Age: p.Age, Work: p.Work, QOS: p.QOS, Partition: p.Partition, Size: p.Size, StarveAfter: p.StarveAfter, Usage: "billing"}
}

func (p *Priority) check() error {
	if p.Usage != "billing" && p.Usage != "dollars" {
		return fmt.Errorf("priority: usage %q: want billing or dollars", p.Usage)
	}
	if p.HalfLife < 0 || p.MaxAge < 0 || p.Period < time.Second {
		return errors.New("priority: half_life and max_age must not be negative, and period must be at least 1s")
	}
	if p.HalfLife > 0 && p.HalfLife < time.Minute {
		return fmt.Errorf("priority: half_life is %v: usage that decays so fast counts for nothing; give a minute at least, or 0 where usage does not decay", p.HalfLife)
	}
	if p.StarveAfter != 0 && p.StarveAfter < time.Minute {
		return fmt.Errorf("priority: starve_after %v: want 0 or a minute at least", p.StarveAfter)
	}
	weights := map[string]float64{"weight_fairshare": p.Share, "weight_age": p.Age, "expected_work": p.Work, "weight_qos": p.QOS, "weight_partition": p.Partition, "weight_job_size": p.Size}
	for name, w := range p.Billing {
		weights["billing_weights: "+name] = w
	}
	for name, w := range weights {
		if !(w >= 0 && w <= 1e9) {
			return fmt.Errorf("priority: %s: %v: want a number from 0 to 1e9", name, w)
		}
	}
	return nil
}

func (p *Priority) FairShare() fairshare.Policy {
	return fairshare.Policy{HalfLife: p.HalfLife, Period: p.Period, MaxAge: p.MaxAge, Age: p.Age, Share: p.Share, Work: p.Work, QOS: p.QOS, Partition: p.Partition, Size: p.Size, StarveAfter: p.StarveAfter, CriticalPath: p.CriticalPath,
		Dollars: p.Usage == "dollars", Billing: p.Billing}
}
