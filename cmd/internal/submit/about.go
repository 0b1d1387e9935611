package submit

import (
	"fsub/cmd/internal/option"
	"fsub/sbatch"
	"fsub/sbatch/getopt"
)

// About describes sbatch.
func About() option.About {
	a := option.About{Name: "sbatch", Does: "submit a batch script to the federation",
		Usage: []string{"sbatch [OPTIONS...] script [args...]", "sbatch [OPTIONS...] --wrap=command", "sbatch [OPTIONS...] < script"},
		Text: "Submits a batch script under the rules of Slurm's sbatch: #SBATCH lines, variables, exit codes and messages are the same. The federation " +
			"chooses the site, and the number that is printed is the job's number everywhere."}
	groups, refused := sbatch.Described()
	a.Groups = groups
	for _, name := range refused {
		a.Refused = append(a.Refused, "--"+name)
	}
	return a
}

// AboutFsub describes fsub, which is sbatch and some words more.
func AboutFsub() option.About {
	a := About()
	a.Name, a.Does = "fsub", "submit a batch script to whichever site suits it"
	a.Usage = []string{"fsub [OPTIONS...] script [args...]", "fsub [OPTIONS...] --wrap=command", "fsub [OPTIONS...] < script",
		"fsub login [OPTIONS]", "fsub logout"}
	a.Text = "Submits a batch script under the rules of Slurm's sbatch. The federation chooses the site, and the number that is printed is the job's number " +
		"everywhere. Options come from the command line, from variables, and from #SBATCH lines of the script; those of the federation from #FSUB lines, " +
		"where fed- may be left out."
	a.Words = []getopt.Group{{Title: "Commands", Options: []getopt.Described{
		{Value: "login", Help: "sign in on a machine that is not the daemon's; see fsub login --help"},
		{Value: "logout", Help: "sign out"},
	}}}
	a.Groups = append(a.Groups[:len(a.Groups):len(a.Groups)], getopt.Group{Title: "Options of fsub", Options: []getopt.Described{
		{Option: getopt.Option{Name: "fed-version"}, Help: "name the build of fsub; it stands alone"},
	}})
	return a
}
