package controller

import "time"

// agenda is what the controller is to do soon though no time for it has come.
type agenda struct {
	plan     bool      // there is a cause to plan
	lastRead time.Time // of the store; zero: at once
}
