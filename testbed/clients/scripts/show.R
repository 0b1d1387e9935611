# What the scripts tell the test: which program of which version, and what of it was seen to work.
version <- function(name, number) cat("client", name, as.character(number), "\n")
shown <- function(what) cat("shown", what, "\n")

# command returns the lines of one of Slurm's commands.
command <- function(line) suppressWarnings(system(line, intern = TRUE))

until <- function(ok, what) {
    for (i in 1:1000) {
        if (isTRUE(any(ok()))) return(invisible())
        Sys.sleep(0.3)
    }
    stop("not within 300 s: ", what)
}
