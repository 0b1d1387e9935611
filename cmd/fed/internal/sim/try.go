package sim

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/sbatch"
)

// try asks what would become of a job if it were submitted now.
func try(ctx context.Context, c *client.Client, script string, options []string) (out v1.SubmitResponse, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return out, err
	}
	_, offset := time.Now().Zone()
	call := &v1.Call{Args: options, Dir: dir, UTCOffset: offset}
	if len(script) > 1 && script[0] == '-' {
		return out, fmt.Errorf("--submit wants a script, got %q; options of sbatch come behind it, after --", script)
	}
	var text []byte
	if script == "-" {
		text, err = io.ReadAll(io.LimitReader(os.Stdin, sbatch.MaxScript+1))
	} else {
		if call.Script, err = filepath.Abs(script); err == nil {
			text, err = os.ReadFile(script)
		}
	}
	if err != nil {
		return out, fmt.Errorf("read the job's script: %w", err)
	}
	r := v1.SubmitRequest{Call: call, Payload: sbatch.Payload{Script: string(text), Environment: os.Environ()}, TestOnly: true, Explain: true}
	err = c.Do(ctx, "POST", "/fed/v1/job", r, &out)
	return out, err
}

func showTried(w io.Writer, a *v1.SubmitResponse) error {
	for _, line := range a.Warnings {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, a.Message)
	if a.Place != "" {
		fmt.Fprintln(w, a.Place)
	}
	if a.Decision == nil {
		return nil
	}
	fmt.Fprintln(w)
	t, from := cli.NewTable(w), a.Decision.Expected.From()
	t.Row("SITE", "POOL", "STARTS", "NINE IN TEN BY", "MEAN RUN", "COST", "HALF PAY", "NINE IN TEN PAY", "AT MOST", "WITH WAITING", "RUN TIME FROM")
	for i, o := range a.Decision.Offers {
		s := o.Begins()
		if i == 0 && a.Start != nil {
			s.At, s.Within = a.Start.At, a.Start.Within
		}
		paid := decision.Paid{Most: o.Most}
		if o.Paid != nil {
			paid = *o.Paid
		}
		learnt := func(d decision.Dollars) string {
			if o.Paid == nil || a.Decision.Expected == nil || a.Decision.Expected.Runs == 0 {
				return "?"
			}
			return cli.USD(d)
		}
		bound := ""
		if paid.Most > 0 {
			bound = cli.USD(paid.Most)
		}
		if i == 0 && a.Start == nil {
			s.At = time.Time{}
		}
		t.Row(string(o.Site), o.Pool, timeText(s.At), timeText(s.Within), o.Run.Round(time.Second).String(), cli.USD(o.Price()),
			learnt(paid.P50), learnt(paid.P90), bound, cli.USD(o.Total), from)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if no := place.NotViable(a.Decision); len(no) > 0 {
		fmt.Fprintln(w, "\nnot viable:")
		for _, line := range no {
			fmt.Fprintln(w, "  "+line)
		}
	}
	return nil
}

// timeText is a time of the user's zone; "": nobody knows.
func timeText(at time.Time) string {
	if at.IsZero() {
		return "?"
	}
	return at.Local().Format("2006-01-02T15:04:05")
}
