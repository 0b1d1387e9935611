// Package keeper starts the script of a run, keeps everything that descends from it together, and
// ends all of it.
//
// A [Keeper] is a process between the agent and the script. It adopts what the script leaves behind
// (PR_SET_CHILD_SUBREAPER), so that no process escapes by a session of its own or by its parent's
// death, also where there are no cgroups. When the agent dies the keeper sees the end of their
// socket, and kills all.
//
//	agent --fork--> keeper --fork, as the user--> stage --exec--> the script
//
// The stage is what the script's process is at first: it sets limits and umask, enters the
// directory, opens the files, all with the user's rights, and becomes the script. Keeper and stage
// are this same program under other names; they run before the packages that a daemon needs are
// initialised, in about a millisecond each.
//
// A program that imports this package can be a keeper: its init takes over if the program is called
// by that name.
package keeper

import "os"

// The names by which a program becomes a keeper or a stage.
const (
	keeperName = "fed-agent: keeper"
	stageName  = "fed-agent: stage"
)

// The open files of a keeper and of a stage.
const (
	configFD = 0 // a memory file with the Config
	eventFD  = 3 // a socket to the agent
	cgroupFD = 4 // the directory of the cgroup; only the keeper's, and only if Config.Cgroup
)

func init() {
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case keeperName:
		keep()
		os.Exit(0)
	case stageName:
		os.Exit(stage())
	}
}
