// Package sbatch understands what sbatch understands: the options of the command line, the directives of a
// script and the SBATCH_* variables of the environment, by sbatch's own rules and in its own words. It turns
// them into a [Spec] (what is asked for) and a [Payload] (script, arguments, environment). One option table
// drives all three sources.
//
// Beside Slurm's options it reads what is asked of the federation itself (#FSUB lines, --fed-*
// options: [Fed]) and the options that plugins of sites add ([Plugin]). A submission follows one
// release of Slurm ([Following]); [Understand] follows any of [Releases] and says what was understood.
//
// It does no I/O of its own (files are read through what the caller passes in) and decides nothing that only a
// controller can decide.
package sbatch
