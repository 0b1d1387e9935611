package accounts

import (
	"slices"
	"testing"
)

// Each option that sites are told of has a place in their records; that of an account alone is not kept in its association.
func TestOptionsHavePlaces(t *testing.T) {
	for i := range Options {
		o := &Options[i]
		for _, kind := range o.Of {
			if about := o.Name == "Description" || o.Name == "Organization"; (o.Path(kind) != "") == (o.Local || about) {
				t.Errorf("%s of a %s: local %v, and in slurmrestd's records at %q", o.Name, kind, o.Local, o.Path(kind))
			}
		}
		if o.Limit != nil && o.Limit.Replaces != "" && !slices.ContainsFunc(Options, func(r Option) bool { return r.Name == o.Limit.Replaces }) {
			t.Errorf("%s replaces %s, which is no option", o.Name, o.Limit.Replaces)
		}
	}
}

// The reasons are Slurm's: job_reason_string of 24.11 has them, irregular as they are.
func TestReasonsOfLimits(t *testing.T) {
	of := func(option string) *Option {
		return &Options[slices.IndexFunc(Options, func(o Option) bool { return o.Name == option })]
	}
	for _, c := range []struct{ option, tres, assoc, qos string }{
		{"GrpTRES", "cpu", "AssocGrpCpuLimit", "QOSGrpCpuLimit"},
		{"GrpTRES", "mem", "AssocGrpMemLimit", "QOSGrpMemLimit"},
		{"GrpTRES", "node", "AssocGrpNodeLimit", "QOSGrpNodeLimit"},
		{"GrpTRES", "gres/gpu:h100", "AssocGrpGRES", "QOSGrpGRES"},
		{"GrpTRES", "license/matlab", "AssocGrpLic", "QOSGrpLic"},
		{"GrpTRES", "bb/x", "AssocGrpUnknown", "QOSGrpUnknown"},
		{"GrpTRESMins", "cpu", "AssocGrpCPUMinutesLimit", "QOSGrpCPUMinutesLimit"},
		{"GrpTRESMins", "mem", "AssocGrpMemMinutes", "QOSGrpMemMinutes"},
		{"BudgetTRESMins", "gres/gpu", "AssocGrpGRESMinutes", "QOSGrpGRESMinutes"},
		{"GrpTRESRunMins", "cpu", "AssocGrpCPURunMinutesLimit", "QOSGrpCPURunMinutesLimit"},
		{"GrpTRESRunMins", "node", "AssocGrpNodeRunMinutes", "QOSGrpNodeRunMinutes"},
		{"GrpWall", Wall, "AssocGrpWallLimit", "QOSGrpWallLimit"},
		{"GrpJobs", "", "AssocGrpJobsLimit", "QOSGrpJobsLimit"},
		{"MaxTRES", "cpu", "AssocMaxCpuPerJobLimit", "QOSMaxCpuPerJobLimit"},
		{"MaxTRES", "mem", "AssocMaxMemPerJob", "QOSMaxMemoryPerJob"},
		{"MaxTRES", "node", "AssocMaxNodePerJobLimit", "QOSMaxNodePerJobLimit"},
		{"MaxTRES", "energy", "AssocMaxEnergyPerJob", "QOSMaxEnergyPerJob"},
		{"MaxTRESMins", "cpu", "AssocMaxCpuMinutesPerJobLimit", "QOSMaxCpuMinutesPerJobLimit"},
		{"MaxTRESMins", "node", "AssocMaxNodeMinutesPerJob", "QOSMaxNodeMinutesPerJob"},
		{"MaxTRESPerUser", "cpu", "", "QOSMaxCpuPerUserLimit"},
		{"MaxTRESPerUser", "mem", "", "QOSMaxMemoryPerUser"},
		{"MaxTRESPerUser", "gres/gpu", "", "QOSMaxGRESPerUser"},
		{"MaxTRESPerAccount", "cpu", "", "MaxCpuPerAccount"},
		{"MaxTRESPerAccount", "mem", "", "MaxMemoryPerAccount"},
		{"MaxTRESPerAccount", "billing", "", "MaxBillingPerAccount"},
		{"Budget", "", "FedAccountBudget", "FedAccountBudget"},
	} {
		for kind, want := range map[Kind]string{Account: c.assoc, QOS: c.qos} {
			if got := (&Bound{Option: of(c.option), TRES: c.tres}).Reason(kind); want != "" && got != want {
				t.Errorf("%s %s of a %s: %s, want %s", c.option, c.tres, kind, got, want)
			}
		}
	}
}
