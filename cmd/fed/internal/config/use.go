package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Use says how it is learnt how busy jobs of a Slurm cluster keep what they hold while they run: slurmrestd tells it only of what has ended. Of rented
// machines and local pools the agents tell it.
type Use struct {
	// Program, with its first arguments, that does what sstat does at the site, for all users. It tells the CPU time of jobs, and the use of GPUs where
	// AccountingStorageTRES has gres/gpuutil.
	Command []string `yaml:"command,omitempty"`
	// Address of a DCGM exporter, http://HOST:9400/metrics; %n in it stands for the name of a node, of which each then has one. A job's GPUs are found by the
	// exporter's label hpc_job, or where the job holds all GPUs of its nodes.
	Exporter string `yaml:"exporter,omitempty"`
}

func (s *Site) checkUse() error {
	u := s.Use
	switch {
	case u == nil:
		return nil
	case s.Rented():
		return fmt.Errorf("site %s: use is for Slurm clusters: of machines with agents these tell it", s.Name)
	case len(u.Command) == 0 && u.Exporter == "":
		return fmt.Errorf("site %s: use: set command, exporter, or both", s.Name)
	case len(u.Command) > 0 && u.Command[0] == "":
		return fmt.Errorf("site %s: use: command: the program has no name", s.Name)
	}
	if u.Exporter == "" {
		return nil
	}
	at, err := url.Parse(strings.ReplaceAll(u.Exporter, "%n", "node"))
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return fmt.Errorf("site %s: use: invalid exporter %q: want http://HOST:PORT/metrics, where HOST may have %%n for a node's name", s.Name, u.Exporter)
	}
	return nil
}
