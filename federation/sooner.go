package federation

import "time"

// Sooner is something that would have a waiting job start sooner than it will as things are.
type Sooner struct {
	Change string        `json:"change"` // in words: "without --switches"
	Site   SiteName      `json:"site"`
	Pool   string        `json:"pool"`
	Start  time.Time     `json:"start"`
	Wait   time.Duration `json:"wait"`
	Total  Dollars       `json:"total"`
	More   Dollars       `json:"more,omitempty"` // that the run costs more than where it would run now; 0: not worked out
}
