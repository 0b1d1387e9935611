package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// reserveVersion is the first API version that can make a reservation (25.05).
const reserveVersion = "v0.0.43"

// promiseFlags of a reservation let its job start before it begins and run on after it has ended (FLEX), let it be made while other jobs still run on its nodes (IGNORE_JOBS), have slurmctld
// remove it by itself once nobody has used it for a while (PURGE_COMP; a job that waits for it uses it), and let that job wait on outside of it then (NO_HOLD_JOBS_AFTER_END: by default
// slurmctld holds it). Tried with 22.05, 24.11 and 26.05.
var promiseFlags = wire.Strings{"FLEX", "PURGE_COMP", "IGNORE_JOBS", "NO_HOLD_JOBS_AFTER_END"}

// reserver makes reservations and removes them.
type reserver struct{ *site }

// Reserve implements [driver.Reserver] by slurmrestd from 25.05 on, or by the configured command.
func (rs *reserver) Reserve(ctx context.Context, p driver.Promise) error {
	err := rs.reserve(ctx, p)
	if err != nil {
		return fmt.Errorf("reserve %s at %s: %w", hostlist.Compress(p.Nodes), rs.cfg.Name, err)
	}
	return nil
}

func (rs *reserver) reserve(ctx context.Context, p driver.Promise) error {
	if len(rs.cfg.ReservationCommand) > 0 {
		words := []string{"ReservationName=" + p.Name, "StartTime=uts" + seconds(p.Start), "EndTime=uts" + seconds(p.End), "Nodes=" + hostlist.Compress(p.Nodes)}
		if p.Start.IsZero() {
			words = slices.Delete(words, 1, 2)
		}
		err := rs.command(ctx, append([]string{"update"}, words...)...)
		if !errors.Is(err, federation.ErrNotFound) {
			return err
		}
		flags := slices.Clone(promiseFlags)
		flags[slices.Index(flags, "PURGE_COMP")] = "PURGE_COMP=" + clock(p.Idle)
		return rs.command(ctx, slices.Concat([]string{"create", "reservation"}, words, []string{"Users=" + p.User, "Flags=" + strings.Join(flags, ",")})...)
	}
	if err := rs.able(ctx); err != nil {
		return err
	}
	body := wire.ReservationDesc{Name: p.Name, Users: wire.Strings{p.User}, NodeList: p.Nodes, EndTime: wire.Num(p.End.Unix()), Flags: promiseFlags}
	if !p.Start.IsZero() {
		body.StartTime = wire.Num(p.Start.Unix())
	}
	body.PurgeCompleted.Time = wire.Num(int64(p.Idle / time.Second))
	return rs.ask(ctx, request{op: "reserve", method: http.MethodPost, path: wire.PathReservation, body: body})
}

// Unreserve implements [driver.Reserver].
func (rs *reserver) Unreserve(ctx context.Context, name string) error {
	var err error
	if len(rs.cfg.ReservationCommand) > 0 {
		err = rs.command(ctx, "delete", "ReservationName="+name)
	} else if err = rs.able(ctx); err == nil {
		err = rs.ask(ctx, request{op: "unreserve", method: http.MethodDelete, path: wire.PathReservation + "/" + url.PathEscape(name)})
	}
	if err != nil && !errors.Is(err, federation.ErrNotFound) {
		return fmt.Errorf("remove reservation %s at %s: %w", name, rs.cfg.Name, err)
	}
	return nil
}

// able refuses what the site's API version has no call for.
func (rs *reserver) able(ctx context.Context) error {
	tr, err := rs.c.negotiated(ctx)
	if err == nil && tr.version < reserveVersion {
		err = fmt.Errorf("%w: API version %s has no call for reservations: set reservation_command in the site's configuration", federation.ErrInvalid, tr.version)
	}
	return err
}

func (rs *reserver) ask(ctx context.Context, r request) error {
	var a wire.ReservationChanged
	if err := rs.c.do(ctx, r, &a); err != nil {
		return err
	}
	switch {
	case len(a.Errors) == 0:
		return nil
	case a.Errors[0].Number == -1: // "Unspecified error": so 26.05 refuses a user whom it does not know
		return slurmError(federation.ErrDenied, a.Errors[0], "")
	}
	return changeRefusal(a.Errors[0], wire.ErrReservation)
}

// command runs the configured command with more words. scontrol reports an update that was refused with status 0 (22.05), or without a reason.
func (rs *reserver) command(ctx context.Context, words ...string) error {
	said, err := rs.operatorCommand(ctx, rs.cfg.ReservationCommand, words)
	if err == nil && !strings.Contains(strings.ToLower(said), "error") {
		return nil
	}
	return commandRefusal(ctx, "reservation_command", said, wire.Strerror(wire.ErrReservation), err)
}

func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// clock is a duration as scontrol takes it: HH:MM:SS.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
