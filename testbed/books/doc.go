// Package books holds tests of the ledger over real sites of three releases of Slurm with slurmdbd: jobs of several users and accounts, submitted here and at the
// sites themselves, cancelled, requeued, suspended, failed, while daemons are killed; and then not a second of difference from sacct and sreport.
package books
