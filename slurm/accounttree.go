package slurm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/driver"
	"fsub/sbatch"
)

// accountKeeper reads and changes the accounts of a site: by sacctmgr where it is configured, else by slurmrestd.
type accountKeeper struct {
	*site
	books   *books
	members *members
	queue   *queue
}

var _ driver.AccountKeeper = (*accountKeeper)(nil)

// ReadAccounts implements [driver.AccountKeeper]. A slurmrestd of 22.05 is asked for accounts, users and
// shares only.
func (k *accountKeeper) ReadAccounts(ctx context.Context) (*accounts.Import, error) {
	tr, err := k.books.accountsAPI(ctx)
	byCommand := len(k.cfg.AccountCommand) > 0
	if err != nil && !byCommand {
		return nil, err
	}
	at := &accounts.Import{Cluster: k.queue.clusterName(ctx), Limits: byCommand || !tr.old}
	switch {
	case at.Cluster == "" && at.Limits:
		return nil, fmt.Errorf("site %s: %w: it does not tell the name of its cluster", k.cfg.Name, federation.ErrUnavailable)
	case byCommand:
		return at, k.askSacctmgr(ctx, at)
	case at.Limits:
		return at, k.askREST(ctx, at)
	}
	known, err := k.members.readAssociations(ctx)
	if err != nil {
		return nil, err
	}
	add := func(k accounts.Key, parent string, isDefault bool, shares int64) {
		set := accounts.Settings{}
		switch {
		case shares == int64(fairtree.UseParent):
			set["Fairshare"] = "parent"
		case shares != 1:
			set["Fairshare"] = strconv.FormatInt(shares, 10)
		}
		at.Records = append(at.Records, accounts.Record{Key: k, Parent: parent, Default: isDefault, Set: set})
	}
	for _, a := range known.accounts {
		add(accounts.AccountKey(a.Name), a.Parent, false, a.Shares)
	}
	for user, list := range known.list {
		for _, a := range list {
			if a.Partition != "" {
				at.Skipped = append(at.Skipped, fmt.Sprintf("user %s of account %s in partition %s", user, a.Account, a.Partition))
				continue
			}
			add(accounts.UserKey(a.Account, user), "", a.Default, a.Shares)
		}
	}
	return at, nil
}

// columnsOf are the columns that sacctmgr is asked for of records of a kind, one for each of [accounts.AtSites].
func columnsOf(kind accounts.Kind) (list []string) {
	for _, o := range accounts.AtSites(kind) {
		list = append(list, strings.ToLower(o.Column()))
	}
	return list
}

func (k *accountKeeper) askSacctmgr(ctx context.Context, at *accounts.Import) error {
	defaults := map[string]string{}
	if err := k.show(ctx, 2, func(f []string) { defaults[f[0]] = f[1] }, "user", "format=user,defaultaccount"); err != nil {
		return err
	}
	type told struct {
		description, organization string
		coordinators              []string
	}
	of := map[string]told{}
	err := k.show(ctx, 4, func(f []string) {
		a := told{description: f[1], organization: f[2]}
		if f[3] != "" {
			a.coordinators = slices.Sorted(slices.Values(strings.Split(f[3], ",")))
		}
		of[f[0]] = a
	}, "account", "withcoord", "format=account,descr,org,coord")
	if err != nil {
		return err
	}
	qos, associations := columnsOf(accounts.QOS), columnsOf(accounts.User)
	err = k.show(ctx, 1+len(qos), func(f []string) {
		at.Records = append(at.Records, accounts.Record{Key: accounts.QOSKey(f[0]), Set: settings(at, accounts.QOSKey(f[0]), f[1:])})
	}, "qos", "format=name,"+strings.Join(qos, ","))
	if err != nil {
		return err
	}
	return k.show(ctx, 4+len(associations), func(f []string) {
		account, user, partition, parent := f[0], f[1], f[2], f[3]
		switch {
		case partition != "":
			at.Skipped = append(at.Skipped, fmt.Sprintf("user %s of account %s in partition %s", user, account, partition))
		case user != "":
			k := accounts.UserKey(account, user)
			at.Records = append(at.Records, accounts.Record{Key: k, Default: defaults[user] == account, Set: settings(at, k, f[4:])})
		default:
			k := accounts.AccountKey(account)
			r := accounts.Record{Key: k, Parent: parent, Coordinators: of[account].coordinators, Set: settings(at, k, f[4:])}
			about(&r, of[account].description, of[account].organization)
			at.Records = append(at.Records, r)
		}
	}, "association", "where", "cluster="+at.Cluster, "WOPLimits", "format=account,user,partition,parentname,"+strings.Join(associations, ","))
}

