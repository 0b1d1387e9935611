package jobenv

// Names are what the letters of a file name pattern stand for.
type Names struct {
	Job      uint32 // %j %J %A where there is no array
	ArrayJob uint32 // %A, %a; 0: no array's task
	Task     int    // %a
	JobName  string // %x
	User     string // %u
	Node     string // %N: short host name
	NodeID   int    // %n
	Step     string // %s and the second half of %J: "0", "batch"; "": none
	Rank     int    // %t
	Dir      string // what a relative name is relative to
}

// FileName expands a pattern of --output, --error or --input as slurmd does, and makes it absolute.
func FileName(pattern string, n Names) string { return pattern }
