package federation

import "time"

// Start is when and where a job that waits is expected to start, as things are.
type Start struct {
	Site   SiteName  `json:"site"`
	At     time.Time `json:"start"`            // p50
	Within time.Time `json:"within,omitzero"`  // p90; zero: not known
	Of     string    `json:"of"`               // what it was foretold from
	Unsure string    `json:"unsure,omitempty"` // why the p90 may not hold
	Total  Dollars   `json:"total"`            // what it would come to, with what its waiting is worth
	Price  Dollars   `json:"price"`            // of that, what is paid: see [Offer.Price]
}

// Starts are those that are known. Of an array it is that of the first task which waits.
type Starts map[JobID]Start
