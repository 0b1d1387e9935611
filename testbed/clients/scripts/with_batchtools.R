# batchtools: a template per job or array, "squeue --states" for what is queued and what runs, results by files.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "show.R"))
suppressMessages(library(batchtools))
base::options(batchtools.progress = FALSE, batchtools.verbose = FALSE)
version("batchtools", packageVersion("batchtools"))

template <- '#!/bin/sh
#SBATCH --job-name=<%= job.name %>
#SBATCH --output=<%= log.file %>
#SBATCH --time=5 --mem=200M --ntasks=1
<%= if (array.jobs) sprintf("#SBATCH --array=1-%i", nrow(jobs)) else "" %>
export RHOME=<%= Sys.getenv("RHOME") %>
<%= Sys.which("Rscript") %> -e \'batchtools::doJobCollection("<%= uri %>")\'
'
writeLines(template, "slurm.tmpl")
registry <- makeRegistry("registry", conf.file = NA)
registry$cluster.functions <- makeClusterFunctionsSlurm("slurm.tmpl", array.jobs = TRUE)
ids <- batchMap(function(x) { if (x == 99) stop("on purpose"); if (x == 100) Sys.sleep(600); x^2 }, x = c(1:5, 99, 100))

submitJobs(1)
shown("submit")
stopifnot(waitForJobs(1, sleep = 1), loadResult(1) == 1)
shown("poll")
chunked <- data.frame(job.id = 2:5, chunk = 1)
submitJobs(chunked, resources = list(chunks.as.arrayjobs = TRUE))
stopifnot(waitForJobs(2:5, sleep = 1), identical(unlist(reduceResultsList(2:5)), c(4, 9, 16, 25)))
stopifnot(length(unique(sub("_.*", "", getJobTable(2:5)$batch.id))) == 1)
shown("array")
submitJobs(6)
stopifnot(!waitForJobs(6, sleep = 1, stop.on.error = FALSE), nrow(findErrors()) == 1)
shown("fail")
submitJobs(7)
until(function() nrow(findRunning()) == 1, "it runs")
killJobs(7)
until(function() nrow(findOnSystem()) == 0, "it is cancelled")
shown("cancel")
