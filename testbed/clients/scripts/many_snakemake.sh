#!/bin/sh
# many_snakemake.sh JOBS EXECUTOR: a workflow of many jobs by Snakemake. In each job a stand-in for Snakemake makes the output: Snakemake itself would take some seconds of CPU.
set -eu
mkdir bin out
cat >bin/python <<'P'
#!/bin/sh
while [ "$1" != --target-jobs ]; do shift; done
n=${2##*n=}
: >"out/${n%%[!0-9]*}"
P
chmod 755 bin/python
PATH="$PWD/bin:$PATH"
export PATH XDG_CACHE_HOME="$PWD/cache"

cat >Snakefile <<S
localrules: all
rule all:
    input: expand("out/{n}", n=range($1))
rule number:
    output: "out/{n}"
    shell: ": >{output}"
S
python3 -m snakemake --executor "$2" --jobs 1000 --latency-wait 60 --scheduler greedy --quiet all \
	--shared-fs-usage input-output persistence sources source-cache storage-local-copies \
	--default-resources mem_mb=100 runtime=5 slurm_account=physics slurm_partition=main >run.log 2>&1 || { tail -50 run.log; exit 1; }
