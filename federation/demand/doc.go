// Package demand says what a job needs, whatever site it may run at: nodes, tasks, CPUs, memory, generic resources, features, topology and
// time. A [Demand] is read once from a [sbatch.Spec], and everybody else reads the Demand: placement, drivers, the layout of rented
// machines, listings.
//
// Equal demands are one value: as long as one of two jobs holds a Demand, [Of] gives the other one the same pointer if the key of their
// likeness is equal ([sbatch.Spec.Likeness]). So placement tells jobs apart by comparing pointers, and a million like jobs hold one Demand.
//
// A Demand follows from its Spec alone, and reading one costs less than decoding what would be stored of it: stores keep the Spec, and a
// job that is loaded has the Demand that this version reads in it.
//
// What depends on more than a Spec is not here: who the user is, what is left of an array, which sites see the job's directory. How
// nodes satisfy a demand is left to those who know nodes.
package demand
