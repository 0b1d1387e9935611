package fairtree

import (
	"cmp"
	"math"
	"math/bits"
)

// extended is a number that is not negative, with the 64 bits of x86's long double, in which slurmctld compares level fair-shares: float64 would
// make ties of some that are none there. It is mant * 2^exp, with the highest bit of mant set but in 0.
type extended struct {
	mant uint64
	exp  int32
}

var (
	infinite = extended{1 << 63, math.MaxInt32}
	noVal    = extendedOf(0xfffffffe) // Slurm's NO_VAL
)

func extendedOf(f float64) extended {
	if f == 0 {
		return extended{}
	}
	fraction, exp := math.Frexp(f)
	return extended{uint64(fraction*(1<<53)) << 11, int32(exp - 64)}
}

func (a extended) zero() bool { return a.mant == 0 }

func (a extended) compare(b extended) int {
	if a.zero() || b.zero() {
		return cmp.Compare(a.mant, b.mant)
	}
	return cmp.Or(cmp.Compare(a.exp, b.exp), cmp.Compare(a.mant, b.mant))
}

// by is a divided by b, rounded to nearest, halves to even. Neither is 0 or infinite.
func (a extended) by(b extended) extended {
	hi, lo, exp := a.mant, uint64(0), a.exp-b.exp-64
	if a.mant >= b.mant {
		hi, lo, exp = a.mant>>1, a.mant<<63, exp+1
	}
	q, rest := bits.Div64(hi, lo, b.mant)
	if more := b.mant - rest; rest > more || rest == more && q&1 == 1 {
		if q++; q == 0 {
			q, exp = 1<<63, exp+1
		}
	}
	return extended{q, exp}
}

func (a extended) float() float64 {
	if a == infinite {
		return math.Inf(1)
	}
	return math.Ldexp(float64(a.mant), int(a.exp))
}
