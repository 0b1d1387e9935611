// Package rented holds the promises about rented machines, tried with the real daemon as its users have it: fed serve and fsub as processes, machines that
// are rented through Amazon's SDK from a cloud that stands in for Amazon's (package ec2) and that really run their boot script and their agent.
//
//   - spot_test.go: 200 jobs that write checkpoints, under random interruptions: all finish, none runs twice at once.
//   - kept_test.go: jobs that keep their checkpoints (--keep) where no machine sees their files, under the same and without notice: none begins with a torn one.
//   - keptsize_test.go: a checkpoint of 10 GiB, in no more memory than a small one, and as fast as the disk.
//   - gang_test.go: a machine of a running gang is killed: the others are kept and one is replaced, or the job goes on without.
//   - slow_test.go: of a gang that goes in step one machine is slow: it is found, and no other.
//   - idle_test.go: a job that leaves its machine idle is told of, and then cancelled.
//   - kill_test.go: the daemon is killed before and after every call that it makes to the cloud: no machine is left over, no gang is there twice.
//   - refused_test.go: nothing in stock, no quota, no permission, too many calls: jobs wait with the reason, and the cloud is left in peace.
//   - secrets_test.go: where credentials and tokens must not be seen.
//   - driver_test.go: the conformance suite of sites, over the driver and the agent server in this process; lost_test.go: answers of the cloud that are lost.
//   - staged_test.go, logs_test.go: machines that see none of the users' files: results and output come home, a gigabyte of it byte for byte.
//   - user_test.go: what users do to jobs and get told, in Slurm's words.
package rented