// about sets what an account is for. slurmdbd takes a name for what was not said.
func about(r *accounts.Record, description, organization string) {
	if r.Name == accounts.Root {
		return
	}
	if description != "" && description != r.Name {
		r.Set["Description"] = description
	}
	if organization != "" && organization != r.Name && organization != r.Parent {
		r.Set["Organization"] = organization
	}
}

// settings reads the values of [accounts.AtSites], in sacctmgr's words. What cannot be read is reported in at.
func settings(at *accounts.Import, k accounts.Key, columns []string) accounts.Settings {
	out := accounts.Settings{}
	for i, o := range accounts.AtSites(k.Kind) {
		name, value := o.Name, columns[i]
		if name == "GraceTime" && strings.Contains(value, ":") {
			if _, ok := sbatch.TimeLimit(value); ok {
				value = strconv.Itoa(int(graceSeconds(value) / time.Second))
			}
		}
		value, err := o.Value("", value)
		switch {
		case err != nil:
			at.Skipped = append(at.Skipped, fmt.Sprintf("%s: %s=%s: %v", k, name, columns[i], err))
		case value == "", name == "Fairshare" && value == "1", name == "UsageFactor" && value == "1", name == "PreemptMode" && value == "cluster",
			(name == "Priority" || name == "GraceTime") && value == "0":
		default:
			out[name] = value
		}
	}
	return out
}

// graceSeconds reads [D-]HH:MM:SS to the second: limits of jobs are rounded up to minutes.
func graceSeconds(s string) (d time.Duration) {
	days, clock, found := strings.Cut(s, "-")
	if !found {
		days, clock = "0", s
	}
	n, _ := strconv.Atoi(days)
	d = time.Duration(n) * 24 * time.Hour
	unit := time.Hour
	for part := range strings.SplitSeq(clock, ":") {
		n, _ := strconv.Atoi(part)
		d += time.Duration(n) * unit
		unit /= 60
	}
	return d
}

// show has sacctmgr list something, and calls take with the fields of each line.
func (k *accountKeeper) show(ctx context.Context, fields int, take func([]string), words ...string) error {
	out, err := k.sacctmgr(ctx, append([]string{"-nP", "show"}, words...))
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) != fields {
			return fmt.Errorf("site %s: %w: account_command show %s: %q has %d fields, not %d", k.cfg.Name, federation.ErrUnavailable, words[0], line, len(f), fields)
		}
		take(f)
	}
	return nil
}

// Sacctmgr implements [driver.AccountKeeper] by the configured command, else by slurmrestd of 24.11 and later. The next look at the site reads who may run there again.
func (k *accountKeeper) Sacctmgr(ctx context.Context, words []string) error {
	defer k.members.changed()
	if len(k.cfg.AccountCommand) == 0 {
		return k.changeByREST(ctx, words)
	}
	out, err := k.sacctmgr(ctx, append([]string{"-i"}, words...))
	if err != nil && (strings.Contains(out, "Nothing new added") || strings.Contains(out, "Nothing modified") || strings.Contains(out, "Nothing deleted")) {
		return nil
	}
	return err
}

// sacctmgr runs the command and returns what it has said on stdout.
func (k *accountKeeper) sacctmgr(ctx context.Context, words []string) (string, error) {
	if err := k.c.budget.wait(ctx); err != nil {
		return "", err
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, k.cfg.AccountCommand[0], append(slices.Clone(k.cfg.AccountCommand[1:]), words...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	said, kind := strings.TrimSpace(stdout.String()+stderr.String()), federation.ErrConflict
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit) || ctx.Err() != nil || exit.ExitCode() == 255 || strings.Contains(said, "Problem talking to the database"):
		kind = federation.ErrUnavailable
	case strings.Contains(said, "privilege") || strings.Contains(said, "denied"):
		kind = federation.ErrDenied
	}
	return said, fmt.Errorf("site %s: %w: sacctmgr %s: %v: %s", k.cfg.Name, kind, strings.Join(words, " "), err, said)
}
