package pmi

import (
	"fmt"
	"strconv"
)

// run2 speaks PMI-2 until its end.
func (k *client) run2() error {
	for {
		text, err := k.packet()
		if err != nil {
			return err
		}
		m := parsePacket(text)
		if m.name == "abort" {
			if m.get("isworld") != "FALSE" { // else it ends alone
				k.s.up.Abort()
			}
			return nil
		}
		fields, err := k.answer2(m)
		if err != nil {
			return err
		}
		if id := m.get("thrid"); id != "" { // of a program with threads: which of them asked
			fields = append([]string{"thrid", id}, fields...)
		}
		if err := k.sayPacket(m.name+"-response", fields...); err != nil || m.name == "finalize" {
			return err
		}
	}
}

// answer2 are the fields of the answer to a request.
func (k *client) answer2(m message) ([]string, error) {
	s := k.s
	switch m.name {
	case "fullinit":
		return []string{"rc", "0", "pmi-version", "2", "pmi-subversion", "0", "rank", strconv.Itoa(k.rank), "size", strconv.Itoa(s.step.Size), "appnum", noAppNum,
			"debugged", "FALSE", "pmiverbose", "FALSE"}, nil
	case "job-getid":
		return []string{"rc", "0", "jobid", s.step.ID}, nil
	case "info-getjobattr":
		switch key := m.get("key"); key {
		case "PMI_process_mapping":
			return found(s.step.Mapping, true), nil
		case "universeSize":
			return found(strconv.Itoa(s.step.Size), true), nil
		}
		return found("", false), nil
	case "info-putnodeattr":
		s.putNode(m.get("key"), m.get("value"))
		return []string{"rc", "0"}, nil
	case "info-getnodeattr":
		v, ok, err := k.getNode(m.get("key"), m.get("wait") == "TRUE")
		return found(v, ok), err
	case "kvs-put":
		return []string{"rc", rc(s.put(m.get("key"), m.get("value")))}, nil
	case "kvs-fence":
		return []string{"rc", "0"}, k.fence()
	case "kvs-get":
		return found(s.get(m.get("key"))), nil
	case "name-publish", "name-unpublish", "name-lookup":
		return k.name2(m)
	case "job-connect", "job-disconnect":
		return []string{"rc", "1", "errmsg", "steps cannot be joined"}, nil
	case "spawn":
		s.up.Complain("mpi/pmi2: " + noSpawn)
		return []string{"rc", "1", "errmsg", noSpawn}, nil
	case "finalize":
		return []string{"rc", "0"}, nil
	}
	return nil, fmt.Errorf("invalid pmi2 command received: '%s'", m.name)
}

// name2 answers requests of names.
func (k *client) name2(m message) ([]string, error) {
	what := map[string]byte{"name-publish": publishes, "name-unpublish": unpublishes, "name-lookup": looksUp}[m.name]
	a, err := k.name(what, m.get("name"), m.get("port"))
	switch {
	case err != nil:
		return nil, err
	case !a.ok:
		return []string{"rc", "1"}, nil
	case what == looksUp:
		return []string{"rc", "0", "value", a.port}, nil
	}
	return []string{"rc", "0"}, nil
}

func found(v string, ok bool) []string {
	if !ok {
		return []string{"rc", "0", "found", "FALSE"}
	}
	return []string{"rc", "0", "found", "TRUE", "value", v}
}
