package hostlist

import (
	"strconv"
	"strings"
)

// Ranges writes numbers, which must rise, as Slurm writes task lists: "2-5,7".
func Ranges(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] <= numbers[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[i]))
		if numbers[j] > numbers[i] {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(numbers[j]))
		}
		i = j + 1
	}
	return b.String()
}
