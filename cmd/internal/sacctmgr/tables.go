package sacctmgr

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/assoc"
	"fsub/federation/accounts"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// row is one line of any table: a name and, where the line is about one, an association.
type row struct {
	name    string // of the user, account, cluster or QOS
	account string // the user's default one
	admin   string
	tres    wire.TRES
	depth   int
	*v1.Association
}

type field = assoc.Field[row]

// limit is a limit of an association or a cluster. The federation does not see the sites' limits,
// and shows none.
func limit(name, header string, width int) field {
	return field{Name: name, Header: header, Width: width, Value: func(*row) string { return "" }}
}

func ofAssoc(of func(*v1.Association) string) func(*row) string {
	return func(r *row) string {
		if r.Association == nil {
			return ""
		}
		return of(r.Association)
	}
}

// withLimits adds the limits of a kind that sites keep, by all their names, behind the first fields.
func withLimits(kind accounts.Kind, first, then []field) []field {
	list := slices.Clone(first)
	for _, o := range accounts.AtSites(kind) {
		if o.Limit == nil {
			continue
		}
		width := len(o.Column())
		switch o.Limit.Measure {
		case accounts.Amount, accounts.Minutes, accounts.RunMinutes:
			if width = 13; strings.HasSuffix(o.Name, "Wall") {
				width = 11
			}
		}
		for _, name := range append([]string{o.Name}, o.Alias...) {
			list = append(list, limit(name, o.Column(), width))
		}
	}
	return append(list, then...)
}

// associationFields are those of an association, wherever they are shown.
var associationFields = withLimits(accounts.User, []field{
	{Name: "Cluster", Header: "Cluster", Width: 10, Value: ofAssoc(func(a *v1.Association) string { return a.Cluster })},
	{Name: "Account", Header: "Account", Width: 10, Value: account},
	{Name: "User", Header: "User", Width: 10, Value: ofAssoc(func(a *v1.Association) string { return a.User })},
	{Name: "Partition", Header: "Partition", Width: 10, Value: ofAssoc(func(a *v1.Association) string { return a.Partition })},
	{Name: "Share", Header: "Share", Width: 9, Value: ofAssoc(func(a *v1.Association) string { return strconv.FormatInt(a.Shares, 10) })},
	{Name: "Fairshare", Header: "Share", Width: 9, Value: ofAssoc(func(a *v1.Association) string { return strconv.FormatInt(a.Shares, 10) })},
	limit("Priority", "Priority", 10),
}, []field{
	limit("MaxTRESPerNode", "MaxTRESPerNode", 14),
	{Name: "QOS", Header: "QOS", Width: 20, Value: ofAssoc(func(a *v1.Association) string { return strings.Join(a.QOS, ",") })},
	{Name: "QOSLevel", Header: "QOS", Width: 20, Value: ofAssoc(func(a *v1.Association) string { return strings.Join(a.QOS, ",") })},
	{Name: "DefaultQOS", Header: "Def QOS", Width: 9, Value: ofAssoc(func(a *v1.Association) string { return a.DefaultQOS })},
	limit("GrpNodes", "GrpNodes", 8), limit("GrpCPUs", "GrpCPUs", 8), limit("GrpMem", "GrpMem", 7),
	limit("GrpCPUMins", "GrpCPUMins", 11), limit("MaxNodes", "MaxNodes", 8), limit("MaxCPUs", "MaxCPUs", 8), limit("MaxCPUMins", "MaxCPUMins", 11),
	{Name: "ID", Header: "ID", Width: 6, Value: ofAssoc(func(a *v1.Association) string { return assoc.ID(a.ID) })},
	{Name: "ParentName", Header: "ParentName", Width: 10, Value: ofAssoc(func(a *v1.Association) string { return a.ParentAccount })},
	limit("ParentID", "Par ID", 6), limit("Lineage", "Lineage", -20), limit("GrpJobsAccrue", "GrpJobsAccrue", 13), limit("MaxJobsAccrue", "MaxJobsAccrue", 13),
	limit("MaxTRESRunMins", "MaxTRESRunMins", 15), limit("MaxSubmitJobsPerUser", "MaxSubmitPU", 11), limit("MinPrioThreshold", "MinPrioThres", 12),
})

func account(r *row) string {
	if r.Association == nil {
		return ""
	}
	return strings.Repeat(" ", r.depth) + r.Association.Account
}

func name(r *row) string { return r.name }

var userFields = append([]field{
	{Name: "User", Header: "User", Width: 10, Value: name},
	{Name: "DefaultAccount", Header: "Def Acct", Width: 10, Value: func(r *row) string { return r.account }},
	{Name: "AdminLevel", Header: "Admin", Width: 9, Value: func(r *row) string { return r.admin }},
	limit("Coordinators", "Coord Accounts", 20), limit("DefaultWCKey", "Def WCKey", 10), limit("Name", "Name", 10),
}, without(associationFields, "User")...)

var accountFields = append([]field{
	{Name: "Account", Header: "Account", Width: 10, Value: name},
	// A site's API does not tell them; Slurm's own default is the account's name.
	{Name: "Description", Header: "Descr", Width: 20, Value: name},
	{Name: "Organization", Header: "Org", Width: 20, Value: name},
	limit("Coordinators", "Coord Accounts", 20), limit("Name", "Name", 10),
}, without(associationFields, "Account")...)

