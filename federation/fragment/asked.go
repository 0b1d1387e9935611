package fragment

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// sizes is how many sizes of jobs are told apart: powers of two of GPUs, up to half a million.
const sizes = 20

// halfLife is after how long a job weighs half as much in what has been asked for.
const halfLife = 24 * time.Hour

// Shares are the weights of jobs by size, those of the i-th up to 2^i GPUs. Together they are 1.
type Shares [sizes]float64

// Even are the shares where nothing is known: jobs of 8, 64 and 512 GPUs alike.
func Even() (s Shares) {
	s[3], s[6], s[9] = 1./3, 1./3, 1./3
	return s
}

// Asked is what has been asked for lately: GPUs by the size of the job that asked for them. It is safe for concurrent
// use; the zero value has seen nothing.
type Asked struct {
	mu  sync.Mutex
	at  time.Time
	gpu Shares // not divided
}

// Add takes in some jobs that were submitted then, each for so many GPUs.
func (a *Asked) Add(submitted time.Time, gpus, jobs int) {
	if gpus <= 0 || jobs <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if submitted.After(a.at) {
		older := decay(submitted.Sub(a.at))
		for i := range a.gpu {
			a.gpu[i] *= older
		}
		a.at = submitted
	}
	a.gpu[min(bits.Len(uint(gpus-1)), sizes-1)] += float64(gpus) * float64(jobs) * decay(a.at.Sub(submitted))
}

func decay(d time.Duration) float64 { return math.Exp2(-float64(d) / float64(halfLife)) }

// Shares are the weights of what has been asked for; [Even] if that is nothing.
func (a *Asked) Shares() Shares {
	a.mu.Lock()
	s := a.gpu
	a.mu.Unlock()
	sum := 0.
	for _, x := range s {
		sum += x
	}
	if sum <= 0 {
		return Even()
	}
	for i := range s {
		s[i] /= sum
	}
	return s
}
