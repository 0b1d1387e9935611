package commands

import (
	"slices"

	"fsub/cmd/internal/login"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/sacct"
	"fsub/cmd/internal/sacctmgr"
	"fsub/cmd/internal/salloc"
	"fsub/cmd/internal/scancel"
	"fsub/cmd/internal/scontrol"
	"fsub/cmd/internal/sdiag"
	"fsub/cmd/internal/seff"
	"fsub/cmd/internal/sinfo"
	"fsub/cmd/internal/sprio"
	"fsub/cmd/internal/squeue"
	"fsub/cmd/internal/sreport"
	"fsub/cmd/internal/srun"
	"fsub/cmd/internal/sshare"
	"fsub/cmd/internal/submit"
)

// Shims are all names of Slurm's that fsub is a command by, in the order in which they are linked.
func Shims() []string { return slices.Concat(Names, refusal.Names) }

// About describes fsub, fsub login, or a command of Shims: its help, its manual page and its completion are made of that.
func About(name string) option.About {
	switch name {
	case "fsub":
		return submit.AboutFsub()
	case "fsub login":
		return login.About()
	case "sbatch":
		return submit.About()
	case "squeue":
		return squeue.About()
	case "scancel":
		return scancel.About()
	case "sacct":
		return sacct.About()
	case "sinfo":
		return sinfo.About()
	case "scontrol":
		return scontrol.About()
	case "sacctmgr":
		return sacctmgr.About()
	case "sshare":
		return sshare.About()
	case "sprio":
		return sprio.About()
	case "sstat":
		return sacct.AboutStat()
	case "seff":
		return seff.About()
	case "sreport":
		return sreport.About()
	case "sdiag":
		return sdiag.About()
	case "srun":
		return srun.About()
	case "salloc":
		return salloc.About()
	case "sbcast":
		return srun.AboutSbcast()
	}
	return refusal.About(name)
}