var clusterFields = append([]field{
	{Name: "Cluster", Header: "Cluster", Width: 10, Value: name},
	limit("ControlHost", "ControlHost", 15), limit("ControlPort", "ControlPort", 12), limit("RPC", "RPC", 5), limit("Classification", "Classification", 10),
	limit("ClusterNodes", "Cluster Nodes", 20), limit("Flags", "Flags", 20), limit("NodeCount", "NodeCount", 9), limit("NodeNames", "NodeName", 20), limit("Name", "Name", 10),
	limit("TRES", "TRES", 20), limit("Federation", "Federation", 10),
}, without(associationFields, "Cluster")...)

// fixed is a field of which every QOS has what Slurm gives a new one: the federation does not see what sites have set.
func fixed(name, header string, width int, value string) field {
	return field{Name: name, Header: header, Width: width, Value: func(*row) string { return value }}
}

// qosFields are those of a QOS, by all their names.
var qosFields = withLimits(accounts.QOS, []field{
	{Name: "Name", Header: "Name", Width: 10, Value: name},
	fixed("Priority", "Priority", 10, "0"), fixed("GraceTime", "GraceTime", 10, "00:00:00"), limit("Preempt", "Preempt", 10), limit("PreemptExemptTime", "PreemptExemptTime", 19),
	fixed("PreemptMode", "PreemptMode", 11, "cluster"), limit("Flags", "Flags", 20), limit("UsageThreshold", "UsageThres", 10), fixed("UsageFactor", "UsageFactor", 11, "1.000000"),
}, []field{
	limit("MaxTRESPerNode", "MaxTRESPerNode", 14), limit("MaxTRESRunMinsPA", "MaxTRESRunMinsPA", 22), limit("MaxTRESRunMinsPerAccount", "MaxTRESRunMinsPA", 22),
	limit("MaxTRESRunMinsPU", "MaxTRESRunMinsPU", 22), limit("MaxTRESRunMinsPerUser", "MaxTRESRunMinsPU", 22), limit("MaxSubmitJobs", "MaxSubmit", 9),
	limit("MinTRES", "MinTRES", 13), limit("MinTRESPerJob", "MinTRES", 13), limit("Description", "Descr", 20), limit("ID", "ID", 6), limit("LimitFactor", "LimitFactor", 11),
	limit("GrpJobsAccrue", "GrpJobsAccrue", 13), limit("MaxJobsAccruePA", "MaxJobsAccruePA", 15), limit("MaxJobsAccruePerAccount", "MaxJobsAccruePA", 15),
	limit("MaxJobsAccruePU", "MaxJobsAccruePU", 15), limit("MaxJobsAccruePerUser", "MaxJobsAccruePU", 15), limit("MinPrioThreshold", "MinPrioThres", 12),
})

var tresFields = []field{
	{Name: "Type", Header: "Type", Width: 8, Value: func(r *row) string { return r.tres.Type }},
	{Name: "Name", Header: "Name", Width: 15, Value: func(r *row) string { return r.tres.Name }},
	{Name: "ID", Header: "ID", Width: 6, Value: func(r *row) string { return strconv.FormatInt(r.tres.ID, 10) }},
}

func without(list []field, name string) []field {
	return slices.DeleteFunc(slices.Clone(list), func(f field) bool { return f.Name == name })
}

const (
	limitsOfUser = ",Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS"
	limitsOfAcct = ",Cluster,ParentName,User,Share,Priority,GrpJobs,GrpNodes,GrpCPUs,GrpMem,GrpSubmit,GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs," +
		"MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS"
)

// table makes the table of an entity.
func (q *query) table(entity string, known *v1.Associations) (string, error) {
	switch entity {
	case "users":
		return q.write("User,DefaultAccount,AdminLevel", limitsOfUser, userFields, q.userRows(known))
	case "accounts":
		return q.write("Account,Description,Organization", limitsOfAcct, accountFields, q.accountRows(known))
	case "clusters":
		return q.write("Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,MaxSubmit,MaxWall,QOS,DefaultQOS", "",
			clusterFields, q.clusterRows(known))
	case "qos":
		return q.write("Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,UsageThreshold,UsageFactor,GrpTRES,GrpTRESMins,"+
			"GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA,"+
			"MaxTRESRunMinsPA,MaxTRESRunMinsPU,MaxJobsPA,MaxSubmitPA,MinTRES", "",
			qosFields, q.qosRows(known))
	case "tres":
		return q.write("Type,Name%15,ID", "", tresFields, q.tresRows(known))
	}
	fields := associationFields
	if q.asTree {
		fields = slices.Clone(fields)
		fields[1].Width = -20
	}
	return q.write("Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,"+
		"MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins", "", fields, q.associationRows(known))
}

// write writes rows in the fields that are asked for, else in the usual ones; more are added withassoc.
func (q *query) write(usual, more string, fields []field, rows []row) (string, error) {
	list := q.format
	if strings.Trim(list, ",") == "" {
		if list = usual; q.withAssoc {
			list += more
		}
	}
	columns, unknown := assoc.Columns(list, fields)
	if unknown != "" {
		return "", fmt.Errorf("Unknown field '%s'", strings.ToLower(unknown))
	}
	return assoc.Format(q.style, columns, rows), nil
}
