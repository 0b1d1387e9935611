"""An executor of PSI/J whose jobs are fsub's.

A job's states come by the daemon's log of changes. What PSI/J asks for becomes sbatch's options; the launcher's command is the job's script."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, Dict, List, Optional

import fsub_client
from psij import Job, JobExecutor, JobExecutorConfig, JobSpec, JobState, JobStatus, Launcher, ResourceSpecV1, SubmitException
from psij.exceptions import InvalidJobException

STATES = {
    "PENDING": JobState.QUEUED,
    "CONFIGURING": JobState.QUEUED,
    "RUNNING": JobState.ACTIVE,
    "SUSPENDED": JobState.ACTIVE,
    "COMPLETING": JobState.ACTIVE,
    "COMPLETED": JobState.COMPLETED,
    "CANCELLED": JobState.CANCELED,
}  # all others are failures

# The nodes of the job, each once for each of its processes, as PSI/J's own executors have them.
NODEFILE = """export PSIJ_NODEFILE="$(mktemp)"
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST" 2>/dev/null || hostname); do
  for _ in $(seq {ppn}); do echo "$node"; done
done >"$PSIJ_NODEFILE"
"""


class FsubJobExecutor(JobExecutor):
    """Submits to the federation that the environment names, or that `url` does: HOST:PORT#FINGERPRINT, or the path of a socket."""

    def __init__(self, url: Optional[str] = None, config: Optional[JobExecutorConfig] = None) -> None:
        super().__init__(url=url, config=config or JobExecutorConfig())
        where: Dict[str, Any] = {} if url is None else {"socket": url} if url.startswith("/") else {"server": url}
        self.client = fsub_client.Client(**where)

    def submit(self, job: Job) -> None:
        """See JobExecutor.submit."""
        spec = self._check_job(job)
        try:
            made = self.client.submit(self._script(job, spec), key=f"psij-{job.id}", **self._options(job, spec))
        except fsub_client.Refused as err:
            raise InvalidJobException(str(err)) from err
        except fsub_client.FsubError as err:
            raise SubmitException(str(err)) from err
        self._follow(job, made)

    def attach(self, job: Job, native_id: str) -> None:
        """See JobExecutor.attach."""
        if job.status.state != JobState.NEW:
            raise InvalidJobException("Job must be in the NEW state")
        job.executor = self
        try:
            self._follow(job, self.client.job(native_id))
        except (fsub_client.FsubError, ValueError) as err:
            raise SubmitException(str(err)) from err

    def cancel(self, job: Job) -> None:
        """See JobExecutor.cancel."""
        if job.native_id is None:
            raise SubmitException("Job does not have a native ID.")
        if job.status.state.final:
            return
        try:
            (error,) = self.client.cancel([int(job.native_id)])
        except fsub_client.FsubError as err:
            raise SubmitException(str(err)) from err
        if error is not None and not self.client.job(job.native_id).done():
            raise SubmitException(str(error))

    def list(self) -> List[str]:
        """See JobExecutor.list."""
        try:
            user = self.client.http.get("/fed/v1/caller")["user"]
            return [str(line.job_id) for line in self.client.jobs(f"user={user}", fields="job_id")]
        except fsub_client.FsubError as err:
            raise SubmitException(str(err)) from err

    def _follow(self, job: Job, made: fsub_client.Job) -> None:
        job._native_id = made.id

        def tell(changed: fsub_client.Job) -> None:
            status = self._status(changed)
            if status.state == job.status.state or job.status.final:
                return
            if changed.started and status.state.final and job.status.state != JobState.ACTIVE:  # PSI/J does that itself before COMPLETED alone
                self._set_job_status(job, JobStatus(JobState.ACTIVE, metadata=status.metadata))
            self._set_job_status(job, status)

        made.add_change_callback(tell)

    @staticmethod
    def _status(made: fsub_client.Job) -> JobStatus:
        state, end = STATES.get(made.state, JobState.FAILED), made.end
        message = None
        if state == JobState.FAILED:
            message = made.state + (f" ({made.reason})" if made.reason not in ("", "None") else "")
        code = None
        if end is not None and state in (JobState.COMPLETED, JobState.FAILED):
            code = end.exit_code or (128 + end.signal if end.signal else 0)
        return JobStatus(state, message=message, exit_code=code, metadata={"native_id": str(made.id), "site": made.site, "state": made.state})

    def _script(self, job: Job, spec: JobSpec) -> str:
        launcher = self._get_launcher(spec.launcher or Launcher.DEFAULT_LAUNCHER_NAME)
        lines = [f"export {name}={shlex.quote(str(value))}\n" for name, value in (spec.environment or {}).items()]
        resources = spec.resources
        ppn = resources.computed_processes_per_node if isinstance(resources, ResourceSpecV1) else 1
        command = " ".join(shlex.quote(word) for word in launcher.get_launch_command(job))
        return "#!/bin/bash\n" + "".join(lines) + NODEFILE.format(ppn=ppn) + command + "\ncode=$?\nrm -f \"$PSIJ_NODEFILE\"\nexit $code\n"

    @staticmethod
    def _options(job: Job, spec: JobSpec) -> Dict[str, Any]:
        options: Dict[str, Any] = {
            "job_name": spec.name or "psij",
            "chdir": str(spec.directory) if spec.directory else None,
            "export": "ALL" if spec.inherit_environment else "NONE",
            "output": "/dev/null",
            "open_mode": "append",
        }
        r = spec.resources
        if isinstance(r, ResourceSpecV1):
            options.update(
                nodes=r.computed_node_count,
                ntasks=r.computed_process_count,
                ntasks_per_node=r.computed_processes_per_node,
                cpus_per_task=r.cpu_cores_per_process,
                gpus_per_task=r.gpu_cores_per_process,
                exclusive=bool(r.exclusive_node_use),
                mem=f"{r.memory_kb}K" if r.memory_kb else None,
            )
        a = spec.attributes
        if a is not None:
            options.update(time=a.duration, partition=a.queue_name, account=a.account, reservation=a.reservation_id)
            for name, value in (a.custom_attributes or {}).items():
                home, _, option = name.partition(".")
                if home in ("fsub", "slurm") and option:
                    options[option.replace("-", "_")] = value
        return options
