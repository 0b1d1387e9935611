#!/bin/sh
# ReFrame: its own idea of nodes from "scontrol show nodes", jobs followed by sacct with epoch times, dependencies between tests.
set -eu
. "$(dirname "$0")/show.sh"
version reframe "$(reframe --version)"
cat >conf.py <<'P'
site_configuration = {
    'systems': [{
        'name': 'bed', 'hostnames': ['.*'], 'modules_system': 'nomod',
        'partitions': [{'name': 'main', 'scheduler': 'slurm', 'launcher': 'srun', 'access': ['--partition=main'],
                        'environs': ['none'], 'max_jobs': 4, 'time_limit': '5m'}]}],
    'environments': [{'name': 'none', 'cc': '', 'cxx': '', 'ftn': ''}],
}
P
cat >tests.py <<'P'
import os
import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.udeps as udeps


class Base(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']


@rfm.simple_test
class Hello(Base):
    executable = 'hostname'
    num_tasks = 2
    num_tasks_per_node = 1
    tags = {'good'}

    @sanity_function
    def two(self):
        return sn.assert_eq(sn.count(sn.findall(r'(?m)^\S+$', self.stdout)), 2)


@rfm.simple_test
class After(Base):
    executable = 'true'
    tags = {'good'}

    @run_after('init')
    def wait_for_hello(self):
        self.depends_on('Hello', udeps.fully)

    @sanity_function
    def ok(self):
        return sn.assert_eq(self.job.exitcode, 0)


@rfm.simple_test
class Flexible(Base):
    executable = 'hostname'
    num_tasks = 0
    num_tasks_per_node = 1
    tags = {'good'}

    @sanity_function
    def some(self):
        return sn.assert_gt(sn.count(sn.findall(r'(?m)^\S+$', self.stdout)), 0)


@rfm.simple_test
class Bad(Base):
    executable = 'sh -c "exit 3"'
    tags = {'bad'}

    @sanity_function
    def ok(self):
        return sn.assert_eq(self.job.exitcode, 0)


@rfm.simple_test
class Slow(Base):
    executable = 'sleep 600'
    time_limit = '10m'
    tags = {'slow'}

    @sanity_function
    def ok(self):
        return True
P
run() { env --default-signal=INT reframe -C conf.py -c tests.py --nocolor "$@"; }
run -t good -r --flex-alloc-nodes=2 >good.log 2>&1 || { cat good.log; exit 1; }
grep -q 'PASSED.* Ran 3/3' good.log
shown submit
shown poll
shown depend
if run -t bad -r >bad.log 2>&1; then
	echo "a test that fails went unnoticed"
	exit 1
fi
grep -q 'FAILED.* Ran 1/1' bad.log
shown fail
run -t slow -r >slow.log 2>&1 &
runs() { [ "$(squeue -h --me -o %T)" = RUNNING ]; }
until_true "slow runs" runs
until_true "its job was cancelled" interrupted $!
shown cancel
