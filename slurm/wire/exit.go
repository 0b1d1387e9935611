package wire

// ExitOf is a status of wait(2) as slurmrestd writes it.
func ExitOf(status int32) ExitCode {
	code, sig := int64(status>>8)&0xff, int64(status&0x7f)
	e := ExitCode{Status: Strings{"SUCCESS"}, ReturnCode: Num(code)}
	switch {
	case sig != 0:
		e.Status, e.Signal.ID, e.Signal.Name = Strings{"SIGNALED"}, Num(sig), signalName(sig)
	case code != 0:
		e.Status = Strings{"ERROR"}
	}
	return e
}

func signalName(n int64) string {
	return map[int64]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV",
		12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM"}[n]
}
