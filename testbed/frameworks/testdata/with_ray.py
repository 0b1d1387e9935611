import os
import socket
import time

import ray

ray.init(address=os.environ["ip_head"])
while ray.cluster_resources().get("CPU", 0) < 4:
    time.sleep(0.5)


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def where():
    time.sleep(5)  # so that nobody does two of them
    return socket.gethostname()


hosts = ray.get([where.remote() for _ in range(4)])
for rank, host in enumerate(hosts):
    print(f"rank {rank} of {len(hosts)} on {host}: sum {sum(r + 1 for r in range(len(hosts)))}")
