"""Runs the jobs of a workflow by fsub. Ends are told by the client, not asked for."""

import concurrent.futures
import shlex
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, AsyncGenerator, Dict, List, Optional

import fsub_client
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    group: Optional[str] = field(
        default=None,
        metadata={"help": "Group of the workflow's jobs; not set: snakemake/ and a random name", "env_var": False, "required": False},
    )
    extra: Optional[str] = field(
        default=None,
        metadata={"help": "Options for all jobs, as one would type them for fsub", "env_var": False, "required": False},
    )


common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
    pass_group_args=True,
)

# Resources of rules that are options of sbatch, under the names that the executor for Slurm has for them, and others.
OPTIONS = {
    "slurm_account": "account",
    "slurm_partition": "partition",
    "qos": "qos",
    "constraint": "constraint",
    "nodes": "nodes",
    "tasks": "ntasks",
    "gres": "gres",
    "gpu": "gpus",
    "gpus": "gpus",
    "mem_mb_per_cpu": "mem_per_cpu",
}


class Executor(RemoteExecutor):
    def __post_init__(self) -> None:
        self.client = fsub_client.Client()
        settings = self.workflow.executor_settings or ExecutorSettings()
        self.group = settings.group or f"snakemake/{uuid.uuid4().hex[:12]}"
        self.extra = shlex.split(settings.extra or "")
        self.logs = Path(self.workflow.persistence.path, "fsub_logs").resolve()
        self.logger.info(f"Jobs of this workflow are in the group {self.group}")

    def additional_general_args(self) -> str:
        return "--executor local"

    def run_job(self, job: JobExecutorInterface) -> None:
        name = job.groupid if job.is_group() else job.rule.name
        log = self.logs / name
        log.mkdir(parents=True, exist_ok=True)
        script = f"#!/bin/sh\n{self.format_job_exec(job)}\n"
        try:
            made = self.client.submit(script, job_name=name, output=f"{log}/%j.log", group=self.group, **self._options(job))
        except fsub_client.FsubError as err:
            self.report_job_error(SubmittedJobInfo(job), msg=f"fsub: {err}")
            return
        info = SubmittedJobInfo(job, external_jobid=str(made.id), aux={"job": made, "log": log / f"{made.id}.log"})
        self.report_job_submission(info)
        made.add_done_callback(lambda _: self._ended(info))

    def _options(self, job: JobExecutorInterface) -> Dict[str, Any]:
        resources = job.resources
        options: Dict[str, Any] = {option: resources[r] for r, option in OPTIONS.items() if resources.get(r)}
        if "mem_per_cpu" not in options and resources.get("mem_mb"):
            options["mem"] = resources["mem_mb"]
        if resources.get("runtime"):
            options["time"] = resources["runtime"]  # minutes, as sbatch has it
        options["cpus_per_task"] = resources.get("cpus_per_task") or job.threads
        extra = resources.get("fsub_extra") or resources.get("slurm_extra") or ""
        options["arguments"] = self.extra + shlex.split(str(extra))
        return options

    def _ended(self, info: SubmittedJobInfo) -> None:
        """Called by the client's thread when a job has ended."""
        made: fsub_client.Job = info.aux["job"]
        try:
            made.result(0)
        except concurrent.futures.CancelledError:
            self.report_job_error(info, msg=f"fsub job {made.id} was cancelled")
        except fsub_client.FsubError as err:
            self.report_job_error(info, msg=str(err), aux_logs=[str(info.aux["log"])])
        else:
            self.report_job_success(info)

    async def check_active_jobs(self, active_jobs: List[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Nothing is asked: the client knows which jobs have ended."""
        for info in active_jobs:
            if not info.aux["job"].done():
                yield info

    def cancel_jobs(self, active_jobs: List[SubmittedJobInfo]) -> None:
        try:
            self.client.cancel([info.aux["job"] for info in active_jobs])
        except fsub_client.FsubError as err:
            raise WorkflowError(f"fsub: {err}") from err

    def shutdown(self) -> None:
        super().shutdown()
        self.client.close()
