package sinfo

import (
	"fmt"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// listReservations is --reservation: one line for each, the first column as wide as its names.
func (c *command) listReservations(query string) error {
	var resp wire.ReservationsResponse
	if err := show.Get(c.caller, wire.Slurm("v0.0.43", wire.PathReservations)+query, &resp); err != nil {
		return fmt.Errorf("slurm_load_reservations: %w", err)
	}
	if len(resp.Reservations) == 0 {
		fmt.Fprintln(c.stdout, "No reservations in the system")
		return nil
	}
	width := len("RESV_NAME")
	for _, r := range resp.Reservations {
		width = max(width, len(r.Name))
	}
	line := func(cells ...any) {
		fmt.Fprintf(c.stdout, "%-*s  %8s  %19s  %19s  %11s  %s\n", append([]any{width}, cells...)...)
	}
	if !c.noHeader {
		line("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST")
	}
	now := c.times.Now().Unix()
	for _, r := range resp.Reservations {
		state := "INACTIVE"
		if r.StartTime.Value() <= now && now <= r.EndTime.Value() {
			state = "ACTIVE"
		}
		line(r.Name, state, c.times.Unix(r.StartTime.Value()), c.times.Unix(r.EndTime.Value()), show.Clock(r.EndTime.Value()-r.StartTime.Value()), r.NodeList)
	}
	return nil
}
