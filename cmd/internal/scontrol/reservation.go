package scontrol

import (
	"fmt"
	"io"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// showReservations is "show reservations [NAME]".
func (c *command) showReservations(name string, given bool) int {
	var resp wire.ReservationsResponse
	if c.load("slurm_load_reservations", wire.Slurm(restVersion, wire.PathReservations)+c.clusters.query(), &resp) != nil {
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

func (p *printer) printReservation(v *wire.Reservation) {
	sep, end := "\n   ", "\n\n"
	if p.oneLine {
		sep, end = " ", "\n"
	}
	state, now := "INACTIVE", p.times.Now().Unix()
	if v.StartTime.Value() <= now && now < v.EndTime.Value() {
		state = "ACTIVE"
	}
	fmt.Fprintf(p.stdout, "ReservationName=%s StartTime=%s EndTime=%s Duration=%s"+sep, v.Name, p.at(v.StartTime, "Unknown"), p.at(v.EndTime, "Unknown"),
		show.Clock(v.EndTime.Value()-v.StartTime.Value()))
	fmt.Fprintf(p.stdout, "Nodes=%s NodeCnt=%d CoreCnt=%d Features=%s PartitionName=%s Flags=%s"+sep, v.NodeList, v.NodeCount, v.CoreCount,
		show.OrNull(v.Features), show.OrNull(v.Partition), strings.Join(v.Flags, ","))
	fmt.Fprintf(p.stdout, "TRES=%s"+sep, show.OrNull(v.TRES))
	fmt.Fprintf(p.stdout, "Users=%s Groups=%s Accounts=%s Licenses=%s State=%s BurstBuffer=%s"+sep, show.OrNull(v.Users), show.OrNull(v.Groups),
		show.OrNull(v.Accounts), show.OrNull(v.Licenses), state, show.OrNull(v.BurstBuffer))
	io.WriteString(p.stdout, "MaxStartDelay=(null)"+end)
}
