package scontrol

import (
	"fmt"
	"strconv"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// showConfig is "show config": the federation's own settings, in Slurm's keys, then the state of the daemon.
func (c *command) showConfig(string, bool) int {
	var values []v1.ConfigValue
	if c.load("slurm_load_ctl_conf", "/fed/v1/config", &values) != nil {
		return 1
	}
	fmt.Fprintf(c.stdout, "Configuration data as of %s\n", c.times.Unix(c.times.Now().Unix()))
	for _, v := range values {
		text := v.Value
		if v.Time {
			if seconds, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
				text = c.times.Unix(seconds)
			}
		}
		fmt.Fprintf(c.stdout, "%-23s = %s\n", v.Key, text)
	}
	fmt.Fprintln(c.stdout)
	return c.ping(nil)
}

// ping is "ping": whoever answers is up.
func (c *command) ping([]string) int {
	var resp wire.PingResponse
	path := wire.Slurm(wire.Base, wire.PathPing)
	if c.json {
		return c.printJSON(&entity{name: "ping", path: wire.PathPing}, "")
	}
	if err := show.Get(c.caller, path, &resp); err != nil || len(resp.Pings) == 0 {
		fmt.Fprintln(c.stdout, "Slurmctld(primary) at fsub is DOWN")
		c.fail("*****************************************\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n*****************************************")
		return 1
	}
	for _, p := range resp.Pings {
		fmt.Fprintf(c.stdout, "Slurmctld(primary) at %s is UP\n", p.Hostname)
	}
	return 0
}

// errnumstr is "errnumstr NUMBER".
func (c *command) errnumstr(words []string) int {
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return c.fail("numeric arguments required for keyword:errnumstr")
	}
	text := wire.Strerror(n)
	if text == "" {
		text = "Unknown error " + words[0]
	}
	fmt.Fprintln(c.stdout, text)
	return 0
}
