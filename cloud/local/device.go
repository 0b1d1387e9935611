package local

import "fmt"

// devices are the GPUs of the host: true for those that a machine has. There are none where GPUs are pretended.
type devices []bool

func newDevices(n int) devices { return make(devices, n) }

func (d devices) use(gpus []int) {
	for _, i := range gpus {
		if i < len(d) { // there may be fewer than there were
			d[i] = true
		}
	}
}

// have reports whether n are free.
func (d devices) have(n int) bool {
	for _, used := range d {
		if !used {
			n--
		}
	}
	return n <= 0 || len(d) == 0
}

// take takes n that are free; nil where GPUs are pretended.
func (d devices) take(n int) (gpus []int) {
	for i, used := range d {
		if !used && len(gpus) < n {
			d[i] = true
			gpus = append(gpus, i)
		}
	}
	return gpus
}

// checkDevices refuses shapes that want more GPUs together than this machine has, and bounds the
// number of machines by them.
func checkDevices(shapes []Shape, count int) error {
	if count == 0 {
		return nil
	}
	sum := 0
	for i := range shapes {
		s := &shapes[i]
		if s.GPUs == 0 {
			continue
		}
		if s.Max == 0 {
			s.Max = (count - sum) / s.GPUs
		}
		sum += max(s.Max, 1) * s.GPUs
		if sum > count {
			return fmt.Errorf("shape %s: %d machines with %d GPUs each are more than this machine has, which is %d", s.Type, max(s.Max, 1), s.GPUs, count)
		}
	}
	return nil
}
