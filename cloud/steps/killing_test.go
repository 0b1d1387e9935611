package steps

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestKeepKilling: what a task leaves behind is killed again as long as it is there, and nothing is killed after that.
func TestKeepKilling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kills, over, ended := 0, make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			keepKilling(func() {
				if kills++; kills == 3 { // the first two have missed something
					close(over)
				}
			}, over)
		}()
		<-ended
		time.Sleep(10 * dying)
		if kills != 3 {
			t.Errorf("it was killed %d times", kills)
		}
	})
}
