package golden

import "slices"

// pending are lines of commands that are being built, each list in a file of its own, so that whoever builds a command can take its
// lines out as they become equal (the test says which are no longer pending). All three are empty when the commands are done.
var pending = slices.Concat(pendingScontrol, pendingAccounts, pendingListing)
