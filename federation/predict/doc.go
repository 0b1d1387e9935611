// Package predict foretells how long jobs run, and how long they wait at sites that others use too, from what jobs like them did before. A forecast is a p50, which half of the jobs do not reach, and a p90,
// which one in ten passes; it says how much history it stands on.
//
// A job belongs to groups, from narrow to wide: the user's jobs that run the same script, of the same name, of the same shape, of the same size, all of the
// user's on such nodes, and anybody's of that size and on such nodes. What ran on other nodes or devices says nothing of the p50, and nothing at all of a job if nothing has run on such
// nodes; else the p90 counts it too, for it tells how far runs spread. Each group takes n/(n+m) of the weight that narrower ones
// left, where n counts its latest runs, each weighing half as much as one that is h runs newer; the quantile is of all of them together. A share of the time limit is one more, of
// the weight of m runs, and the p90 of few runs is drawn to the limit. Runs that were cut short, and for the p90 those that go on, count as runs that lasted at least so
// long (Kaplan and Meier, 1958): else short runs, which are the first to report, would speak for all of their batch. A run that failed at once counts for nothing. The p90 also remembers one
// run of every few hours for longer than the latest: else a large batch of short runs would be all that is known. Its level is fixed: raised and lowered
// by how often runs have passed it lately, by user or over all, it cost more than it held. A job that runs is expected to take what those took that lasted longer than it has.
//
// The rule was chosen by replaying public traces of five clusters; see predict_test.go for what it comes to on those at hand.
//
// Of sites that others use too it foretells how long jobs wait there ([Queue]). The p50 is of the waits of those jobs that were most like the one in question and
// saw a queue most like the present one. The p90 is the largest of three: theirs; that of the jobs alike, those that wait still included; and a bound on that of
// all jobs of that size and partition. Where the queue is longer than it has almost ever been, no p90 holds, and the forecast says that it is unsure.
// wait_test.go has what that comes to on public traces.
package predict
