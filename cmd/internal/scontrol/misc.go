package scontrol

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// showReservations is "show reservations [NAME]".
func (c *command) showReservations(name string, given bool) int {
	var resp wire.ReservationsResponse
	if c.load("slurm_load_reservations", wire.Slurm(restVersion, wire.PathReservations)+c.ofCluster(), &resp) != nil {
		return 1
	}
	shown := 0
	for i := range resp.Reservations {
		if v := &resp.Reservations[i]; !given || v.Name == name {
			shown++
			c.printReservation(v)
		}
	}
	switch {
	case shown > 0:
		return 0
	case given:
		fmt.Fprintf(c.stdout, "Reservation %s not found\n", name)
		return 1
	}
	fmt.Fprintln(c.stdout, "No reservations in the system")
	return 0
}

func (c *command) printReservation(v *wire.Reservation) {
	sep, end := "\n   ", "\n\n"
	if c.oneLine {
		sep, end = " ", "\n"
	}
	state, now := "INACTIVE", c.times.Now().Unix()
	if v.StartTime.Value() <= now && now < v.EndTime.Value() {
		state = "ACTIVE"
	}
	fmt.Fprintf(c.stdout, "ReservationName=%s StartTime=%s EndTime=%s Duration=%s"+sep, v.Name, c.at(v.StartTime, "Unknown"), c.at(v.EndTime, "Unknown"),
		show.Clock(v.EndTime.Value()-v.StartTime.Value()))
	fmt.Fprintf(c.stdout, "Nodes=%s NodeCnt=%d CoreCnt=%d Features=%s PartitionName=%s Flags=%s"+sep, v.NodeList, v.NodeCount, v.CoreCount,
		show.OrNull(v.Features), show.OrNull(v.Partition), strings.Join(v.Flags, ","))
	fmt.Fprintf(c.stdout, "TRES=%s"+sep, show.OrNull(v.TRES))
	fmt.Fprintf(c.stdout, "Users=%s Groups=%s Accounts=%s Licenses=%s State=%s BurstBuffer=%s"+sep, show.OrNull(v.Users), show.OrNull(v.Groups),
		show.OrNull(v.Accounts), show.OrNull(v.Licenses), state, show.OrNull(v.BurstBuffer))
	io.WriteString(c.stdout, "MaxStartDelay=(null)"+end)
}

// showLicenses is "show licenses [NAME]": those of all sites; sites that have one of the same name
// have one each.
func (c *command) showLicenses(name string, given bool) int {
	var resp wire.LicensesResponse
	if c.load("slurm_load_licenses", wire.Slurm(restVersion, wire.PathLicenses)+c.ofCluster(), &resp) != nil {
		return 1
	}
	sep := "\n    "
	if c.oneLine {
		sep = " "
	}
	for _, l := range resp.Licenses {
		if !given || l.Name == name {
			fmt.Fprintf(c.stdout, "LicenseName=%s%sTotal=%d Used=%d Free=%d Reserved=%d Remote=no\n", l.Name, sep, l.Total, l.Used, l.Free, l.Reserved)
		}
	}
	if len(resp.Licenses) == 0 {
		fmt.Fprintln(c.stdout, "No licenses configured in Slurm.")
	}
	return 0
}

// showTopology is "show topology [NAME]": the switches of all sites, or those above a node or of a name.
func (c *command) showTopology(name string, given bool) int {
	var switches []v1.Switch
	if c.load("slurm_load_topo", "/fed/v1/topology", &switches) != nil {
		return 1
	}
	shown := 0
	for _, s := range switches {
		if !c.inCluster(string(s.Site)) || given && s.Name != name && !within(s.Nodes, name) {
			continue
		}
		shown++
		fmt.Fprintf(c.stdout, "SwitchName=%s Level=%d LinkSpeed=1 Nodes=%s", s.Name, s.Level, s.Nodes)
		if s.Switches != "" {
			fmt.Fprintf(c.stdout, " Switches=%s", s.Switches)
		}
		fmt.Fprintln(c.stdout)
	}
	switch {
	case shown > 0:
	case given:
		c.fail("scontrol: error: Topology information contains no switch or node named %s", name)
	default:
		fmt.Fprintln(c.stdout, "No topology information available")
	}
	return 0
}

func within(list, name string) bool {
	names, _ := hostlist.Expand(list)
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

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
