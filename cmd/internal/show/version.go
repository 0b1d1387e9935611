package show

// Version is what every command prints for --version: the Slurm version whose commands these are.
const Version = "slurm 24.11.5"
