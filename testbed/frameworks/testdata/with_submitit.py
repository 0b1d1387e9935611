import socket

import submitit


def task(_):
    env = submitit.JobEnvironment()
    return env.global_rank, env.num_tasks, socket.gethostname()


executor = submitit.AutoExecutor(folder="log", cluster="slurm")
executor.update_parameters(nodes=2, tasks_per_node=2, timeout_min=5)
results = executor.submit(task, 0).results()
for rank, size, host in results:
    print(f"rank {rank} of {size} on {host}: sum {sum(r[0] + 1 for r in results)}")
executor.update_parameters(nodes=1, tasks_per_node=1, slurm_array_parallelism=2)
assert [j.result()[:2] for j in executor.map_array(task, range(3))] == [(0, 1)] * 3
