package pmi

import (
	"fmt"
	"strconv"
	"strings"
)

// run1 speaks PMI-1 until its end.
func (k *client) run1() error {
	for {
		line, err := k.line()
		if err != nil {
			return err
		}
		m := parseLine(line)
		if m.multi {
			for line != "endcmd" { // what would be started is of no interest
				if line, err = k.line(); err != nil {
					return err
				}
			}
		}
		if m.name == "abort" {
			k.s.up.Abort()
			return nil
		}
		if err := k.answer1(m); err != nil {
			return err
		}
		if m.name == "finalize" {
			return nil
		}
	}
}

// answer1 answers one request.
func (k *client) answer1(m message) error {
	s := k.s
	switch m.name {
	case "get_maxes":
		return k.sayLine("maxes", "rc", "0", "kvsname_max", strconv.Itoa(maxName), "keylen_max", strconv.Itoa(maxKey), "vallen_max", strconv.Itoa(maxValue))
	case "get_appnum":
		return k.sayLine("appnum", "rc", "0", "appnum", noAppNum)
	case "get_my_kvsname":
		return k.sayLine("my_kvsname", "rc", "0", "kvsname", s.step.ID)
	case "get_universe_size":
		return k.sayLine("universe_size", "rc", "0", "size", strconv.Itoa(s.step.Size))
	case "put":
		return k.sayLine("put_result", "rc", rc(s.put(m.get("key"), m.get("value"))))
	case "get":
		if v, ok := s.get(m.get("key")); ok {
			return k.sayLine("get_result", "rc", "0", "value", v)
		}
		return k.sayLine("get_result", "rc", "1")
	case "barrier_in":
		if err := k.fence(); err != nil {
			return err
		}
		return k.sayLine("barrier_out", "rc", "0")
	case "publish_name", "unpublish_name", "lookup_name":
		return k.name1(m)
	case "spawn":
		s.up.Complain("mpi/pmi2: " + noSpawn)
		return k.sayLine("spawn_result", "rc", "1")
	case "finalize":
		return k.sayLine("finalize_ack", "rc", "0")
	}
	return fmt.Errorf("invalid pmi1 command received: '%s'", m.name)
}

// name1 answers requests of names. Slurm says info= alone; newer clients look for rc=.
func (k *client) name1(m message) error {
	verb, _, _ := strings.Cut(m.name, "_")
	what := map[string]byte{"publish": publishes, "unpublish": unpublishes, "lookup": looksUp}[verb]
	a, err := k.name(what, m.get("service"), m.get("port"))
	switch {
	case err != nil:
		return err
	case !a.ok:
		return k.sayLine(verb+"_result", "info", "fail", "rc", "1")
	case what == looksUp:
		return k.sayLine(verb+"_result", "info", "ok", "rc", "0", "port", a.port)
	}
	return k.sayLine(verb+"_result", "info", "ok", "rc", "0")
}

// noAppNum: the step is not one of several that started as one (srun A : B has one number of its own for all).
const noAppNum = "-1"

// noSpawn: Slurm's plugin starts another srun for that, on nodes that the job must have idle.
const noSpawn = "MPI_Comm_spawn is not possible in a step on rented nodes; start such a program with mpirun"

func rc(ok bool) string {
	if ok {
		return "0"
	}
	return "1"
}
