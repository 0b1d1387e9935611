// Package once holds the test that every job the daemon has acknowledged runs exactly once on real Slurm, while the
// daemon and the sites' controllers are killed and answers between them are lost.
//
// Between daemon and slurmrestd stands testbed/proxy, which loses requests and answers. A [Submission] is one job that
// was asked for, with what its script has written down of its runs; [Check] compares that with the daemon's books. The
// faults and their times are in the test.
//
// [TestCampaign] breaks everything at four sites, slurmrestd, slurmdbd, MariaDB, nodes and links too, under jobs of all kinds.
package once
