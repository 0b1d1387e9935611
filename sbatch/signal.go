package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// signals that --signal knows by name, by number.
var signals = [...]string{1: "HUP", 2: "INT", 3: "QUIT", 6: "ABRT", 9: "KILL", 10: "USR1", 12: "USR2", 13: "PIPE", 14: "ALRM",
	15: "TERM", 17: "CHLD", 18: "CONT", 19: "STOP", 20: "TSTP", 21: "TTIN", 22: "TTOU", 23: "URG", 24: "XCPU"}

// setSignal takes [R][B][:]SIG[@SECONDS], in any case, by name or number. R and B of an earlier --signal stay.
func setSignal(p *parser, o *option, v string) error {
	s := Signal{Before: time.Minute}
	name, before, timed := strings.Cut(v, "@")
	flags, sig, flagged := strings.Cut(name, ":")
	if !flagged {
		// The letters may stand before the name without a colon.
		sig = name
		if _, known := signalNumber(sig); !known {
			sig = strings.TrimLeft(name, "BbRr")
			flags = name[:len(name)-len(sig)]
		} else {
			flags = ""
		}
	}
	for _, f := range strings.ToUpper(flags) {
		switch {
		case f == 'B' && !s.BatchOnly:
			s.BatchOnly = true
		case f == 'R' && !s.Reservation:
			s.Reservation = true
		default:
			return o.invalid()
		}
	}
	if earlier := p.req.Spec.Signal; earlier != nil {
		s.BatchOnly = s.BatchOnly || earlier.BatchOnly
		s.Reservation = s.Reservation || earlier.Reservation
	}
	n, ok := signalNumber(sig)
	if !ok {
		return o.invalid()
	}
	if s.Name = strconv.Itoa(n); n < len(signals) && signals[n] != "" {
		s.Name = signals[n]
	}
	if timed {
		secs, rest, _ := number(before)
		if rest != "" || secs < 0 || secs > 65535 {
			return o.invalid()
		}
		s.Before = time.Duration(secs) * time.Second
	}
	p.req.Spec.Signal = &s
	return nil
}

func signalNumber(s string) (int, bool) {
	if n, rest, ok := number(s); ok && rest == "" {
		n := uint16(n) // a number is 16 bits in Slurm
		return int(n), n != 0
	}
	s = strings.TrimPrefix(strings.ToUpper(strings.Trim(s, " \t")), "SIG")
	for n, name := range signals {
		if name == s && s != "" {
			return n, true
		}
	}
	return 0, false
}
