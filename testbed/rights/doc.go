// Package rights asks real Slurm sites for what their users must not have: by the users' own sbatch and scontrol, by a token of SlurmUser, and
// through the federation, which has such a token. What a user cannot have by his own commands he must not get through us.
package rights
