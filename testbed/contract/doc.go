// Package contract holds what a job finds when it runs to what it would find had the site's own sbatch taken it: environment, arguments,
// working directory, umask, limits, open files, names of output files, and the environment of its steps.
//
// Its tests submit each call twice, by real sbatch within a site and by our sbatch in the login bound to the same site. The script is
// the same one, and writes down what it sees. What the two wrote is compared field by field; the few that must differ are listed with
// the reason, and even of those the form is compared. What scontrol says of such pairs of jobs is compared in testbed/drivertest.
package contract
