package federation

import (
	"fsub/topology"
	"maps"
	"slices"
	"time"
)

// Same reports whether two observations say the same: everything but the time of the look.
func (o *Observation) Same(p *Observation) bool {
	return o.Cluster == p.Cluster && o.Version == p.Version && o.Mode == p.Mode && o.OnlyUser == p.OnlyUser && o.SlurmUser == p.SlurmUser && o.NoSlurm == p.NoSlurm && o.Accounting == p.Accounting && o.Credential == p.Credential && o.CredentialEnds.Equal(p.CredentialEnds) && o.OldPrices == p.OldPrices && o.PricedAt.Equal(p.PricedAt) &&
		o.PendingJobs == p.PendingJobs && o.MaxJobSeen == p.MaxJobSeen && slices.Equal(o.Lacks, p.Lacks) && slices.Equal(o.Warnings, p.Warnings) &&
		slices.Equal(o.Licenses, p.Licenses) && maps.Equal(o.StrictQOS, p.StrictQOS) && by(o.Running, p.Running, sameRunning) && by(o.Waiting, p.Waiting, sameWaiting) && by(o.Nodes, p.Nodes, sameNode) &&
		by(o.Partitions, p.Partitions, samePartition) && by(o.Reservations, p.Reservations, sameReservation) && o.Tree.Same(p.Tree) &&
		by(o.Accounts, p.Accounts, sameAccount) && (o.Associations == nil) == (p.Associations == nil) &&
		maps.EqualFunc(o.Associations, p.Associations, func(a, b []Association) bool { return by(a, b, sameAssociation) })
}

// by is slices.EqualFunc without copies.
func by[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameRunning(a, b *RunningJob) bool {
	return a.Job == b.Job && a.End.Equal(b.End) && a.CPUs == b.CPUs && a.Mem == b.Mem && a.Stake == b.Stake && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.GRES, b.GRES)
}

func sameWaiting(a, b *WaitingJob) bool {
	return a.Job == b.Job && a.Ours == b.Ours && a.Idle == b.Idle && a.Whole == b.Whole && a.Nice == b.Nice && a.Start.Equal(b.Start) && a.Submit.Equal(b.Submit) && a.Nodes == b.Nodes && a.CPUs == b.CPUs && a.Stake == b.Stake && slices.Equal(a.GRES, b.GRES)
}

func sameNode(a, b *Node) bool {
	return a.Name == b.Name && a.Reason == b.Reason && a.Unconfirmed == b.Unconfirmed && a.Suspect == b.Suspect && a.BadPart == b.BadPart && a.CPUs == b.CPUs && a.Mem == b.Mem && a.TmpDisk == b.TmpDisk && a.CPUsUsed == b.CPUsUsed && a.MemUsed == b.MemUsed &&
		a.Sockets == b.Sockets && a.Cores == b.Cores && a.Threads == b.Threads && slices.Equal(a.State, b.State) && slices.Equal(a.GRES, b.GRES) &&
		slices.Equal(a.Features, b.Features) && slices.Equal(a.Partitions, b.Partitions) && sameInfo(a.Info, b.Info) && a.Rented.Same(b.Rented)
}

func sameTree(a, b *topology.Tree) bool { return a == b || a != nil && b != nil && a.Same(*b) }

func samePointed[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// Same reports whether two nodes are rented alike, or not at all.
func (r *Rented) Same(s *Rented) bool {
	if r == s || r == nil || s == nil {
		return r == s
	}
	a, b := *r, *s
	a.Refused, b.Refused, a.Until, b.Until = nil, nil, time.Time{}, time.Time{}
	return a == b && r.Until.Equal(s.Until) && samePointed(r.Refused, s.Refused)
}

func sameInfo(a, b *NodeInfo) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.Hostname == b.Hostname && a.Place == b.Place && a.Address == b.Address && a.Port == b.Port && a.Version == b.Version && a.Architecture == b.Architecture && a.System == b.System &&
		a.CPULoad == b.CPULoad && a.FreeMem == b.FreeMem && a.Weight == b.Weight && slices.Equal(a.Features, b.Features) &&
		a.GRES == b.GRES && a.GRESUsed == b.GRESUsed && a.Comment == b.Comment && a.Extra == b.Extra && a.Reservation == b.Reservation &&
		a.ReasonUser == b.ReasonUser && a.ReasonAt.Equal(b.ReasonAt) && a.Booted.Equal(b.Booted) && a.Started.Equal(b.Started) && a.LastBusy.Equal(b.LastBusy)
}

func samePartition(a, b *Partition) bool {
	return a.Topology == b.Topology && sameTree(a.Tree, b.Tree) && a.Name == b.Name && a.Default == b.Default && a.Up == b.Up && a.State == b.State && a.MaxTime == b.MaxTime && a.DefaultTime == b.DefaultTime &&
		a.MinNodes == b.MinNodes && a.MaxNodes == b.MaxNodes && a.RootOnly == b.RootOnly && a.QOS == b.QOS && a.DefMemPerCPU == b.DefMemPerCPU && a.DefMemPerNode == b.DefMemPerNode &&
		a.PriorityTier == b.PriorityTier && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.AllowAccounts, b.AllowAccounts) && slices.Equal(a.DenyAccounts, b.DenyAccounts) &&
		slices.Equal(a.AllowQOS, b.AllowQOS) && samePointed(a.MaxStarts, b.MaxStarts) && slices.Equal(a.Allowances, b.Allowances) && samePointed(a.Info, b.Info)
}

func sameReservation(a, b *Reservation) bool {
	return a.Name == b.Name && a.Maint == b.Maint && a.Start.Equal(b.Start) && a.End.Equal(b.End) && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Users, b.Users) &&
		slices.Equal(a.Accounts, b.Accounts) && a.For == b.For
}

func sameAccount(a, b *Account) bool {
	return a.Name == b.Name && a.Parent == b.Parent && a.ID == b.ID && a.DefaultQOS == b.DefaultQOS && a.Shares == b.Shares && slices.Equal(a.QOS, b.QOS)
}

func sameAssociation(a, b *Association) bool {
	return a.Account == b.Account && a.Partition == b.Partition && a.Default == b.Default && a.ID == b.ID && a.DefaultQOS == b.DefaultQOS && a.Shares == b.Shares &&
		slices.Equal(a.QOS, b.QOS)
}
